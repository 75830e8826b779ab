import { assert, describe, it } from "@effect/vitest"
import { load } from "cheerio"
import * as fc from "fast-check"
import { attributes, Html, html, type HtmlValue } from "#http/pages/Html.ts"

const markupOf = (value: Html) => Html.markupOf(value)

/** The tree that a browser builds. */
const parse = (markup: string) => load(markup, null, false)

/** Texts with the characters of markup, controls and surrogates. */
const hostile = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({
    unit: fc.constantFrom("<", ">", "\"", "'", "&", "=", "/", "`", "-", "!", "a", "\n", "\u202e", "script")
  }),
  fc.constantFrom(
    "</script><script>alert(1)</script>",
    "\" onfocus=alert(1) autofocus x=\"",
    "--><img src=x onerror=alert(1)>"
  )
)

describe("html", () => {
  it("escapes text and attributes, and shows controls", () => {
    assert.strictEqual(
      markupOf(html`<p title="${"a\"b'"}">${"<b>&\u202e\u001b[31m"}</p>`),
      "<p title=\"a&quot;b&#39;\">&lt;b&gt;&amp;⟨U+202E⟩⟨U+001B⟩[31m</p>"
    )
  })

  it("nests markup and lists, and leaves absent values out", () => {
    const items = ["a", "<"].map((text) => html`<li>${text}</li>`)
    assert.strictEqual(
      markupOf(html`<ul>${items}</ul>${undefined}${null}${false}${0}`),
      "<ul><li>a</li><li>&lt;</li></ul>0"
    )
  })

  it("escapes an object that only looks like markup", () => {
    const forged = JSON.parse(`{"markup":"<script>"}`) as HtmlValue
    assert.throws(() => html`<p>${forged}</p>`, TypeError)
  })

  it("keeps the value of an input as it is, for the next POST", () => {
    assert.strictEqual(markupOf(html`<input value="${"a\u202e<"}">`), "<input value=\"a\u202e&lt;\">")
    assert.strictEqual(markupOf(html`<input ${attributes({ value: "a\u202e" })}>`), "<input  value=\"a\u202e\">")
  })

  it("links to http, https, mailto, xmpp and own paths alone", () => {
    const linked = (url: string) => /href="(.*?)"/.exec(markupOf(html`<a href="${url}">x</a>`))?.[1]
    for (
      const url of ["http://a.example/", "https://a.example/?x=1", "mailto:a@b", "xmpp:a@b", "/x", "/", "?a=b", "#c"]
    ) {
      assert.strictEqual(linked(url), url)
    }
    for (
      const url of [
        "javascript:alert(1)",
        " JavaScript:alert(1)",
        "java\nscript:alert(1)",
        "\u0001javascript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "//evil.example/",
        "/\\evil.example/",
        "/\t/evil.example/",
        "\\\\evil.example",
        "relative",
        ""
      ]
    ) assert.strictEqual(linked(url), "#", JSON.stringify(url))
  })

  it("accepts a value inside a URL whose beginning settles the host", () => {
    assert.strictEqual(
      markupOf(html`<a href="/dashboard/x?q=${"\"&"}">x</a>`),
      "<a href=\"/dashboard/x?q=&quot;&amp;\">x</a>"
    )
    assert.throws(() => html`<a href="/${"x"}">x</a>`, TypeError)
    assert.throws(() => html`<a href="https://${"x"}">x</a>`, TypeError)
    assert.throws(() => html`<a href="java${"script:alert(1)"}">x</a>`, TypeError)
  })

  it("refuses places where no escaping is safe", () => {
    const value = "x"
    const templates: ReadonlyArray<() => Html> = [
      () => html`<script>${value}</script>`,
      () => html`<style>${value}</style>`,
      () => html`<!-- ${value} -->`,
      () => html`<a onclick="${value}">x</a>`,
      () => html`<a style="${value}">x</a>`,
      () => html`<iframe srcdoc="${value}"></iframe>`,
      () => html`<a title=${value}>x</a>`,
      () => html`<a ${value}>x</a>`,
      () => html`<${value}>`,
      () => html`<a ${attributes({ onclick: value })}>x</a>`,
      () => html`<a ${attributes({ "x y": value })}>x</a>`,
      () => html`<p title="${html`<b></b>`}"></p>`,
      () => html`<p title="${value}"`
    ]
    for (const make of templates) assert.throws(make, TypeError)
  })

  it("gives a parser the same text and the same attributes for any value, and no element more", () => {
    fc.assert(fc.property(hostile, (value) => {
      const markup = markupOf(
        html`<main><p title="${value}" ${attributes({ lang: value })}><b>${value}</b></p><i></i></main>`
      )
      const $ = parse(markup)
      assert.deepStrictEqual($("*").toArray().map((node) => "name" in node ? node.name : ""), ["main", "p", "b", "i"])
      assert.deepStrictEqual(Object.keys($("p").attr() ?? {}), ["title", "lang"])
      assert.strictEqual($("p").attr("title"), $("b").text())
      assert.strictEqual($("p").attr("lang"), $("b").text())
      assert.isFalse(/[\u0001-\u0008\u001b\u202a-\u202e\u2066-\u2069]/.test($("b").text()))
    }))
  })

  it("gives a link no scheme that runs code, for any URL", () => {
    const scheme = fc.constantFrom(
      "javascript:",
      "JAVASCRIPT:",
      "data:",
      "vbscript:",
      "//",
      "/\\",
      "http:",
      "blob:",
      ""
    )
    const junk = fc.string({ unit: fc.constantFrom("\t", "\n", "\r", " ", "\u0000", "\u001f", "a", ":", "/", "\\") })
    fc.assert(fc.property(junk, scheme, junk, fc.nat(), (before, scheme, after, at) => {
      const split = at % (scheme.length + 1)
      const url = `${before}${scheme.slice(0, split)}${before}${scheme.slice(split)}${after}`
      const href = parse(markupOf(html`<a href="${url}">x</a>`))("a").attr("href")
      if (!URL.canParse(href ?? "", "https://own.example/page")) return // a link to nowhere
      const { origin, protocol } = new URL(href ?? "", "https://own.example/page")
      assert.isTrue(["http:", "https:", "mailto:", "xmpp:"].includes(protocol), href)
      if (!/^https?:\/\//.test(href ?? "")) assert.strictEqual(origin, "https://own.example")
    }))
  })
})
