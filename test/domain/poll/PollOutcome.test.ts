import { assert, describe, it } from "@effect/vitest"
import { hashBytes } from "#domain/Fingerprint.ts"
import { readFeed } from "#domain/normalize/ReadFeed.ts"
import { wantsWhole } from "#domain/poll/PollFeed.ts"
import { recordReading } from "#domain/poll/PollDocument.ts"
import { failFetch } from "#domain/poll/PollFailure.ts"
import { finish, interpretAnswer } from "#domain/poll/PollOutcome.ts"
import { requestOf } from "#domain/poll/PollRequest.ts"
import { keepsBody, type PollContext, stateAfter } from "#domain/poll/PollStep.ts"
import { refusalEnd } from "#domain/poll/RetryAfter.ts"
import { type Fetched, FetchError } from "#domain/ports/Fetcher.ts"
import { maxStoredLength } from "#domain/ports/ResourceStore.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import { initialState } from "#test/support/Resources.ts"

const at: PollContext = { now: 1_000_000, trigger: "ring", jitter: 0, minPeriod: 60, maxPeriod: 900 }

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
    signature: hashBytes(body),
    finalUrl: "http://feeds.example/"
  }
  const step = recordReading(initialState(), answer, readFeed(body), at)
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

  it.each<[PollContext["trigger"], boolean | undefined]>([
    ["ring", true],
    ["late", true],
    ["ping", undefined],
    ["push", undefined]
  ])("lets the write of a scheduled poll wait for others: %s", (trigger, mayWait) => {
    const result = finish({ _tag: "Changed", change: polled(10) }, undefined, { ...at, trigger })
    assert.strictEqual(result._tag === "Changed" ? result.change.mayWait : assert.fail(result._tag), mayWait)
  })

  const day = 86_400
  it.each<[text: string, seconds: number | undefined]>([
    ["120", 120],
    [" 120 ", 120],
    ["0", 0],
    ["12.5", 13],
    ["0.2", 1],
    ["9".repeat(30), day],
    ["1700000000", day],
    ["Thu, 01 Jan 1970 00:18:40 GMT", 120],
    ["Thu Jan  1 00:18:40 1970", 120],
    ["", undefined],
    ["-5", undefined],
    ["+5", undefined],
    ["1e3", undefined],
    ["5 s", undefined],
    ["120, 60", undefined],
    [".5", undefined],
    ["2026", 2_026], // no year
    ["Nov 2026", undefined]
  ])("leaves a host alone that answers 503 and Retry-After: %j for %s s", (text, seconds) => {
    const answer = {
      status: 503,
      headers: { "retry-after": text },
      body: new Uint8Array(),
      signature: 0n,
      finalUrl: ""
    }
    const until = refusalEnd(answer, at.now)
    assert.strictEqual(until === undefined ? undefined : (until - at.now) / 1000, seconds)
  })

  it("does not take it for an answer that nothing has changed before there was anything", () => {
    const answer = {
      status: 304,
      headers: {},
      body: new Uint8Array(),
      signature: 0n,
      finalUrl: "http://feeds.example/"
    }
    const step = interpretAnswer(initialState(), answer, at)
    assert.deepStrictEqual(step._tag === "Changed" && [step.change.announce, step.change.state.http], [
      { _tag: "Failure" },
      "Fetched (ring) 304 60: the server says that nothing has changed, although it was not asked for changes and has sent nothing before"
    ])
    assert.strictEqual(interpretAnswer(initialState({ signature: 1n }), answer, at)._tag, "Unchanged")
  })

  it("remembers a header apart from the document that it was read in", () => {
    const title = "a title that is long enough to be a part of its document"
    const body = new TextEncoder().encode(
      `<rss version="2.0"><channel><title>${title}</title><item><guid>a</guid></item></channel></rss>`
    )
    const answer: Fetched = {
      status: 200,
      headers: {},
      body,
      signature: hashBytes(body),
      finalUrl: "http://feeds.example/"
    }
    const result = readFeed(body)
    if (result._tag !== "Feed") return assert.fail(result._tag)
    const after = (state: ResourceState) => {
      const step = recordReading(state, answer, result, at)
      return step._tag === "Changed" ? step.change.state : assert.fail(step._tag)
    }
    const first = after(initialState())
    assert.deepStrictEqual(first.header, { ...result.feed.header })
    assert.notStrictEqual(first.header, result.feed.header)
    assert.strictEqual(after(first).header, first.header)
  })

  it("holds the bytes of a document that is kept or sent as it is, and of no other", () => {
    const step = (text: string, state: ResourceState) => {
      const body = new TextEncoder().encode(text)
      const answer = { status: 200, headers: {}, body, signature: hashBytes(body), finalUrl: "http://feeds.example/" }
      const first = interpretAnswer(state, answer, at)
      const done = first._tag === "Read" ? recordReading(state, answer, readFeed(body), at) : first
      return done._tag === "Unchanged" || done._tag === "Changed" ? done : assert.fail(done._tag)
    }
    const rss = "<rss version=\"2.0\"><channel><title>t</title><item><guid>a</guid></item></channel></rss>"
    const state = initialState()
    const page = step("a page", state)
    assert.deepStrictEqual(
      [
        keepsBody(step(rss, state)),
        keepsBody(step(rss, { ...state, hasHubSubscribers: true })),
        keepsBody(page),
        keepsBody(step("a page", stateAfter(page)))
      ],
      [false, true, true, false]
    )
  })

  const item = (id: string, date = "") =>
    `<item><guid>${id}</guid>${date === "" ? "" : `<pubDate>${date}</pubDate>`}</item>`
  const channel = (...items: ReadonlyArray<string>) =>
    `<rss version="2.0"><channel><title>t</title>${items.join("")}</channel></rss>`

  it.each<readonly [what: string, documents: ReadonlyArray<string>, told: ReadonlyArray<string>, left: boolean]>([
    [
      "tells nobody what stood behind the end of a first document that broke off",
      [channel(item("c"), item("b"), item("a")).slice(0, -40), channel(item("c"), item("b"), item("a"))],
      [],
      false
    ],
    [
      "tells what is before it",
      [channel(item("c"), item("b")).slice(0, -16), channel(item("d"), item("c"), item("b"), item("a"))],
      ["d"],
      false
    ],
    [
      "tells what is behind it and dated after that",
      [
        channel(item("a")).slice(0, -16),
        channel(item("a"), item("b", "Thu, 01 Jan 1970 00:01:00 GMT"), item("c", "Thu, 01 Jan 1970 01:00:00 GMT"))
      ],
      ["c"],
      false
    ],
    [
      "tells what a publisher adds who never writes the last tags",
      [channel(item("a")).slice(0, -16), channel(item("a"), item("b")).slice(0, -16)],
      ["b"],
      true
    ],
    [
      "tells nothing that is dated before a first document that broke off twice",
      [
        channel(item("b")).slice(0, -16),
        channel(item("b"), item("a", "Thu, 01 Jan 1970 00:01:00 GMT")).slice(0, -16)
      ],
      [],
      true
    ],
    [
      "tells what comes once a whole one was there",
      [channel(item("a")).slice(0, -16), channel(item("a")), channel(item("a"), item("b"))],
      ["b"],
      false
    ],
    [
      "tells nothing of an entry in which a document breaks off",
      [channel(item("a")), channel(item("a"), item("b", "Thu, 01 Jan 1970 01:00:00 GMT")).slice(0, -40)],
      [],
      false
    ],
    [
      "tells an entry in which a document broke off once the entry is whole",
      [channel(item("a")), channel(item("a"), item("b")).slice(0, -36), channel(item("a"), item("b"))],
      ["b"],
      false
    ],
    [
      "knows what a later document that breaks off leaves out",
      [channel(item("b"), item("a")), channel(item("b")).slice(0, -16), channel(item("b"), item("a"), item("z"))],
      ["z"],
      false
    ]
  ])("%s", (_, documents, told, left) => {
    let state = initialState()
    let announced: ReadonlyArray<string> = []
    for (const text of documents) {
      const body = new TextEncoder().encode(text)
      const answer = { status: 200, headers: {}, body, signature: hashBytes(body), finalUrl: "http://feeds.example/" }
      const step = recordReading(state, answer, readFeed(body), at)
      const { announce, state: next } = step._tag === "Changed" ? step.change : assert.fail(step._tag)
      state = next
      announced = announce?._tag === "Entries" ? announce.ids : []
    }
    assert.deepStrictEqual([announced, state.serverProfile], [told, left ? { truncatedAt: at.now } : undefined])
  })

  it("reads no pushed feed that breaks off, so that the feed is fetched instead", () => {
    const push = (text: string) => {
      const body = new TextEncoder().encode(text)
      const answer = { status: 200, headers: {}, body, signature: hashBytes(body), finalUrl: "http://feeds.example/" }
      const step = recordReading(initialState({ kind: "feed" }), answer, readFeed(body), { ...at, trigger: "push" })
      return step._tag === "Changed" ? [step.change.state.failures, step.change.entries.length] : assert.fail(step._tag)
    }
    assert.deepStrictEqual(push(channel(item("b"), item("a"))), [0, 2])
    assert.deepStrictEqual(push(channel(item("b"), item("a")).slice(0, -30)), [1, 0])
    assert.deepStrictEqual(push(channel(item("b"), item("a")).slice(0, -16)), [1, 0])
  })

  describe("a feed with too many entries", () => {
    const day = (n: number) => new Date(n * 86_400_000).toUTCString()
    const items = (from: number, to: number, dated: boolean) =>
      Array.from({ length: to - from }, (_, n) => item(`${from + n}`, dated ? day(from + n) : ""))
    const follow = (documents: ReadonlyArray<string>) => {
      let state = initialState()
      return documents.map((text) => {
        const body = new TextEncoder().encode(text)
        const answer = { status: 200, headers: {}, body, signature: hashBytes(body), finalUrl: "http://feeds.example/" }
        const first = interpretAnswer(state, answer, at)
        const options = first._tag === "Read" ? first.options : assert.fail(first._tag)
        const part = readFeed(body, options)
        const step = recordReading(state, answer, wantsWhole(state, part) ? readFeed(body) : part, at)
        const { announce, state: next } = step._tag === "Changed" ? step.change : assert.fail(step._tag)
        state = next
        return [announce?._tag === "Entries" ? announce.ids.toSorted() : [], next.http] as const
      })
    }
    const grammar = "Fetched (ring) 200 60 and parsed"

    it.each([true, false])(
      "tells the new entries at the end or at the top, and names the limit (dated: %s)",
      (dated) => {
        for (const isReversed of [false, true]) {
          const document = (from: number, to: number) =>
            channel(...isReversed ? items(from, to, dated).toReversed() : items(from, to, dated))
          const [, second, third] = follow([document(0, 4_999), document(0, 5_003), document(0, 5_004)])
          assert.deepStrictEqual(second, [
            ["4999", "5000", "5001", "5002"],
            `${grammar} 4/5000 entries: the newest ones, because the document has 3 more`
          ])
          assert.deepStrictEqual(third, [
            ["5003"],
            `${grammar} 1/5000 entries: the newest ones, because the document has 4 more`
          ])
        }
      }
    )

    it.each([true, false])("tells no old entry when the publisher shortens the feed (dated: %s)", (dated) => {
      const told = follow([
        channel(...items(0, 6_000, dated)),
        channel(...items(0, 6_001, dated)),
        channel(...items(dated ? 0 : 1_500, 5_000, dated), ...items(6_000, 6_002, dated)),
        channel(...items(dated ? 0 : 1_500, 5_000, dated), ...items(6_000, 6_003, dated))
      ])
      assert.deepStrictEqual(told.map(([ids]) => ids), [[], ["6000"], ["6001"], ["6002"]])
    })

    it("names the limit of elements", () => {
      const [told] = follow([channel(item("a"), `<item><guid>b</guid>${"<x/>".repeat(300_000)}</item>`)])
      assert.deepStrictEqual(
        told?.[1],
        `${grammar} 1/1 entries: the first ones, because the document has too many elements`
      )
    })
  })

  it("stores a large entry that is not too large", () => {
    const { entries, state } = polled(maxStoredLength - 1000)
    assert.deepStrictEqual([entries.map(({ id }) => id), state.inError], [["a"], false])
  })

  it("takes ids that went from http to https for the known ones, unless that is switched off", () => {
    const after = (state: ResourceState, scheme: string, followMovedIds: boolean) => {
      const body = new TextEncoder().encode(
        `<rss version="2.0"><channel><title>t</title><item><guid>${scheme}://a.example/1</guid></item></channel></rss>`
      )
      const answer = { status: 200, headers: {}, body, signature: hashBytes(body), finalUrl: "http://feeds.example/" }
      const step = recordReading(state, answer, readFeed(body), { ...at, followMovedIds })
      return step._tag === "Changed" ? step.change : assert.fail(step._tag)
    }
    const { state } = after(initialState(), "http", true)
    assert.deepStrictEqual(after(state, "https", true).entries, [])
    assert.deepStrictEqual(after(state, "https", false).entries.map(({ id }) => id), ["https://a.example/1"])
  })

  it("shares what was asked for since it was due, or since the last ping; the answer to a part of a page is kept for others", () => {
    const due = { nextFetch: 5_000, lastUnconditionalFetch: 5_000, signature: 1n }
    const wanted = (known: Partial<ResourceState>, pinged?: number) => {
      const { since, shared, url } = requestOf(initialState({ ...due, ...known }), 7_000, pinged)
      return { since, shared, url }
    }
    const url = "http://feeds.example/a.xml"
    assert.deepStrictEqual(wanted({}), { since: 5_000, shared: undefined, url })
    assert.deepStrictEqual(wanted({ nextFetch: 9_000 }, 6_900), { since: 6_900, shared: undefined, url })
    assert.deepStrictEqual(wanted({ url: `${url}#p` }), { since: 5_000, shared: true, url })
    const moved = { to: "https://feeds.example/b", since: 0, settled: true } as const
    assert.deepStrictEqual(wanted({ serverProfile: { permanentRedirect: moved } }), {
      since: 5_000,
      shared: true,
      url: moved.to
    })
  })

  it("reads known bytes once a day, for hubs that are named no more or newly, and never where none are named", () => {
    const day = 24 * 60 * 60_000
    const answer: Fetched = {
      status: 200,
      headers: {},
      body: new Uint8Array(),
      signature: 1n,
      finalUrl: "http://feeds.example/a.xml"
    }
    const now = 2 * day
    const known: Partial<ResourceState> = { signature: 1n, lastUnconditionalFetch: now - day, header: {} }
    const step = (state: Partial<ResourceState>, more: Partial<PollContext> = {}, link?: string) =>
      interpretAnswer(initialState({ ...known, ...state }), { ...answer, headers: { link } }, { ...at, now, ...more })
        ._tag
    const header = { links: [{ rel: "hub", href: "http://hub.example/" }] }
    const link = "<http://hub.example/>; rel=hub"
    assert.strictEqual(step({}), "Changed") // that it was compared whole is recorded
    assert.deepStrictEqual([step({ header }), step({}, {}, link)], ["Read", "Read"])
    const soon = { lastUnconditionalFetch: now - day + 1 }
    assert.deepStrictEqual([step({ ...soon, header }), step(soon, {}, link)], ["Unchanged", "Unchanged"])
    assert.deepStrictEqual(step({ header }, { trigger: "push" }), "Unchanged")
    // whom the topic redirects to does not speak for it
    const moved = { to: "http://new.example/", since: 0, settled: true } as const
    assert.strictEqual(
      step({ header, serverProfile: { permanentRedirect: moved } }, { requestedUrl: moved.to }),
      "Unchanged"
    )
    assert.strictEqual(
      step({ header, serverProfile: { permanentRedirect: moved } }, { requestedUrl: "http://feeds.example/a.xml" }),
      "Read"
    )
  })

  it("tells the reader what the server says of charset and language", () => {
    const headers = { "content-type": "text/xml; charset=koi8-r", "content-language": "ru", "content-location": "/a" }
    const answer = { status: 200, headers, body: new Uint8Array(), signature: 1n, finalUrl: "http://feeds.example/" }
    const step = interpretAnswer(initialState(), answer, at)
    assert.deepStrictEqual(step._tag === "Read" ? step.options : step._tag, {
      contentType: "text/xml; charset=koi8-r",
      contentLanguage: "ru",
      contentLocation: "/a",
      url: "http://feeds.example/"
    })
  })

  it("believes a weak validator of a page whose bytes alone differ, and no strong one", () => {
    const learned = (etag: string) => {
      const page = (text: string) => {
        const body = new TextEncoder().encode(text)
        return { status: 200, headers: { etag }, body, signature: hashBytes(body), finalUrl: initialState().url }
      }
      const poll = (state: ResourceState, text: string) => {
        const step = recordReading(state, page(text), readFeed(page(text).body), at)
        return step._tag === "Changed" ? step.change.state : assert.fail(step._tag)
      }
      const { caughtLyingAt, validatorTrust } =
        poll(poll(initialState(), "<html>token 1"), "<html>token 2").serverProfile ?? {}
      return { caughtLyingAt, validatorTrust }
    }
    assert.deepStrictEqual(learned("W/\"1\""), { caughtLyingAt: undefined, validatorTrust: undefined })
    assert.deepStrictEqual(learned("\"1\""), { validatorTrust: "lying", caughtLyingAt: at.now })
  })

  it("keeps a status that is true: each other failure is recorded, the same again is not, and so is the end of a short one", () => {
    const answer = (status: number): Fetched => ({
      status,
      headers: {},
      body: new Uint8Array(),
      signature: 1n,
      finalUrl: "http://feeds.example/"
    })
    const known = initialState({
      kind: "feed",
      lastFetch: 1,
      lastParse: 1,
      lastUnconditionalFetch: at.now,
      code: 200,
      period: 60,
      signature: 1n
    })
    const told = (step: ReturnType<typeof interpretAnswer>) =>
      step._tag === "Unchanged" || step._tag === "Changed"
        ? [
          step._tag,
          stateAfter(step).code,
          stateAfter(step).http,
          step._tag === "Changed" ? step.change.announce : undefined
        ]
        : assert.fail(step._tag)
    const slip = interpretAnswer(known, answer(500), at)
    assert.deepStrictEqual(told(slip), ["Changed", 500, "Fetched (ring) 500 60", undefined])
    const slipped = slip._tag === "Changed" ? slip.change.state : assert.fail(slip._tag)
    const recovered = interpretAnswer(slipped, answer(304), at)
    assert.deepStrictEqual(told(recovered), ["Changed", 304, "Fetched (ring) 304 90", undefined])
    const error = interpretAnswer(slipped, answer(404), at)
    assert.deepStrictEqual(told(error), ["Changed", 404, "Fetched (ring) 404 120", { _tag: "Failure" }])
    const failed = error._tag === "Changed" ? error.change.state : assert.fail(error._tag)
    assert.strictEqual(told(interpretAnswer(failed, answer(404), at))[0], "Unchanged")
    assert.deepStrictEqual(told(interpretAnswer(failed, answer(503), at)), [
      "Changed",
      503,
      "Fetched (ring) 503 240",
      undefined
    ])
    const dns = failFetch(failed, new FetchError({ reason: { _tag: "Dns", message: "DNS: no such name" } }), at)
    assert.deepStrictEqual(told(dns), ["Changed", 0, "Fetched (ring) 0 240: DNS: no such name", undefined])
    const tls = failFetch(
      dns._tag === "Changed" ? dns.change.state : failed,
      new FetchError({ reason: { _tag: "Tls", message: "TLS: expired" } }),
      at
    )
    assert.deepStrictEqual(told(tls), ["Changed", 0, "Fetched (ring) 0 480: TLS: expired", undefined])
    const hostile = new FetchError({ reason: { _tag: "Protocol", message: "a\u001b[2J\u202eb\nc" } })
    assert.match(told(failFetch(failed, hostile, at)).join(" "), /: a\[2Jb c/)
  })

  it("does not look less often for what has answered and cannot be read, as a selection without a match", () => {
    const failing = initialState({
      kind: "json",
      lastFetch: 1,
      lastParse: 1,
      code: 200,
      period: 900,
      failures: 1,
      signature: 1n
    })
    const body = new TextEncoder().encode("<html></html>")
    const answer: Fetched = { status: 200, headers: {}, body, signature: 2n, finalUrl: "http://feeds.example/" }
    const step = recordReading(failing, answer, readFeed(body), at)
    assert.strictEqual(step._tag === "Changed" ? step.change.state.period : undefined, 900)
  })
})
