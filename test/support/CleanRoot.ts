import { execFile } from "node:child_process"
import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)

/**
 * Makes a minimal Debian of the same release in `directory`: the essential packages, and the libraries that each image of Debian has.
 * Needs root and mmdebstrap. Fails without network.
 */
export const makeCleanRoot = async (directory: string): Promise<void> => {
  const [, release = ""] = /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync("/etc/os-release", "utf8")) ?? []
  await run("mmdebstrap", [
    "--mode=root",
    "--variant=essential",
    "--include=libstdc++6,passwd",
    "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr", // without Perl, which would merge the folders later
    "--dpkgopt=force-unsafe-io",
    "--aptopt=Acquire::Languages \"none\"",
    release,
    directory
  ], { maxBuffer: 2 ** 26 })
}

export interface RootOptions {
  /** Files and folders of the machine, and their places in the root. */
  readonly binds?: Readonly<Record<string, string>>
  /** Folders that stay writable while the rest of the root is read-only, as `ProtectSystem=strict` has it. */
  readonly writable?: ReadonlyArray<string>
  readonly environment?: Readonly<Record<string, string>>
  /** User of the program; root by default. */
  readonly user?: string
}

const commands = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/**
 * Command line that runs a program in a root, with processes and mounts of its own. All of its processes die with the program that is started:
 * the shell stays as their first process, because a process that changes its user forgets to die with its parent.
 *
 * The environment of the caller is passed on, without the search path.
 */
export const inRoot = (
  root: string,
  { binds = {}, environment = {}, user, writable }: RootOptions,
  command: ReadonlyArray<string>
): [string, ...ReadonlyArray<string>] => {
  const setup = ["set -e"]
  if (writable !== undefined) {
    setup.push(`mount --bind ${root} ${root}`)
    for (const folder of writable) setup.push(`mount --bind ${root}${folder} ${root}${folder}`)
    setup.push(`mount -o remount,bind,ro ${root}`, `mount -t tmpfs tmpfs ${root}/tmp`)
  }
  setup.push(`mount -t proc -o subset=pid proc ${root}/proc`, `mount --rbind /dev ${root}/dev`)
  for (const [from, to] of Object.entries(binds)) setup.push(`mount --bind ${from} ${root}${to}`)
  const asUser = user === undefined
    ? []
    : ["setpriv", `--reuid=${user}`, `--regid=${user}`, "--init-groups", "--bounding-set=-all", "--no-new-privs"]
  const variables = Object.entries({ PATH: commands, HOME: "/root", TMPDIR: "/tmp", ...environment })
  const cleared = ["WINDHOVER_NODE", "NODE_COMPILE_CACHE", "NODE_OPTIONS"].flatMap((name) => ["-u", name])
  return [
    "unshare",
    "--mount",
    "--pid",
    "--fork",
    "--kill-child",
    "sh",
    "-c",
    `${setup.join("\n")}\nchroot ${root} /usr/bin/env "$@"\nexit $?`,
    "sh",
    ...cleared,
    ...variables.map(([name, value]) => `${name}=${value}`),
    ...asUser,
    ...command
  ]
}

/** Runs a program in a root, and returns its output. */
export const runInRoot = async (
  root: string,
  options: RootOptions,
  command: ReadonlyArray<string>
): Promise<string> => {
  for (const place of Object.values(options.binds ?? {})) mkdirSync(join(root, place), { recursive: true })
  const [program, ...args] = inRoot(root, options, command)
  const { stderr, stdout } = await run(program, args, { maxBuffer: 2 ** 26 })
  return stdout + stderr
}
