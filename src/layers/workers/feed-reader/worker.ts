/** The thread that reads large documents for `FeedReader`. */
import { readFeed, type ReadOptions } from "#domain/normalize/ReadFeed.ts"
import { serveQuestions } from "#layers/workers/WorkerThread.ts"
import { type ResultPart, splitResult } from "./Parts.ts"

/** What the thread is asked: to read a document, or for the next part of the answer. */
export type ReadRequest = { readonly bytes: Uint8Array; readonly options: ReadOptions } | "more"

const ITEM =
  `<item><title>Warm &amp; ready</title><link>https://a.example/1</link><guid>1</guid><dc:creator>x</dc:creator>
<pubDate>Mon, 02 Sep 2024 12:00:00 +0000</pubDate><description>&lt;p&gt;text&lt;/p&gt;</description>
<content:encoded><![CDATA[<p><a href="/2">text</a></p>]]></content:encoded></item>`
const ENTRY =
  `<entry><id>1</id><title type="html">Warm</title><link href="https://a.example/1"/><updated>2024-09-02T12:00:00Z</updated>
<author><name>x</name></author><category term="x"/><content type="html">&lt;a href="/2"&gt;text&lt;/a&gt;</content></entry>`
const SAMPLES = [
  `<rss version="2.0"><channel><title>t</title><link>https://a.example/</link>${ITEM.repeat(30)}</channel></rss>`,
  `<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><link href="https://a.example/"/>${
    ENTRY.repeat(30)
  }</feed>`
]
const ROUNDS = 50

/** Only who asks for more than there is gets it. */
const NOTHING_LEFT: ResultPart = { entries: [], result: { _tag: "NotFeed", kind: "empty", reason: "nothing is left" } }

/** So that the engine has compiled the reader before the first large document comes: cold, that one takes three times as long. */
const warmUp = (): void => {
  const samples = SAMPLES.map((text) => new TextEncoder().encode(text))
  for (let round = 0; round < ROUNDS; round++) for (const sample of samples) readFeed(sample)
}

warmUp()
let parts = splitResult(readFeed(new Uint8Array()))

serveQuestions((question: ReadRequest): ResultPart => {
  if (question !== "more") parts = splitResult(readFeed(question.bytes, question.options))
  return parts.next().value ?? NOTHING_LEFT
})
