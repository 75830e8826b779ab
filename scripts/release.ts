/**
 * Makes the files of a release: an npm package, Debian packages, the files of a container image, a bill of materials and checksums.
 *
 *   npm run release -- [--output release] [--architectures amd64,arm64]
 *
 * The same commit gives the same bytes: all files get the time of the commit, or of `SOURCE_DATE_EPOCH`.
 */
import { join, resolve } from "node:path"
import { exitWithError, parseOptions } from "./Options.ts"
import { type Architecture, architectures } from "./release/DebianPackage.ts"
import { makeRelease, readEpoch } from "./release/Release.ts"
import { run } from "./release/Run.ts"

const options = parseOptions("usage: npm run release -- [--output release] [--architectures amd64,arm64]", {
  output: { type: "string", default: "release" },
  architectures: { type: "string", default: "amd64,arm64" }
})
const root = join(import.meta.dirname, "..")
const isArchitecture = (name: string): name is Architecture => Object.hasOwn(architectures, name)

const names = options.architectures.split(",")
for (const name of names) {
  if (!isArchitecture(name)) {
    exitWithError(`${name} is no architecture of a release; ${Object.keys(architectures).join(" and ")} are.`)
  }
}
try {
  if (await run("git", ["status", "--porcelain", "--untracked-files=no"], { cwd: root }) !== "") {
    console.error("The checkout has changes that are not committed; the release contains them.")
  }
  const output = resolve(options.output)
  await makeRelease({
    root,
    output,
    architectures: names.filter(isArchitecture),
    epoch: await readEpoch(root),
    report: (line) => console.log(join(output, line))
  })
} catch (error) {
  exitWithError(`The release was not made. ${error instanceof Error ? error.message : String(error)}`)
}
