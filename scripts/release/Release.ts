import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Architecture, type DebianOptions, packDebian, stageDebian } from "./DebianPackage.ts"
import { copy, readJson, write } from "./Files.ts"
import { packPackage, stagePackage } from "./NpmPackage.ts"
import { run } from "./Run.ts"
import { makeSbom } from "./Sbom.ts"

export interface ReleaseOptions {
  /** The checkout. */
  readonly root: string
  /** A directory for the files of the release; an existing one is replaced. */
  readonly output: string
  readonly architectures: ReadonlyArray<Architecture>
  /** Time of all files in the packages, in epoch seconds. */
  readonly epoch: number
  readonly report: (line: string) => void
}

const containerFiles = ["Containerfile", "compose.yaml", "compose.postgres.yaml"]

/** Makes all files of a release: the npm package, a Debian package for each architecture, the files of the container, bill and checksums. */
export const makeRelease = async (options: ReleaseOptions): Promise<void> => {
  const { architectures, epoch, output, report, root } = options
  const version = String(readJson(join(root, "package.json"))["version"])
  const work = mkdtempSync(join(tmpdir(), "windhover-release-"))
  try {
    rmSync(output, { recursive: true, force: true })
    mkdirSync(output, { recursive: true })
    const staged = join(work, "npm")
    mkdirSync(staged)
    await stagePackage(root, staged)
    report(await packPackage(staged, output))
    for (const architecture of architectures) {
      const directory = join(work, architecture)
      mkdirSync(directory)
      const debian: DebianOptions = { root, staged, directory, architecture, version }
      await stageDebian(debian)
      report(await packDebian(debian, output, epoch))
    }
    for (const name of containerFiles) copy(join(root, "deploy/container", name), join(output, name))
    write(join(output, `windhover-${version}.cdx.json`), await makeSbom(root, epoch))
    writeChecksums(output)
    report("SHA256SUMS")
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Writes `SHA256SUMS` for all files of a directory; `sha256sum --check SHA256SUMS` verifies them. */
const writeChecksums = (directory: string): void => {
  const lines = readdirSync(directory).toSorted().map((name) =>
    `${createHash("sha256").update(readFileSync(join(directory, name))).digest("hex")}  ${name}\n`
  )
  write(join(directory, "SHA256SUMS"), lines.join(""))
}

/** Time of the last commit in epoch seconds, unless `SOURCE_DATE_EPOCH` gives another one. */
export const readEpoch = async (root: string): Promise<number> => {
  const given = process.env["SOURCE_DATE_EPOCH"]
  const text = given ?? await run("git", ["log", "-1", "--format=%ct"], { cwd: root })
  const epoch = Number(text)
  if (Number.isSafeInteger(epoch) && epoch > 0) return epoch
  throw new Error(`SOURCE_DATE_EPOCH is ${JSON.stringify(given)}; a time in epoch seconds is needed.`)
}
