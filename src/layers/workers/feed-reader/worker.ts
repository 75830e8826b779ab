/** Script of the thread that reads large documents for `FeedReader`. */
import { readFeed, type ReadOptions } from "#domain/normalize/ReadFeed.ts"
import { collectGarbage } from "#layers/GarbageCollection.ts"
import { serveRequests } from "#layers/workers/WorkerThread.ts"
import { type ResultPart, splitResult } from "./ResultParts.ts"

/** Reads a document, or asks for the next part of the result. */
export type ReadRequest = { readonly bytes: Uint8Array<ArrayBuffer>; readonly options: ReadOptions } | "more"

const sampleItem =
  `<item><title>Warm &amp; ready</title><link>https://a.example/1</link><guid>1</guid><dc:creator>x</dc:creator>
<pubDate>Mon, 02 Sep 2024 12:00:00 +0000</pubDate><description>&lt;p&gt;text&lt;/p&gt;</description>
<content:encoded><![CDATA[<p><a href="/2">text</a></p>]]></content:encoded></item>`
const sampleEntry =
  `<entry><id>1</id><title type="html">Warm</title><link href="https://a.example/1"/><updated>2024-09-02T12:00:00Z</updated>
<author><name>x</name></author><category term="x"/><content type="html">&lt;a href="/2"&gt;text&lt;/a&gt;</content></entry>`
const samples = [
  `<rss version="2.0"><channel><title>t</title><link>https://a.example/</link>${sampleItem.repeat(30)}</channel></rss>`,
  `<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><link href="https://a.example/"/>${
    sampleEntry.repeat(30)
  }</feed>`
]
const warmUpRounds = 50

/** Response to a request for a part beyond the last one. */
const noPart: ResultPart = { entries: [], result: { _tag: "NotFeed", kind: "empty", reason: "nothing is left" } }

function* noParts(): Generator<ResultPart> {}

/** Lets the engine compile the reader before the first large document, which would otherwise take three times as long. */
const warmUp = (): void => {
  const documents = samples.map((text) => new TextEncoder().encode(text))
  for (let round = 0; round < warmUpRounds; round++) for (const document of documents) readFeed(document)
}

/** A thread collects its garbage after a document with more bytes. An idle thread would keep several times as much for hours. */
const collectFromBytes = 4 * 1024 * 1024

warmUp()
let parts: Iterator<ResultPart, void> = noParts()
let readBytes = 0

serveRequests((request: ReadRequest): ResultPart => {
  if (request !== "more") {
    parts = splitResult(readFeed(request.bytes, request.options))
    readBytes = request.bytes.length
  }
  const part = parts.next().value ?? noPart
  if (part.result !== undefined) parts = noParts()
  if (part.result !== undefined && readBytes >= collectFromBytes) setImmediate(collectGarbage)
  return part
})
