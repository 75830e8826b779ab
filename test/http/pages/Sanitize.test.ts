import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { Html } from "#http/pages/Html.ts"
import { sanitize } from "#http/pages/Sanitize.ts"

const clean = (value: string, type = "html") => Effect.map(sanitize({ value, type }), Html.markupOf)

const dangerous =
  /<(script|style|iframe|img|form|input|object|embed|svg|math|link|meta|base)\b|\son\w+=|javascript:|style=|srcset=|src=/i

describe("sanitize", () => {
  it.effect("keeps the structure of a text, and no code", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* clean(`<h1 onclick="x()">A</h1><p style="color:red">b <b>c</b><script>alert(1)</script></p>`),
        "<h4>A</h4><p>b <b>c</b></p>"
      )
      assert.strictEqual(yield* clean(`<svg><style>*{}</style><a href="javascript:x()">t</a></svg>`), "")
      assert.strictEqual(
        yield* clean(
          `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">`
        ),
        ""
      )
    }))

  it.effect("reads elements without an end in bounded time", () =>
    Effect.gen(function*() {
      const started = performance.now()
      yield* clean(`${"<b>".repeat(43_000)}${"</i>".repeat(32_000)}`)
      assert.isBelow(performance.now() - started, 2_000)
    }))

  it.effect("turns everything that would be loaded into links", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* clean(`<img src="https://t.example/p.gif" alt="a <b>bird</b>" srcset="x 2x">`),
        `<a href="https://t.example/p.gif" rel="noreferrer nofollow">[Image: a &lt;b&gt;bird&lt;/b&gt;]</a>`
      )
      assert.include(yield* clean(`<iframe src="https://t.example/"></iframe>`), "[Frame]")
    }))

  it.effect("lets no link lead into this service or to a script", () =>
    Effect.gen(function*() {
      for (
        const href of [
          "/dashboard/sign-out",
          "//t.example/",
          "javascript:alert(1)",
          "data:text/html,x",
          " \tjava\nscript:x",
          "?x"
        ]
      ) {
        assert.strictEqual(yield* clean(`<a href="${href}">t</a>`), "<a>t</a>", href)
      }
      assert.strictEqual(
        yield* clean(`<a href="https://a.example/?x=1&amp;y=2" target="_blank" rel="opener">t</a>`),
        `<a href="https://a.example/?x=1&amp;y=2" rel="noreferrer nofollow">t</a>`
      )
    }))

  it.effect("shows the controls of a terminal and of the direction of text", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* clean("<p>a\u202eb\u001b[31m</p>"), "<p>a⟨U+202E⟩b⟨U+001B⟩[31m</p>")
      assert.include(yield* clean("<b>\u001b&</b>", "text"), "&lt;b&gt;⟨U+001B⟩&amp;&lt;/b&gt;")
    }))

  it.effect("bounds long and deep contents", () =>
    Effect.gen(function*() {
      assert.isBelow((yield* clean("x".repeat(1_000_000))).length, 300_000)
      assert.isBelow((yield* clean("<div>".repeat(50_000))).length, 2_000)
    }))

  it("lets nothing dangerous through, whatever comes", () => {
    const piece = fc.constantFrom(
      "<",
      ">",
      "\"",
      "'",
      "</",
      "<!--",
      "-->",
      "<script>",
      "<img src=x onerror=y>",
      "<svg/onload=x>",
      " href=javascript:x ",
      "<style>",
      "<![CDATA[",
      "<math><mi>",
      "<noscript><p title=\"</noscript><img src=x>\">",
      "&lt;script&gt;",
      "\u0000",
      "a",
      "=",
      "`"
    )
    return fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async (pieces) => {
        const markup = await Effect.runPromise(clean(pieces.join("")))
        const tags = markup.match(/<[^>]*>/g) ?? []
        assert.notMatch(tags.join(""), dangerous)
      })
    )
  })
})
