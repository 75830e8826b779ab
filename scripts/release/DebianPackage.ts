import { createHash } from "node:crypto"
import { chmodSync, copyFileSync, mkdirSync, readFileSync, renameSync, statSync } from "node:fs"
import { join } from "node:path"
import { copy, listFiles, normalizeModes, prune, setTimes, write } from "./Files.ts"
import { run } from "./Run.ts"

/** Debian's names of the architectures that Node 24 is packed for. */
export const architectures = { amd64: "x64", arm64: "arm64" } as const

export type Architecture = keyof typeof architectures

export interface DebianOptions {
  readonly root: string
  /** The staged npm package. */
  readonly staged: string
  /** An empty directory for the contents. */
  readonly directory: string
  readonly architecture: Architecture
  readonly version: string
}

/** What a program at run time never reads: types, maps, and sources beside compiled code. */
const isSuperfluous = (path: string): boolean =>
  /\.(?:d\.[cm]?ts|map)$/.test(path)
  || /^node_modules\/(?:effect|@effect\/[^/]+)\/(?:src|ai-docs)$/.test(path)
  || /^node_modules\/(?:\.bin|\.package-lock\.json|@types|node-linux-[^/]+)$/.test(path)

const maintainerScripts = ["postinst", "prerm", "postrm"]

/** Lays out the contents of the package: Windhover with its dependencies and its Node in `/usr/lib/windhover`. */
export const stageDebian = async ({ architecture, directory, root, staged, version }: DebianOptions): Promise<void> => {
  const library = join(directory, "usr/lib/windhover")
  copy(join(staged, "package.json"), join(library, "package.json"))
  copyFileSync(join(root, "package-lock.json"), join(library, "package-lock.json"))
  await installDependencies(root, library, architecture)
  for (const folder of ["dist", "deploy"]) copy(join(staged, folder), join(library, folder))
  copy(join(staged, "bin/windhover"), join(library, "bin/windhover"))
  copy(join(root, "deploy/container/healthcheck"), join(library, "bin/healthcheck"))
  const node = join(library, "node_modules", `node-linux-${architectures[architecture]}`)
  renameSync(join(node, "bin/node"), join(library, "bin/node"))
  const documents = join(directory, "usr/share/doc/windhover")
  for (const file of ["README.md", "CHANGELOG.md", "docs"]) copy(join(root, file), join(documents, file))
  write(join(documents, "copyright"), describeLicences(root, readFileSync(join(node, "LICENSE"), "utf8")))
  prune(library, isSuperfluous)
  copy(join(root, "deploy/debian/windhover"), join(directory, "usr/bin/windhover"))
  copy(join(root, "deploy/debian/windhover.service"), join(directory, "usr/lib/systemd/system/windhover.service"))
  copy(join(root, "deploy/debian/windhover.env"), join(directory, "etc/windhover/windhover.env"))
  writeControl(root, directory, architecture, version)
}

/** Installs the locked versions: the lockfile belongs to the manifest of the sources. */
const installDependencies = async (root: string, library: string, architecture: Architecture): Promise<void> => {
  const manifest = readFileSync(join(library, "package.json"), "utf8")
  copyFileSync(join(root, "package.json"), join(library, "package.json"))
  await run("npm", [
    "ci",
    "--omit=dev",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--prefer-offline",
    "--os=linux",
    `--cpu=${architectures[architecture]}`
  ], { cwd: library })
  prune(library, (path) => path === "package-lock.json")
  write(join(library, "package.json"), manifest)
}

const describeLicences = (root: string, nodeLicence: string): string =>
  [
    readFileSync(join(root, "LICENSE"), "utf8"),
    "The folders of /usr/lib/windhover/node_modules hold the licences of the packages that Windhover uses.",
    "",
    `/usr/lib/windhover/bin/node:\n\n${nodeLicence}`
  ].join("\n")

/** Writes the control files. Modes come first, because the settings are readable for root and the service alone. */
const writeControl = (root: string, directory: string, architecture: Architecture, version: string): void => {
  const files = listFiles(directory)
  const bytes = files.reduce((sum, file) => sum + Math.ceil(statSync(join(directory, file)).size / 1024), 0)
  const control = join(directory, "DEBIAN")
  mkdirSync(control)
  for (const name of maintainerScripts) copyFileSync(join(root, "deploy/debian", name), join(control, name))
  write(join(control, "conffiles"), "/etc/windhover/windhover.env\n")
  write(
    join(control, "md5sums"),
    files.filter((file) => !file.startsWith("etc/")).map(checksumLine(directory)).join("")
  )
  write(
    join(control, "control"),
    [
      "Package: windhover",
      `Version: ${version}-1`,
      `Architecture: ${architecture}`,
      "Maintainer: Windhover contributors <windhover@localhost>",
      `Installed-Size: ${bytes}`,
      "Depends: libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 8), passwd",
      "Suggests: postgresql, nginx | caddy",
      "Section: net",
      "Priority: optional",
      "Description: self-hosted real-time subscriptions and WebSub hub",
      " Windhover watches URLs and pushes new content to webhooks, Server-Sent",
      " Events, long polls and XMPP. It is also a WebSub hub for any topic.",
      " The package holds its own Node and an embedded database.",
      ""
    ].join("\n")
  )
  normalizeModes(directory)
  chmodSync(join(directory, "etc/windhover/windhover.env"), 0o640)
  chmodSync(join(directory, "etc/windhover"), 0o750)
}

const checksumLine = (directory: string) => (file: string): string =>
  `${createHash("md5").update(readFileSync(join(directory, file))).digest("hex")}  ${file}\n`

/** Packs a staged package, and returns the name of the archive in `output`. */
export const packDebian = async (
  { architecture, directory, version }: Pick<DebianOptions, "architecture" | "directory" | "version">,
  output: string,
  epoch: number
): Promise<string> => {
  const name = `windhover_${version}-1_${architecture}.deb`
  setTimes(directory, epoch) // dpkg-deb itself replaces later times only
  // Debian 12 and later read zstd, which packs in a tenth of the time of xz. One thread, because the bytes depend on their number.
  const compression = ["-Zzstd", "-z9", "--threads-max=1"]
  await run("dpkg-deb", ["--root-owner-group", ...compression, "--build", directory, join(output, name)], {
    cwd: directory,
    env: { SOURCE_DATE_EPOCH: String(epoch) }
  })
  return name
}

/** The architecture of this machine, or undefined when Node 24 is not packed for it. */
export const thisArchitecture = (): Architecture | undefined =>
  (Object.keys(architectures) as ReadonlyArray<Architecture>).find((name) => architectures[name] === process.arch)
