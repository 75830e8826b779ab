import { existsSync } from "node:fs"
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { unpackDebianPackages } from "#scripts/DebianPackages.ts"

/** Prosody and its Lua. Missing C libraries are found through the dependencies of these packages. */
const packages = ["prosody", "lua5.4", "lua-bitop", "lua-expat", "lua-filesystem", "lua-sec", "lua-socket"]

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
  await unpackDebianPackages(root, packages)
  const program = join(root, "usr/bin/prosody")
  const script = await readFile(program, "utf8")
  await writeFile(
    program,
    script.replaceAll(/'\/usr\/lib\/prosody(\/modules\/)?'/g, "os.getenv('PROSODY_LIBRARY')..'$1'")
  )
}

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
