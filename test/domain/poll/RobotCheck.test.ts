import { assert, describe, it } from "@effect/vitest"
import { hashBytes } from "#domain/Fingerprint.ts"
import { readFeed } from "#domain/normalize/ReadFeed.ts"
import { recordReading } from "#domain/poll/PollDocument.ts"
import { interpretAnswer } from "#domain/poll/PollOutcome.ts"
import type { PollContext, PollResult } from "#domain/poll/PollStep.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import { initialState } from "#test/support/Resources.ts"

const at: PollContext = { now: 1_000_000, trigger: "ring", jitter: 0, minPeriod: 60, maxPeriod: 900 }

const answer = (text: string, known: Partial<Fetched> = {}): Fetched => {
  const body = new TextEncoder().encode(text)
  return { status: 200, headers: {}, body, signature: hashBytes(body), finalUrl: "http://feeds.example/", ...known }
}

const poll = (state: ResourceState, fetched: Fetched, now = at.now): PollResult => {
  const context = { ...at, now }
  const step = interpretAnswer(state, fetched, context)
  const done = step._tag === "Read"
    ? recordReading(state, fetched, readFeed(fetched.body, step.options), context)
    : step
  return done._tag === "Select" ? assert.fail("a selection was asked for") : done
}

const stateAfter = (done: PollResult): ResourceState => done._tag === "Unchanged" ? done.state : done.change.state
const announced = (done: PollResult) => done._tag === "Unchanged" ? undefined : done.change.announce?._tag

const wall = answer("<html><head><meta http-equiv=\"refresh\" content=\"0;/check\"></head></html>", { status: 202 })
const accepted =
  "the server answers 202 (accepted, not done) with a page of a robot check or of a queue, and not with the document"

describe("A robot check", () => {
  it.each([
    ["a page", "<p>1 EUR</p>"],
    ["a text", "1 EUR"],
    ["JSON", "{\"a\":1}"],
    ["a feed", "<rss><channel><title>t</title><item><guid>1</guid></item></channel></rss>"]
  ])("with status 202 is an error of %s, and no news", (_, text) => {
    const known = stateAfter(poll(initialState(), answer(text)))
    const first = poll(known, wall)
    assert.deepStrictEqual([announced(first), stateAfter(first).http], [
      undefined,
      `Fetched (ring) 202 ${known.period}: ${accepted}`
    ])
    const second = poll(stateAfter(first), wall)
    assert.deepStrictEqual([announced(second), stateAfter(second).code, stateAfter(second).inError], [
      "Failure",
      202,
      true
    ])
    const back = poll(stateAfter(second), answer(text))
    assert.deepStrictEqual([announced(back), stateAfter(back).failures], [undefined, 0])
  })

  it("is one for good: no wait makes it the document", () => {
    const known = stateAfter(poll(initialState(), answer("<p>1</p>")))
    const long = poll(stateAfter(poll(known, wall)), wall, at.now + 30 * 86_400_000)
    assert.deepStrictEqual([announced(long), stateAfter(long).kind], ["Failure", "other"])
    assert.isUndefined(stateAfter(long).serverProfile?.unreadableSince)
  })

  it("is an error of a selection in JSON as well, and of a first fetch", () => {
    const state = initialState({ url: "http://feeds.example/#$.a" })
    const step = interpretAnswer(state, answer("{\"a\":1}", { status: 202 }), at)
    assert.deepStrictEqual(step._tag === "Changed" && [step.change.announce, step.change.state.http], [
      { _tag: "Failure" },
      `Fetched (ring) 202 60: ${accepted}`
    ])
    assert.strictEqual(announced(poll(initialState(), answer("", { status: 202 }))), "Failure")
  })

  it("waits as long as the queue asks", () => {
    const queue = answer("{}", { status: 202, headers: { "retry-after": "7200" } })
    assert.strictEqual(stateAfter(poll(initialState(), queue)).nextFetch, at.now + 7_200_000)
  })

  it("is no feed that comes with status 202", () => {
    const feed = answer("<rss><channel><title>t</title><item><guid>1</guid></item></channel></rss>", { status: 202 })
    assert.strictEqual(stateAfter(poll(initialState(), feed)).http, "Fetched (ring) 202 60 and parsed 1/1 entries")
  })

  it.each([
    ["cf-mitigated", "challenge", "Cloudflare"],
    ["sg-captcha", "Challenge", "SiteGround"],
    ["x-amzn-waf-action", "captcha", "AWS firewall"],
    ["x-vercel-mitigated", "challenge", "Vercel"]
  ])("is named after its service by %s: %s, whatever the status", (field, value, service) => {
    for (const status of [200, 202, 403]) {
      const done = poll(initialState(), answer("<p>Just a moment</p>", { status, headers: { [field]: value } }))
      assert.strictEqual(
        stateAfter(done).http,
        `Fetched (ring) ${status} 60: the publisher's ${service} asks for a browser (${status}); only the publisher can let other clients in`
      )
    }
    const other = poll(initialState(), answer("<p>1</p>", { headers: { [field]: "none" } }))
    assert.strictEqual(stateAfter(other).failures, 0)
  })

  it("has the same effect as a part of the document, although the request was for the whole document", () => {
    const known = stateAfter(poll(initialState(), answer("<p>1 EUR</p>")))
    const part = (range?: string) =>
      answer("<p>1", { status: 206, headers: range === undefined ? {} : { "content-range": range } })
    const text =
      `Fetched (ring) 206 ${known.period}: the server answers 206 with a part of the document, although the request was for the whole document`
    for (const range of [undefined, "bytes 0-3/12", "bytes 4-7/8", "bytes 0-3/*"]) {
      const done = poll(known, part(range), at.now + 30 * 86_400_000)
      assert.deepStrictEqual([announced(done), stateAfter(done).http], [undefined, text], range)
      assert.isUndefined(stateAfter(done).serverProfile?.unreadableSince)
    }
    assert.strictEqual(announced(poll(known, part("bytes 0-3/4"))), "Document")
  })
})
