import { execFile } from "node:child_process"
import { mkdir, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)

/** Maximum duration of a download, in ms. */
const downloadTimeoutMs = 120_000

/**
 * Unpacks packages of Debian below `root`, with the libraries that they need and the machine lacks.
 *
 * Needs neither root nor the package database. Fails without network, or when apt has never fetched its lists.
 */
export const unpackDebianPackages = async (root: string, packages: ReadonlyArray<string>): Promise<void> => {
  const archives = `${root}.archives`
  await mkdir(archives, { recursive: true })
  try {
    await download(archives, packages)
    const missing = await missingLibraries(archives)
    if (missing.length > 0) await download(archives, missing)
    for (const name of await readdir(archives)) await run("dpkg-deb", ["-x", join(archives, name), root])
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
