import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fragmentOf } from "#domain/poll/Fragment.ts"
import { maxOutlineLines, Selector, type Syntax } from "#domain/ports/Selector.ts"
import * as SelectorWorker from "#layers/workers/SelectorWorker.ts"

const outline = (document: string, syntax: Syntax, path?: string) => {
  const fragment = path === undefined ? undefined : fragmentOf(`http://a.example/#${encodeURIComponent(path)}`)
  return Selector.use((selector) =>
    selector.outline({
      syntax,
      bytes: new TextEncoder().encode(document),
      contentType: undefined,
      turn: { key: "a", isForStrangers: false },
      ...(fragment !== undefined && { fragment })
    })
  )
}

describe("outlines of documents", () => {
  it.effect("list the places of a page with paths that select them, and mark the selected ones", () =>
    Effect.gen(function*() {
      const page = `<title>T</title><main id="main"><h1 class="big x">Head</h1><ul><li>one<li>two <b>bold</b></ul>
        <script>let a = "text"</script></main>`
      const { isCut, lines } = yield* outline(page, "html", "li")
      assert.isFalse(isCut)
      assert.deepStrictEqual(
        lines.map(({ isSelected, label, path, text }) => [label, text, path, isSelected]),
        [
          ["h1.big.x", "Head", "#main > h1", false],
          ["li", "one", "#main > ul > li:nth-of-type(1)", true],
          ["li", "two", "#main > ul > li:nth-of-type(2)", true],
          ["b", "bold", "#main > ul > li:nth-of-type(2) > b", false]
        ]
      )
      for (const { path, text } of lines) {
        const again = yield* outline(page, "html", path)
        assert.deepStrictEqual(again.lines.filter(({ isSelected }) => isSelected).map((line) => line.text), [text])
      }
    }).pipe(Effect.provide(SelectorWorker.layer)))

  it.effect("list the values of JSON with JSONPaths", () =>
    Effect.gen(function*() {
      const json = JSON.stringify({ items: [1, 2, 3, 4, 5, 6, { "a b": "x" }] })
      const { lines } = yield* outline(json, "json", "$.items[6]['a b']")
      const selected = lines.filter(({ isSelected }) => isSelected)
      assert.deepStrictEqual(selected, [])
      const six = yield* outline(json, "json", "$.items[6]")
      assert.deepStrictEqual(six.lines.filter(({ isSelected }) => isSelected).map(({ path, text }) => [path, text]), [
        ["$.items[6]", ""]
      ])
      assert.deepStrictEqual(six.lines.at(-1)?.path, "$.items[6][\"a b\"]")
      assert.deepStrictEqual(lines.slice(0, 2).map(({ label, text }) => [label, text]), [["$", ""], [
        "items",
        "7 items"
      ]])
    }).pipe(Effect.provide(SelectorWorker.layer)))

  it.effect("are bounded for hostile documents, and name the fault of a path", () =>
    Effect.gen(function*() {
      const many = yield* outline(`<p>${"x".repeat(1_000)}</p>`.repeat(2_000), "html")
      assert.deepStrictEqual([many.lines.length, many.isCut, many.lines[0]?.text.length], [maxOutlineLines, true, 160])
      const deep = yield* outline("<div>".repeat(20_000) + "x", "html")
      assert.isAtMost(deep.lines.length, 1)
      const wide = yield* outline(
        JSON.stringify(Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [i, i]))),
        "json"
      )
      assert.isAtMost(wide.lines.length, maxOutlineLines + 1)
      assert.strictEqual((yield* Effect.flip(outline("<p>", "html", "!"))).reason._tag, "Invalid")
      assert.strictEqual((yield* Effect.flip(outline("<p>", "html", "$.a"))).reason._tag, "Unfit")
      assert.strictEqual((yield* Effect.flip(outline("{", "json"))).reason._tag, "Unfit")
    }).pipe(Effect.provide(SelectorWorker.layer)))
})
