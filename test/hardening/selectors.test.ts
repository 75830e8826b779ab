import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { fragmentOf } from "#domain/poll/Fragment.ts"
import { Selector, type Syntax } from "#domain/ports/Selector.ts"
import * as SelectorWorker from "#layers/workers/SelectorWorker.ts"

const turn = { key: "http://example.org/", isForStrangers: false }

const attempt = (path: string, syntax: Syntax, document: string) =>
  Effect.gen(function*() {
    const { select } = yield* Selector
    const fragment = fragmentOf(`http://example.org/#${encodeURIComponent(path)}`) ?? assert.fail("no fragment")
    const bytes = new TextEncoder().encode(document)
    return yield* Effect.flip(select({ fragment, syntax, bytes, contentType: undefined, turn }))
  })

/** After each attack the thread selects again. */
const recovers = Effect.gen(function*() {
  const { select } = yield* Selector
  const fragment = fragmentOf("http://example.org/#p") ?? assert.fail("no fragment")
  const bytes = new TextEncoder().encode("<p>still here")
  const { document } = yield* select({ fragment, syntax: "html", bytes, contentType: undefined, turn })
  assert.strictEqual(new TextDecoder().decode(document.body), "<p>still here</p>")
})

const nested = (depth: number, open: string, close: string, inside = ""): string =>
  open.repeat(depth) + inside + close.repeat(depth)

const attacks: ReadonlyArray<
  readonly [attack: string, path: string, syntax: Syntax, document: () => string, message: RegExp]
> = [
  ["a document that is too large for a tree", "p", "html", () => "x".repeat(8 * 1024 * 1024 + 1), /8388609 bytes/],
  ["too many matches", "i", "html", () => "<i></i>".repeat(10_001), /more than 10000 times/],
  [
    "matches within matches: quadratic output",
    "div",
    "html",
    () => nested(400, "<div>", "</div>", "x".repeat(20_000)),
    /more than 4194304 characters/
  ],
  [
    "descendants of descendants: quadratic output",
    "$..*",
    "json",
    () => nested(400, "[", "]", JSON.stringify("x".repeat(20_000))),
    /more than 4194304 characters/
  ],
  ["JSON deeper than the maximum depth", "$..a", "json", () => nested(100_000, "[", "]"), /recursion|deep/]
]

const endless: typeof attacks = [
  [
    "a pattern that backtracks forever",
    "$.a[?search(@, '(x+x+)+y')]",
    "json",
    () => JSON.stringify({ a: ["x".repeat(50)] }),
    /too long/
  ],
  [
    "a filter that visits all values for each value",
    "$..[?count($..[?count($..*) > 1]) > 1]",
    "json",
    () => JSON.stringify({ a: Array.from({ length: 300 }, () => [[[1]]]) }),
    /too long/
  ]
]

describe("selectors of untrusted clients", () => {
  it.live.each(attacks)("%s", ([, path, syntax, document, expected]) =>
    Effect.gen(function*() {
      const error = yield* attempt(path, syntax, document())
      assert.strictEqual(error.reason._tag, "TooMuch")
      assert.match(error.message, expected)
      yield* recovers
    }).pipe(Effect.provide(SelectorWorker.layerWith({ deadline: "1 minute" }))))

  it.effect.each(endless)("%s", ([, path, syntax, document, expected]) =>
    Effect.gen(function*() {
      yield* recovers // the start of the thread does not count
      const attacking = yield* Effect.forkChild(attempt(path, syntax, document()), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      const error = yield* Fiber.join(attacking)
      assert.strictEqual(error.reason._tag, "Killed")
      assert.match(error.message, expected)
      yield* recovers
    }).pipe(Effect.provide(SelectorWorker.layer)))

  it.live.each<readonly [attack: string, path: string]>([
    ["siblings that are gone over again and again", "b ~ a"],
    ["children that are counted again and again", "a:nth-child(2)"],
    ["what is inside of what is around it", "c a a"],
    ["what stands beside what", "a:has(~ b)"]
  ])("%s", ([, path]) =>
    Effect.gen(function*() {
      const { message, reason } = yield* attempt(path, "xml", nested(3_000, "<a>", "</a>", "<a/>".repeat(100_000)))
      assert.strictEqual(reason._tag, "Killed")
      // The thread stops the search itself and continues.
      assert.match(message, /^the path takes more than 2 s in this document/)
      yield* recovers
    }).pipe(Effect.provide(SelectorWorker.layerWith({ deadline: "1 minute" }))))

  it.live("an XML document with very many roots", () =>
    Effect.gen(function*() {
      const { select } = yield* Selector
      const fragment = fragmentOf("http://example.org/#b") ?? assert.fail("no fragment")
      const bytes = new TextEncoder().encode(`${"<a/>".repeat(200_000)}<b/>`)
      const { document } = yield* select({ fragment, syntax: "xml", bytes, contentType: undefined, turn })
      assert.strictEqual(new TextDecoder().decode(document.body), "<b/>")
    }).pipe(Effect.provide(SelectorWorker.layerWith({ deadline: "1 minute" }))))

  it.live("pages whose trees are 240 times as large, one after the other", () =>
    Effect.gen(function*() {
      const { select } = yield* Selector
      const fragment = fragmentOf("http://example.org/#i") ?? assert.fail("no fragment")
      for (const number of [1, 2, 3, 4]) {
        const bytes = new TextEncoder().encode(`<i>${number}</i>${"<p>".repeat(220_000)}`)
        const { document } = yield* select({ fragment, syntax: "html", bytes, contentType: undefined, turn })
        assert.strictEqual(new TextDecoder().decode(document.body), `<i>${number}</i>`)
      }
      yield* recovers
    }).pipe(Effect.provide(SelectorWorker.layerWith({ deadline: "1 minute" }))))
})
