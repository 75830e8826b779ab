import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { fragmentOf } from "#domain/poll/Fragment.ts"
import { Selector, type Syntax } from "#domain/ports/Selector.ts"
import * as SelectorWorker from "#layers/workers/SelectorWorker.ts"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (of: Uint8Array): string => new TextDecoder().decode(of)
const fragment = (path: string) => fragmentOf(`http://example.org/#${path}`) ?? assert.fail("no fragment")

const wanted = (path: string, syntax: Syntax, document: string | Uint8Array) => ({
  fragment: fragment(path),
  syntax,
  bytes: typeof document === "string" ? bytes(document) : document,
  contentType: undefined,
  turn: { key: "http://example.org/", isForStrangers: false }
})

const select = (path: string, syntax: Syntax, document: string | Uint8Array) =>
  Effect.flatMap(Selector, (selector) => selector.select(wanted(path, syntax, document)))

const check = (path: string) => Effect.flatMap(Selector, (selector) => selector.check(fragment(path)))

describe("SelectorWorker", () => {
  it.effect("selects in HTML, XML and JSON, and gives the content type", () =>
    Effect.gen(function*() {
      const html = yield* select("li", "html", "<ul><li>a<li>b</ul>")
      assert.deepStrictEqual([html.matches, html.document.contentType, text(html.document.body)], [
        2,
        "text/html; charset=utf-8",
        "<li>a</li><li>b</li>"
      ])
      const xml = yield* select("loc", "xml", "<urlset><url><loc>x</loc></url></urlset>")
      assert.deepStrictEqual([xml.document.contentType, text(xml.document.body)], [
        "application/xml; charset=utf-8",
        "<loc>x</loc>"
      ])
      const json = yield* select("$.a", "json", "{\"a\":{\"b\":1}}")
      assert.deepStrictEqual([json.matches, json.document.contentType, text(json.document.body)], [
        1,
        "application/json; charset=utf-8",
        "{\"b\":1}"
      ])
    }).pipe(Effect.provide(SelectorWorker.layer)))

  it.effect("reports a path without matches, because later documents may match", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* select("video", "html", "<p>")).matches, 0)
      assert.strictEqual((yield* select("$.a", "json", "{}")).matches, 0)
      assert.strictEqual((yield* select("$.a[*]", "json", "{}")).matches, 0)
    }).pipe(Effect.provide(SelectorWorker.layer)))

  it.effect("rejects invalid paths", () =>
    Effect.gen(function*() {
      yield* check("div%20%3E%20p")
      yield* check("$.items%5B0%5D")
      const css = yield* Effect.flip(check("!/route"))
      assert.strictEqual(css.reason._tag, "Invalid")
      assert.include(css.message, "\"!/route\" is not a CSS path")
      const jsonPath = yield* Effect.flip(check("$.items%5B"))
      assert.strictEqual(jsonPath.reason._tag, "Invalid")
      assert.include(jsonPath.message, "\"$.items[\" is not a JSONPath (RFC 9535): unclosed bracketed selection")
    }).pipe(Effect.provide(SelectorWorker.layer)))

  it.effect("explains that a path and a document have different languages", () =>
    Effect.gen(function*() {
      const css = yield* Effect.flip(select("p", "json", "{}"))
      assert.deepStrictEqual([css.reason._tag, css.message], [
        "Unfit",
        "the document is JSON, and a CSS path selects in HTML"
      ])
      const jsonPath = yield* Effect.flip(select("$.a", "html", "<p>"))
      assert.deepStrictEqual([jsonPath.reason._tag, jsonPath.message], [
        "Unfit",
        "the document is not JSON, and a JSONPath selects in JSON"
      ])
    }).pipe(Effect.provide(SelectorWorker.layer)))

  it.effect("fails at the deadline, and selects for the next caller", () =>
    Effect.gen(function*() {
      const json = JSON.stringify({ a: ["x".repeat(40)] })
      yield* check("p") // the start of the thread does not count
      const slow = yield* Effect.forkChild(Effect.flip(select("$.a[?match(@,'(x*)*y')]", "json", json)))
      yield* TestClock.adjust("5 seconds")
      const { message, reason } = yield* Fiber.join(slow)
      assert.deepStrictEqual([reason._tag, message], ["Killed", "nothing could be selected: it takes too long"])
      assert.strictEqual((yield* select("li", "html", "<li>a")).matches, 1)
    }).pipe(Effect.provide(SelectorWorker.layer)))
})
