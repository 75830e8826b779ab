import { assert, describe, it } from "@effect/vitest"
import { hashBytes } from "#domain/Fingerprint.ts"
import { type Fragment, fragmentOf } from "#domain/poll/Fragment.ts"
import { readFeed } from "#domain/normalize/ReadFeed.ts"
import { recordReading, recordSelection } from "#domain/poll/PollDocument.ts"
import { failSelection } from "#domain/poll/PollFailure.ts"
import { interpretAnswer } from "#domain/poll/PollOutcome.ts"
import type { PollContext, PollResult } from "#domain/poll/PollStep.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import { type Selection, SelectorError } from "#domain/ports/Selector.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import { initialState } from "#test/support/Resources.ts"

const at: PollContext = { now: 1_000_000, trigger: "ring", jitter: 0, minPeriod: 60, maxPeriod: 900 }

const threeDays = 3 * 86_400_000

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const answer = (text: string, contentType = "text/html"): Fetched => ({
  status: 200,
  headers: { "content-type": contentType },
  body: bytes(text),
  signature: hashBytes(bytes(text)),
  finalUrl: "http://feeds.example/"
})

const rss = "<rss><channel><title>t</title><item><guid>1</guid></item></channel></rss>"
const page = "<html><body><p>Hello</p></body></html>"

/** A whole poll of a resource that has no fragment. */
const poll = (state: ResourceState, text: string, contentType?: string): PollResult => {
  const fetched = answer(text, contentType)
  const step = interpretAnswer(state, fetched, at)
  if (step._tag === "Select") return assert.fail("a selection was asked for")
  const done = step._tag === "Read" ? recordReading(state, fetched, readFeed(fetched.body, step.options), at) : step
  return done._tag === "Select" ? assert.fail("a selection was asked for") : done
}

const stateAfter = (done: PollResult): ResourceState => done._tag === "Unchanged" ? done.state : done.change.state
const announced = (done: PollResult) => done._tag === "Unchanged" ? undefined : done.change.announce?._tag

const selection = (text: string, matches = 1): Selection => ({
  matches,
  document: { contentType: "text/html; charset=utf-8", body: bytes(text) }
})

const fragmented = (path: string, known: Partial<ResourceState> = {}) => {
  const url = `http://pages.example/#${encodeURIComponent(path)}`
  const fragment: Fragment = fragmentOf(url) ?? assert.fail("no fragment")
  return { state: initialState({ url, ...known }), fragment }
}

describe("kinds of resources", () => {
  it("are chosen by the content", () => {
    assert.strictEqual(stateAfter(poll(initialState(), rss)).kind, "feed")
    assert.strictEqual(stateAfter(poll(initialState(), "{\"a\":1}", "application/json")).kind, "json")
    assert.strictEqual(stateAfter(poll(initialState(), page)).kind, "other")
    assert.strictEqual(stateAfter(poll(initialState(), "any bytes", "text/plain")).kind, "other")
  })

  it("announce a document whose bytes changed, and not the first one", () => {
    const first = poll(initialState(), "one")
    const second = poll(stateAfter(first), "two")
    assert.deepStrictEqual([announced(first), announced(second)], [undefined, "Document"])
    assert.deepStrictEqual(announced(poll(stateAfter(second), "two")), undefined)
  })

  it("count their changes until the next maintenance, as feeds count their entries", () => {
    let state = initialState()
    const counts: Array<number> = []
    for (const text of ["one", "two", "two", "three"]) {
      state = stateAfter(poll(state, text))
      counts.push(state.entriesSinceMaintenance)
    }
    assert.deepStrictEqual(counts, [0, 1, 1, 2])
  })

  it("do not move a signature with an error's body", () => {
    const first = stateAfter(poll(initialState(), "one"))
    const failed = stateAfter(poll(first, "one"))
    const error = interpretAnswer(failed, { ...answer("error"), status: 500 }, at)
    const state = error._tag === "Changed" ? error.change.state : assert.fail(error._tag)
    assert.strictEqual(state.signature, first.signature)
    assert.strictEqual(announced(poll(state, "one")), undefined)
  })

  it("take no page for what a feed or a JSON document has become, before some days have passed", () => {
    const feed = stateAfter(poll(initialState(), rss))
    const portal = stateAfter(poll(stateAfter(poll(feed, page)), page))
    assert.deepStrictEqual([portal.kind, portal.inError], ["feed", true])
    assert.strictEqual(
      portal.http,
      "Fetched (ring) 200 120: Parser Error an HTML page, not a feed"
    )
    const json = stateAfter(poll(initialState(), "{}", "application/json"))
    assert.strictEqual(stateAfter(poll(json, page)).kind, "json")
    const settled = poll({ ...portal, serverProfile: { unreadableSince: at.now - threeDays } }, page)
    assert.deepStrictEqual([stateAfter(settled).kind, announced(settled)], ["other", undefined])
  })

  it("take the login page of a network for an error of the feed or the JSON document, and name its host", () => {
    const url = "http://feeds.example/a.xml"
    for (const [text, type] of [[rss, "application/rss+xml"], ["{}", "application/json"]] as const) {
      const known = stateAfter(poll(initialState({ url }), text, type))
      const login = { ...answer(page), finalUrl: "https://login.hotel.example/?to=http://feeds.example/a.xml" }
      const step = interpretAnswer(known, login, at)
      const done = step._tag === "Read" ? recordReading(known, login, readFeed(login.body, step.options), at) : step
      const state = done._tag === "Changed" ? done.change.state : assert.fail(done._tag)
      assert.match(
        state.http ?? "",
        /^Fetched \(ring\) 200 \d+: Parser Error .* \(redirected to login\.hotel\.example\)$/
      )
      assert.deepStrictEqual([state.kind, state.signature], [known.kind, known.signature])
    }
  })

  it("take a login before a page for an error of the page, until some days have passed", () => {
    const url = "http://feeds.example/page"
    const pollAt = (state: ResourceState, text: string, finalUrl: string) => {
      const fetched = { ...answer(text), finalUrl }
      const step = interpretAnswer(state, fetched, at)
      const done = step._tag === "Read" ? recordReading(state, fetched, readFeed(fetched.body, step.options), at) : step
      return done._tag === "Unchanged" || done._tag === "Changed" ? done : assert.fail(done._tag)
    }
    const login = `<html><body><input type="password">`
    const loginUrl = "http://feeds.example/login?to=page"
    const first = stateAfter(pollAt(initialState({ url }), page, url))
    const slip = pollAt(first, login, loginUrl)
    const walled = pollAt(stateAfter(slip), login, loginUrl)
    assert.deepStrictEqual([announced(slip), announced(walled)], [undefined, "Failure"])
    assert.match(
      stateAfter(walled).http ?? "",
      /another page stands before this one.*\(redirected to feeds\.example\)$/
    )
    const back = pollAt(stateAfter(walled), page, url)
    assert.deepStrictEqual([announced(back), stateAfter(back).inError], [undefined, false])
    const patient = {
      ...stateAfter(walled),
      serverProfile: { ...stateAfter(walled).serverProfile, unreadableSince: at.now - threeDays + 1 }
    }
    assert.isTrue(stateAfter(pollAt(patient, login, loginUrl)).inError)
    const tired = { ...patient, serverProfile: { ...patient.serverProfile, unreadableSince: at.now - threeDays } }
    const settled = pollAt(tired, login, loginUrl)
    assert.deepStrictEqual([announced(settled), stateAfter(settled).serverProfile], ["Document", {
      lastLocation: "feeds.example/login"
    }])
    assert.strictEqual(announced(pollAt(stateAfter(settled), `${login}2`, loginUrl)), "Document")
  })

  it("remember where redirects have led to a page, although its bytes did not change", () => {
    const url = "http://feeds.example/page"
    const fetched = { ...answer(page), finalUrl: "http://feeds.example/en" }
    const known = {
      ...stateAfter(poll(initialState({ url }), page)),
      lastUnconditionalFetch: at.now,
      serverProfile: {}
    }
    const step = interpretAnswer(known, fetched, at)
    assert.deepStrictEqual(step._tag === "Changed" && step.change.state.serverProfile, {
      lastLocation: "feeds.example/en"
    })
    const again = interpretAnswer(step._tag === "Changed" ? step.change.state : assert.fail(step._tag), fetched, at)
    assert.strictEqual(again._tag, "Unchanged")
    const home = interpretAnswer(stateAfter(again._tag === "Unchanged" ? again : assert.fail()), {
      ...fetched,
      finalUrl: url
    }, at)
    assert.deepStrictEqual(home._tag === "Changed" ? home.change.state.serverProfile : assert.fail(home._tag), {
      lastLocation: ""
    })
  })

  it.each([404, 410])(
    "never die of %s: one is a slip, more are an error that is told once, and polls become rarer, up to a day",
    (status) => {
      let state = stateAfter(poll(initialState(), rss))
      const told: Array<string | undefined> = []
      const waits: Array<number> = []
      for (let fetches = 0; fetches < 14; fetches++) {
        const step = interpretAnswer(state, { ...answer(page), status }, at)
        const done = step._tag === "Unchanged" || step._tag === "Changed" ? step : assert.fail(step._tag)
        told.push(announced(done))
        state = stateAfter(done)
        waits.push((state.nextFetch - at.now) / 1000)
      }
      assert.deepStrictEqual(told, [undefined, "Failure", ...Array.from({ length: 12 }, () => undefined)])
      assert.deepStrictEqual(waits.slice(0, 4), [60, 120, 240, 480])
      assert.strictEqual(waits.at(-1), 86_400)
      const back = poll(state, rss)
      assert.deepStrictEqual([stateAfter(back).inError, stateAfter(back).period], [false, 900])
    }
  )

  it("become a feed when there is one, and tell nobody of what it holds already", () => {
    const other = stateAfter(poll(initialState(), page))
    const feed = poll(other, rss)
    assert.deepStrictEqual([stateAfter(feed).kind, announced(feed)], ["feed", undefined])
  })

  it("refuse an empty document", () => {
    const empty = stateAfter(poll(initialState(), " \n"))
    assert.deepStrictEqual([empty.inError, empty.http], [
      true,
      "Fetched (ring) 200 60: Parser Error the document is empty"
    ])
  })
})

describe("fragments", () => {
  it("are asked for in HTML by a CSS path, in JSON by a JSONPath", () => {
    const css = fragmented("p")
    const fetched = answer(page)
    const read1 = interpretAnswer(css.state, fetched, at)
    const step = read1._tag === "Read"
      ? recordReading(css.state, fetched, readFeed(fetched.body), at)
      : assert.fail(read1._tag)
    assert.deepStrictEqual(step, { _tag: "Select", fragment: css.fragment, syntax: "html" })
    const json = fragmented("$.a")
    assert.deepStrictEqual(interpretAnswer(json.state, answer("{}"), at), {
      _tag: "Select",
      fragment: json.fragment,
      syntax: "json"
    })
  })

  it("of feeds are passed over: a feed is a feed", () => {
    const { state } = fragmented("comments")
    const fetched = answer(rss)
    const step = recordReading(state, fetched, readFeed(fetched.body), at)
    assert.strictEqual(step._tag === "Changed" ? step.change.state.kind : step._tag, "feed")
  })

  it("are announced when what they select changes, and not when the rest of the document does", () => {
    const { fragment, state } = fragmented("p")
    const first = recordSelection(state, answer("1"), selection("<p>a</p>"), { fragment }, at)
    assert.deepStrictEqual([stateAfter(first).kind, announced(first)], ["html-fragment", undefined])
    const elsewhere = recordSelection(stateAfter(first), answer("2"), selection("<p>a</p>"), { fragment }, at)
    assert.strictEqual(announced(elsewhere), undefined)
    const there = recordSelection(stateAfter(elsewhere), answer("3"), selection("<p>b</p>"), { fragment }, at)
    assert.deepStrictEqual(there._tag === "Changed" && there.change.announce, {
      _tag: "Document",
      document: selection("<p>b</p>").document
    })
  })

  it("that match nothing any more are an error, and no change; the match is still known when it comes back", () => {
    const { fragment, state } = fragmented("p")
    const first = stateAfter(recordSelection(state, answer("1"), selection("<p>a</p>"), { fragment }, at))
    const slip = stateAfter(recordSelection(first, answer("2"), selection("", 0), { fragment }, at))
    const gone = recordSelection(slip, answer("2"), selection("", 0), { fragment }, at)
    assert.deepStrictEqual([stateAfter(gone).inError, announced(gone)], [true, "Failure"])
    assert.match(String(stateAfter(gone).http), /nothing in the document matches the selection any more$/)
    const back = recordSelection(stateAfter(gone), answer("3"), selection("<p>a</p>"), { fragment }, at)
    assert.deepStrictEqual([stateAfter(back).inError, announced(back)], [false, undefined])
  })

  it("that match nothing yet are announced when they do", () => {
    const { fragment, state } = fragmented("p.sale")
    const nothing = recordSelection(state, answer("1"), selection("", 0), { fragment }, at)
    assert.deepStrictEqual([stateAfter(nothing).inError, announced(nothing)], [false, undefined])
    assert.match(
      String(stateAfter(nothing).http),
      /^Fetched \(ring\) 200 \d+ and parsed arbitrary content: nothing in it matches the selection yet$/
    )
    const still = recordSelection(stateAfter(nothing), answer("2"), selection("", 0), { fragment }, at)
    assert.deepStrictEqual([stateAfter(still).inError, announced(still)], [false, undefined])
    const sale = recordSelection(stateAfter(still), answer("3"), selection("<p>!</p>"), { fragment }, at)
    assert.strictEqual(announced(sale), "Document")
    assert.match(String(stateAfter(sale).http), / and parsed arbitrary content$/)
  })

  it("that cannot be selected are in error, with the reason", () => {
    const { state } = fragmented("$.a")
    const error = new SelectorError({
      reason: { _tag: "Unfit", message: "the document is not JSON: Unexpected end of input" }
    })
    assert.strictEqual(
      stateAfter(failSelection(state, answer("{"), error, at)).http,
      "Fetched (ring) 200 60: Parser Error the document is not JSON: Unexpected end of input"
    )
  })

  it("that kill the selection pause for hours, twice as long each time, up to a day", () => {
    const killed = new SelectorError({ reason: { _tag: "Killed", message: "nothing could be selected" } })
    const pausesOf = (state: ResourceState) => {
      const pauses: Array<number> = []
      for (let kill = 0; kill < 7; kill++) {
        const result = failSelection(state, answer("{"), killed, at)
        assert.strictEqual(result._tag, "Changed")
        state = stateAfter(result)
        pauses.push(((state.serverProfile?.killedUntil ?? 0) - at.now) / 3_600_000)
        assert.isAtLeast(state.nextFetch, state.serverProfile?.killedUntil ?? Infinity)
      }
      return pauses
    }
    const { fragment, state } = fragmented("$.a")
    assert.deepStrictEqual(pausesOf({ ...state, strangersOnly: true }), [1, 2, 4, 8, 16, 24, 24])
    assert.deepStrictEqual(pausesOf(state), [0, 1, 2, 4, 8, 16, 24])
    const again = stateAfter(failSelection(state, answer("{"), killed, at))
    const selected = stateAfter(recordSelection(again, answer("1"), selection("<p>1</p>"), { fragment }, at))
    assert.deepStrictEqual([selected.serverProfile?.kills, selected.serverProfile?.killedUntil], [undefined, undefined])
  })
})
