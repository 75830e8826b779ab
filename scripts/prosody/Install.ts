import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)

/** Prosody and its Lua. Missing C libraries are found through the dependencies of these packages. */
const packages = ["prosody", "lua5.4", "lua-bitop", "lua-expat", "lua-filesystem", "lua-sec", "lua-socket"]

/** Maximum duration of a download, in ms. */
const downloadTimeoutMs = 120_000

/** Location of an unpacked Prosody, and the means to run the program. */
export interface Installed {
  readonly lua: string
  readonly program: string
  readonly environment: Readonly<Record<string, string>>
}

/**
 * Unpacks Debian's Prosody into `directory`, once, without root, the package database or files elsewhere.
 *
 * Fails without `apt-get`, without network, or when apt has never fetched its lists.
 */
export const install = async (directory: string): Promise<Installed> => {
  const root = join(directory, "root")
  if (!existsSync(root)) {
    // a rename at the end keeps the result complete, also with several processes at once
    const own = join(directory, `root.${process.pid}`)
    await unpack(own).catch((error: unknown) => {
      throw new Error(
        `Debian's Prosody cannot be unpacked: it takes apt-get, dpkg-deb and lists of packages (as root: apt-get update). ${
          error instanceof Error ? error.message : String(error)
        }`
      )
    })
    await rename(own, root).catch(() => rm(own, { recursive: true, force: true }))
  }
  return describe(root)
}

const unpack = async (root: string): Promise<void> => {
  const archives = `${root}.archives`
  await mkdir(archives, { recursive: true })
  try {
    await download(archives, packages)
    const missing = await missingLibraries(archives)
    if (missing.length > 0) await download(archives, missing)
    for (const name of await readdir(archives)) await run("dpkg-deb", ["-x", join(archives, name), root])
    const program = join(root, "usr/bin/prosody")
    const script = await readFile(program, "utf8")
    await writeFile(
      program,
      script.replaceAll(/'\/usr\/lib\/prosody(\/modules\/)?'/g, "os.getenv('PROSODY_LIBRARY')..'$1'")
    )
  } finally {
    await rm(archives, { recursive: true, force: true })
  }
}

const download = async (directory: string, names: ReadonlyArray<string>): Promise<void> => {
  await run("apt-get", ["-q", "download", ...names], { cwd: directory, timeout: downloadTimeoutMs })
}

/** Libraries that the archives need and the machine lacks. */
const missingLibraries = async (archives: string): Promise<ReadonlyArray<string>> => {
  const missing = new Set<string>()
  for (const name of await readdir(archives)) {
    const { stdout } = await run("dpkg-deb", ["-f", join(archives, name), "Depends"])
    for (const [library] of stdout.matchAll(/\blib[a-z0-9+.-]+/g)) {
      if (!await isInstalled(library)) missing.add(library)
    }
  }
  return [...missing]
}

const isInstalled = (name: string): Promise<boolean> =>
  run("dpkg-query", ["-W", "-f", "${Status}", name]).then(({ stdout }) => stdout.endsWith(" installed"), () => false)

const describe = async (root: string): Promise<Installed> => {
  const lib = join(root, "usr/lib")
  const architecture = (await readdir(lib)).find((name) => name.endsWith("-linux-gnu"))
  if (architecture === undefined) throw new Error(`${root} holds no Prosody; remove it, and it is unpacked again`)
  const libraries = join(lib, architecture)
  const share = join(root, "usr/share/lua/5.4")
  return {
    lua: join(root, "usr/bin/lua5.4"),
    program: join(root, "usr/bin/prosody"),
    environment: {
      PROSODY_LIBRARY: join(lib, "prosody"),
      LD_LIBRARY_PATH: libraries,
      LUA_PATH: `${share}/?.lua;${share}/?/init.lua;;`,
      LUA_CPATH: `${libraries}/lua/5.4/?.so;;`
    }
  }
}
