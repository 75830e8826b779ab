// Compares reading a document in two stages with reading the document whole, for every file under the given folders.
//   bin/node scripts/two-stage.ts FOLDER...
// Exits with 1 and the names of the files that differ.
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { readFeed, type ReadResult } from "#domain/normalize/ReadFeed.ts"

type Feed = Extract<ReadResult, { _tag: "Feed" }>
type Choice = (index: number, count: number) => boolean

/** Choices of the seen entries. */
const choices: ReadonlyArray<Choice> = [
  (index) => index !== 0,
  (index, count) => index !== count - 1,
  (index, count) => index !== count >> 1,
  (index) => index % 2 === 0,
  (index) => index % 3 !== 1,
  () => true
]

const listFiles = (path: string): ReadonlyArray<string> =>
  statSync(path).isDirectory() ? readdirSync(path).flatMap((name) => listFiles(join(path, name))) : [path]

/** The first difference, or `undefined`. */
const findDifference = (bytes: Uint8Array, whole: Feed): string | undefined => {
  const { slices = [] } = whole
  for (const [number, isSeen] of choices.entries()) {
    const seen = new Set(slices.filter((_, index) => isSeen(index, slices.length)))
    const part = readFeed(bytes, { seenSlices: seen })
    const expected = whole.feed.entries.filter((_, index) => !seen.has(slices[index]!))
    if (part._tag !== "Feed") return `choice ${number}: not a feed`
    if (!isDeepStrictEqual(part.feed.header, whole.feed.header)) return `choice ${number}: header`
    if (!isDeepStrictEqual(part.feed.entries, part.skipped === 0 ? whole.feed.entries : expected)) {
      return `choice ${number}: entries`
    }
    if (!isDeepStrictEqual(part.slices, whole.slices)) return `choice ${number}: slices`
  }
  return undefined
}

const count = { files: 0, feeds: 0, sliced: 0, different: 0 }
for (const file of process.argv.slice(2).flatMap(listFiles)) {
  const bytes = new Uint8Array(readFileSync(file))
  const whole = readFeed(bytes)
  count.files++
  if (whole._tag === "Feed") count.feeds++
  if (whole._tag !== "Feed" || whole.slices === undefined) continue
  count.sliced++
  const found = findDifference(bytes, whole)
  if (found === undefined) continue
  count.different++
  console.log(`${file}: ${found}`)
}
console.log(
  `files ${count.files}, feeds ${count.feeds}, read in two stages ${count.sliced}, different ${count.different}`
)
process.exitCode = count.different > 0 ? 1 : 0
