import { isDeepStrictEqual } from "node:util"
import { readFeed, type ReadResult } from "#domain/normalize/ReadFeed.ts"
import { damages } from "./Damage.ts"
import { makeFeedDocument, styles } from "./FeedDocuments.ts"
import { makeRandom, nextInteger, pick, type Random } from "./Random.ts"

/** Result of reading one damaged document. */
export interface Assessment {
  /** Number of ids that are whole in the damaged text. `found` counts the ids that were read. */
  readonly present: number
  readonly found: number
  readonly milliseconds: number
  readonly finding: Finding | undefined
}

export interface Finding {
  readonly kind: string
  readonly round: number
  readonly what: string
}

/** The kinds of damage, and `noise`: random pieces of markup. */
export const damageKinds: ReadonlyArray<string> = [...Object.keys(damages), "noise"]

export function* assess(kind: string, seed: number, rounds: number): Generator<Assessment> {
  for (let round = 0; round < rounds; round++) {
    const next = makeRandom(seed * 1_000_003 + round)
    const { text, ids } = kind === "noise" ? { text: makeNoise(next), ids: [] } : makeDamagedDocument(next, kind)
    yield assessOne(kind, round, text, ids)
  }
}

const makeDamagedDocument = (next: Random, kind: string) => {
  const document = makeFeedDocument(next, pick(next, styles), 5 + nextInteger(next, 20), 200 + nextInteger(next, 1500))
  return { text: damages[kind]!(next, document.text), ids: document.ids }
}

const noisePieces = [
  "<rss version=\"2.0\">",
  "<channel>",
  "<feed xmlns=\"http://www.w3.org/2005/Atom\">",
  "<item>",
  "</item>",
  "<entry>",
  "</entry>",
  "<title>",
  "</title>",
  "<description>",
  "</description>",
  "<content type=\"xhtml\">",
  "</content>",
  "<![CDATA[",
  "]]>",
  "<!--",
  "-->",
  "<?",
  "?>",
  "<!DOCTYPE x [",
  "]>",
  "<!ENTITY a \"&b;\">",
  "&a;",
  "&amp;",
  "&#65;",
  "&",
  "<",
  ">",
  "\"",
  "'",
  "=",
  " a=\"",
  "xmlns:x=\"y\"",
  "<x:item>",
  "<a href=\"b\">",
  "<guid>",
  "</guid>",
  "x",
  "\n",
  "\u00e9",
  "\u{1f600}",
  "\0",
  "<link>",
  "</link>",
  "<link href=\"/x\"/>",
  "<pubDate>Mon, 1 Jan 2024</pubDate>",
  "<rdf:RDF>",
  "<media:group>",
  "{",
  "[",
  "}"
]

const makeNoise = (next: Random): string =>
  Array.from({ length: nextInteger(next, 400) }, () => pick(next, noisePieces)).join("")

const assessOne = (kind: string, round: number, text: string, ids: ReadonlyArray<string>): Assessment => {
  const bytes = new TextEncoder().encode(text)
  const readable = kind === "truncate" ? dropCutEntry(text) : text
  const present = ids.filter((id) => readable.includes(`>${id}<`) || readable.includes(`"${id}"`))
  const started = process.threadCpuUsage()
  try {
    const result = readFeed(bytes)
    const milliseconds = process.threadCpuUsage(started).user / 1000
    const read = new Set(result._tag === "Feed" ? result.feed.entries.map(({ id }) => id) : [])
    const what = findTwoStageDifference(bytes, result)
    return {
      present: present.length,
      found: present.filter((id) => read.has(id)).length,
      milliseconds,
      finding: what === undefined ? undefined : { kind, round, what }
    }
  } catch (error) {
    return {
      present: present.length,
      found: 0,
      milliseconds: 0,
      finding: { kind, round, what: `throws ${String(error)}` }
    }
  }
}

/** The text up to the end of its last whole entry. */
const dropCutEntry = (text: string): string =>
  text.slice(0, Math.max(text.lastIndexOf("</item>"), text.lastIndexOf("</entry>"), 0))

/** The difference between reading a damaged document whole and in two stages. */
const findTwoStageDifference = (bytes: Uint8Array, whole: ReadResult): string | undefined => {
  if (whole._tag !== "Feed" || whole.slices === undefined) return undefined
  const { slices, feed } = whole
  const seen = new Set(slices.filter((_, index) => index % 3 !== 1))
  const part = readFeed(bytes, { seenSlices: seen })
  if (part._tag !== "Feed") return "two stages: no feed"
  if (part.skipped === 0) return undefined
  const expected = feed.entries.filter((_, index) => !seen.has(slices[index]!))
  return isDeepStrictEqual(part.feed.entries, expected) ? undefined : "two stages: other entries"
}

export const sumUp = (assessments: Iterable<Assessment>) => {
  const sums = { present: 0, found: 0, slowest: 0, findings: new Array<Finding>() }
  for (const { present, found, milliseconds, finding } of assessments) {
    sums.present += present
    sums.found += found
    sums.slowest = Math.max(sums.slowest, milliseconds)
    if (finding !== undefined) sums.findings.push(finding)
  }
  return sums
}
