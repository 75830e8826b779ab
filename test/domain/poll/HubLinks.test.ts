import { assert, describe, it } from "@effect/vitest"
import { feedsOf, hubLinksOf, isItsOwnTopic } from "#domain/poll/HubLinks.ts"
import { hashBytes } from "#domain/Fingerprint.ts"
import { readFeed } from "#domain/normalize/ReadFeed.ts"
import { recordReading, recordSelection } from "#domain/poll/PollDocument.ts"
import { interpretAnswer } from "#domain/poll/PollOutcome.ts"
import type { PollContext } from "#domain/poll/PollStep.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import { initialState } from "#test/support/Resources.ts"

const url = "http://feeds.example/a.xml"
const at: PollContext = { now: 1_000_000, trigger: "ring", jitter: 0, minPeriod: 60, maxPeriod: 900 }

const answer = (text: string, link?: string): Fetched => {
  const body = new TextEncoder().encode(text)
  return { status: 200, headers: { link }, body, signature: hashBytes(body), finalUrl: url }
}

/** The resource after a poll that gave this. */
const after = (state: ResourceState, fetched: Fetched, how: PollContext = at): ResourceState => {
  const step = interpretAnswer(state, fetched, how)
  const done = step._tag === "Read" ? recordReading(state, fetched, readFeed(fetched.body, step.options), how) : step
  const document = { contentType: "text/html", body: fetched.body }
  const over = done._tag === "Select" ? recordSelection(state, fetched, { matches: 1, document }, done, how) : done
  return over._tag === "Unchanged" ? over.state : over.change.state
}

const atom = (ids: string, links = "") =>
  `<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title>${links}${
    ids.split(" ").map((id) => `<entry><id>${id}</id><title>${id}</title></entry>`).join("")
  }</feed>`

const hub = "<link rel=\"hub\" href=\"https://hub.example/\"/>"
const self = "<link rel=\"self\" href=\"https://feeds.example/self.xml\"/>"

describe("what a publisher advertises", () => {
  it("is in the document of a feed", () => {
    assert.deepStrictEqual(hubLinksOf(after(initialState({ url }), answer(atom("1", hub + self)))), {
      hubs: ["https://hub.example/"],
      topic: "https://feeds.example/self.xml"
    })
    const rss =
      `<rss xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>t</title><atom:link rel="hub" href="https://h.example/"/>
      <item><guid>1</guid></item></channel></rss>`
    assert.deepStrictEqual(hubLinksOf(after(initialState({ url }), answer(rss))), {
      hubs: ["https://h.example/"],
      topic: url
    })
    const json = { version: "https://jsonfeed.org/version/1.1", feed_url: "https://f.example/j", items: [], title: "t" }
    const hubs = [{ type: "WebSub", url: "https://h.example/" }]
    assert.deepStrictEqual(hubLinksOf(after(initialState({ url }), answer(JSON.stringify({ ...json, hubs })))), {
      hubs: ["https://h.example/"],
      topic: "https://f.example/j"
    })
  })

  it.each<[types: ReadonlyArray<unknown>, hubs: ReadonlyArray<string> | undefined]>([
    [["WebSub", "websub", " WEBSUB "], ["https://h.example/0", "https://h.example/1", "https://h.example/2"]],
    [["rssCloud", "WebSub"], ["https://h.example/1"]],
    [["rssCloud"], undefined],
    [[undefined, 1, null, {}, "", "PubSub"], undefined]
  ])("is in JSON Feed a hub of type WebSub only: %j", (types, hubs) => {
    const named = types.map((type, i) => ({ type, url: `https://h.example/${i}` }))
    const json = { version: "https://jsonfeed.org/version/1.1", title: "t", items: [], hubs: named }
    assert.deepStrictEqual(hubLinksOf(after(initialState({ url }), answer(JSON.stringify(json))))?.hubs, hubs)
  })

  it("is first what the Link header says, for any kind", () => {
    const link = "<https://first.example/>; rel=hub, <https://topic.example/>; rel=self"
    const first = { hubs: ["https://first.example/"], topic: "https://topic.example/" }
    assert.deepStrictEqual(hubLinksOf(after(initialState({ url }), answer(atom("1", hub + self), link))), {
      ...first,
      hubs: ["https://first.example/", "https://hub.example/"]
    })
    assert.deepStrictEqual(hubLinksOf(after(initialState({ url }), answer("{\"a\":1}", link))), first)
    assert.deepStrictEqual(hubLinksOf(after(initialState({ url }), answer("bytes", link))), first)
    assert.deepStrictEqual(
      hubLinksOf(after(initialState({ url: `${url}#p` }), answer("<html><p>x</p></html>", link))),
      first
    )
  })

  it("is in the head of a page, watched whole or in part", () => {
    const html =
      `<html><head>${hub}<link rel=alternate type=application/atom+xml href=/f></head><body><p>x</p></body></html>`
    const page = after(initialState({ url }), answer(html))
    assert.deepStrictEqual(hubLinksOf(page), { hubs: ["https://hub.example/"], topic: url })
    assert.deepStrictEqual(feedsOf(page), ["http://feeds.example/f"])
    const part = after(initialState({ url: `${url}#p` }), answer(html))
    assert.deepStrictEqual([hubLinksOf(part), feedsOf(part)], [{ hubs: ["https://hub.example/"], topic: url }, []])
  })

  it("is forgotten when it is there no more", () => {
    const before = after(initialState({ url }), answer("{\"a\":1}", "<https://first.example/>; rel=hub"))
    assert.isUndefined(hubLinksOf(after(before, answer("{\"a\":2}"))))
    assert.isUndefined(hubLinksOf(after(after(initialState({ url }), answer(atom("1", hub))), answer(atom("2")))))
  })

  it("is five hubs at most, none with credentials, and nothing but http", () => {
    const links = Array.from({ length: 9 }, (_, i) => `<https://h${i}.example/>; rel=hub`)
    const odd = "<https://u:p@h.example/>; rel=hub, <ftp://h.example/>; rel=hub, <https://h0.example/>; rel=hub"
    const state = after(initialState({ url }), answer("bytes", `${odd}, ${links.join(", ")}`))
    assert.deepStrictEqual(hubLinksOf(state)?.hubs, [0, 1, 2, 3, 4].map((i) => `https://h${i}.example/`))
  })
})

describe("the topic of a hub", () => {
  const own = (url: string, self: string, moved?: string) => {
    const state = after(initialState({ url }), answer("{}", `<https://hub.example/>; rel=hub, <${self}>; rel=self`))
    return isItsOwnTopic(
      moved === undefined ? state : { ...state, serverProfile: { permanentRedirect: { to: moved, since: 0 } } }
    )
  }

  it("is the resource itself by its URL, however that is written, or by the one that it has moved to", () => {
    for (const self of [url, "https://feeds.example/a.xml", "http://feeds.example./a.xml/"]) {
      assert.isTrue(own(url, self))
    }
    assert.isTrue(own(url, "https://new.example/f", "https://new.example/f"))
    assert.isTrue(isItsOwnTopic(after(initialState({ url }), answer("{}", "<https://hub.example/>; rel=hub"))))
  })

  it("is another one else, and never a part of it", () => {
    const others = ["http://feeds.example/b.xml", `${url}?x`, "http://feeds.example:81/a.xml", "http://f.example/a.xml"]
    for (const self of others) assert.isFalse(own(url, self))
    assert.isFalse(own(`${url}#p`, url))
    assert.isFalse(isItsOwnTopic(after(initialState({ url }), answer("{}"))))
  })
})

describe("a resource whose URL holds credentials", () => {
  it("names no hub: they are not told to a third party", () => {
    for (const url of ["https://anna:pa55@f.example/a", "https://anna@f.example/a", "https://:pa55@f.example/a#p"]) {
      assert.isUndefined(hubLinksOf(after(initialState({ url }), answer("{}", "<https://hub.example/>; rel=hub"))))
    }
  })
})

describe("a document that is pushed", () => {
  const push: PollContext = { ...at, trigger: "push", now: 2_000_000 }
  const many = Array.from({ length: 30 }, (_, i) => `e${i}`).join(" ")

  it("unsets none of the entries that it leaves out, however many are pushed", () => {
    let state = after(initialState({ url }), answer(atom(many)))
    for (let i = 0; i < 300; i++) state = after(state, answer(atom(`new${i}`)), push)
    const later = after(state, answer(atom(`new299 ${many}`)), { ...at, now: 3_000_000 })
    assert.strictEqual(later.entriesSinceMaintenance, 330)
    assert.isBelow(later.seen.length, 10_000)
  })

  it("tells nothing of hubs, validators and unconditional fetches, and puts off no poll", () => {
    const link = "<https://hub.example/>; rel=hub"
    const before = after(initialState({ url }), answer(atom(many), link))
    const next = after(before, answer(atom("new", "<link rel=\"hub\" href=\"https://other.example/\"/>")), push)
    assert.deepStrictEqual(hubLinksOf(next), hubLinksOf(before))
    assert.deepStrictEqual([next.lastUnconditionalFetch, next.slices.length], [
      before.lastUnconditionalFetch,
      before.slices.length
    ])
    assert.isAtMost(next.nextFetch, Math.max(before.nextFetch, push.now))
    const json = after(initialState({ url }), answer("{\"a\":1}", link))
    assert.deepStrictEqual(hubLinksOf(after(json, answer("{\"a\":2}"), push)), hubLinksOf(json))
  })
})
