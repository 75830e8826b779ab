import { assert, describe, it } from "@effect/vitest"
import { ofBytes } from "#domain/Fingerprint.ts"
import { readFeed } from "#domain/normalize/Document.ts"
import { type Circumstances, read } from "#domain/Poll.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import { maxStoredLength } from "#domain/ports/ResourceStore.ts"
import { initialState } from "#test/support/Resources.ts"

const at: Circumstances = { now: 1_000_000, occasion: "ring", jitter: 0, minPeriod: 60, maxPeriod: 900 }

/** What a feed comes to whose entry has so many characters. */
const polled = (length: number) => {
  const text = `<rss version="2.0"><channel><title>t</title><item><guid>a</guid><description>${
    "x".repeat(length)
  }</description></item></channel></rss>`
  const body = new TextEncoder().encode(text)
  const answer: Fetched = {
    status: 200,
    headers: {},
    body,
    signature: ofBytes(body),
    finalUrl: "http://feeds.example/"
  }
  const step = read(initialState(), answer, readFeed(body), at)
  return step._tag === "Changed" ? step.change : assert.fail(step._tag)
}

describe("Poll", () => {
  it("puts a feed into the error state whose entry is too large to be stored", () => {
    const { announce, entries, state } = polled(maxStoredLength)
    assert.deepStrictEqual([announce, entries, state.inError, state.code], [{ _tag: "Failure" }, [], true, 0])
    assert.match(
      state.http ?? "",
      /^Fetched \(ring\) 0 60: too large: an entry of \d+ bytes; at most 8388608 are kept$/
    )
  })

  it("stores a large entry that is not too large", () => {
    const { entries, state } = polled(maxStoredLength - 1000)
    assert.deepStrictEqual([entries.map(({ id }) => id), state.inError], [["a"], false])
  })
})
