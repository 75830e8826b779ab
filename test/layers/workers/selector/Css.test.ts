import { assert, describe, it } from "@effect/vitest"
import { checkCss, selectCss } from "#layers/workers/selector/Css.ts"
import { SelectionError } from "#layers/workers/selector/CollectMatches.ts"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const page = bytes(`<!doctype html><html><head><title>Shop</title></head><body>
<h1 class="title main">Goods</h1>
<table id="t"><tr class="row"><td>1</td><td data-price="9">nine</td></tr><tr class="row"><td>2</td><td data-price="10">ten</td></tr></table>
<ul><li>a</li><li>b <b>bold</b></li><li>c</li></ul>
<p>one<p>two
</body></html>`)

const selected: ReadonlyArray<readonly [kind: string, path: string, html: ReadonlyArray<string>]> = [
  ["an element", "h1", ["<h1 class=\"title main\">Goods</h1>"]],
  ["classes", ".title.main", ["<h1 class=\"title main\">Goods</h1>"]],
  [
    "what a browser's inspector copies, with the tbody that the page has not",
    "#t > tbody > tr:nth-child(2) > td:nth-child(2)",
    ["<td data-price=\"10\">ten</td>"]
  ],
  ["from the root", "html > body > ul > li:first-child", ["<li>a</li>"]],
  [":nth-child()", "li:nth-child(odd)", ["<li>a</li>", "<li>c</li>"]],
  [":has()", "li:has(b)", ["<li>b <b>bold</b></li>"]],
  [":not()", "li:not(:first-child):not(:has(b))", ["<li>c</li>"]],
  ["attributes", "td[data-price=\"9\"]", ["<td data-price=\"9\">nine</td>"]],
  ["beginnings of attributes", "td[data-price^='1']", ["<td data-price=\"10\">ten</td>"]],
  ["a list, in the order of the document", "li:last-child, h1", ["<h1 class=\"title main\">Goods</h1>", "<li>c</li>"]],
  ["siblings", "li + li + li", ["<li>c</li>"]],
  ["tags that the page leaves out", "p", ["<p>one</p>", "<p>two\n</p>"]],
  ["nothing", "video", []]
]

describe("Css", () => {
  it.each(selected)("%s: %s", (_, path, html) => {
    assert.deepStrictEqual(selectCss(page, "text/html; charset=utf-8", path, "html"), html)
  })

  it.each([["li[", "li["], ["p:unknown", "unknown"], ["!/route", "!"], ["a >", ">"], ["..", "."], ["<b>", "<b>"]])(
    "says where %s breaks",
    (path, where) => {
      let message = ""
      try {
        checkCss(path)
      } catch (error) {
        message = (error as Error).message
      }
      assert.include(message, `${JSON.stringify(path)} is not a CSS path: `)
      assert.include(message, where)
    }
  )

  it.each([
    ["/html/body/p", "/ (character 1)"],
    ["/news", "XPath and page routes"],
    ["//*[@id=\"main\"]/p", "XPath"],
    ["p/b", "/ (character 2)"],
    ["./a", "/ (character 2)"],
    ["@p", "@ (character 1)"],
    ["!path", "! (character 1)"],
    ["p$x", "$ (character 2)"],
    ["p=1", "= (character 2)"],
    ["p'x", "' (character 2)"],
    ["p, 404", "4 (character 4)"],
    ["a:hover", ":hover is a state"],
    ["a:VISITED > b", ":VISITED is a state"],
    ["p:not(:active)", ":active is a state"],
    ["p:eq(2)", ":eq belongs to jQuery"],
    ["ul:not(:first) > li", ":first belongs to jQuery"],
    ["> p", "the > needs a selector"],
    ["+ p", "the + needs a selector"]
  ])("rejects %s, which never matches an element", (path, where) => {
    assert.throws(() => checkCss(path), SelectionError, where)
  })

  it.each([
    ".w-1\\/2",
    "#\\31 23",
    "[href='/a@b!']",
    "[data-x=\"]/\"]",
    "a[href*=\":hover\"]",
    "p:nth-child(2n + 1)",
    "p:nth-child(-n+3)",
    "p:contains(a/b (c!))",
    "p:not(:has(> b, + c))",
    "/* a/b */p",
    "größe.größe",
    "a-visited.hover",
    "my-element > p ~ p",
    "b < p"
  ])("takes %s", (path) => {
    assert.doesNotThrow(() => checkCss(path))
  })

  it.each([
    ["linearGradient", ["<linearGradient id=\"b\"></linearGradient>"]],
    ["svg > DEFS > lineargradient", ["<linearGradient id=\"b\"></linearGradient>"]],
    ["clipPath, foreignObject p", ["<clipPath id=\"c\"></clipPath>", "<p>in</p>"]],
    ["[viewBox='0 0 9 9'] path", ["<path d=\"M0\"></path>"]],
    ["svg[viewbox]:has(> [gradientunits])", []],
    ["annotation-xml[definitionURL]", ["<annotation-xml definitionURL=\"x\"></annotation-xml>"]],
    [":not(lineargradient):nth-of-type(1) + clippath", ["<clipPath id=\"c\"></clipPath>"]]
  ])("finds names of SVG and MathML in any case: %s", (path, found) => {
    const drawing = bytes(
      "<svg viewBox='0 0 9 9'><defs><linearGradient id=b></linearGradient><g></g><clipPath id=c></clipPath></defs><path d=M0></path>" +
        "<foreignObject><p>in</p></foreignObject></svg><math><annotation-xml definitionurl=x></annotation-xml></math>"
    )
    assert.deepStrictEqual(selectCss(drawing, "text/html", path, "html"), found)
  })

  it.each([
    ["Loc", ["<Loc a=\"1\" A=\"2\"/>"]],
    ["loc", []],
    ["[A='2']", ["<Loc a=\"1\" A=\"2\"/>"]],
    ["[constructor]", []]
  ])("tells names of XML by their case: %s", (path, found) => {
    assert.deepStrictEqual(selectCss(bytes("<r><Loc a='1' A='2'/></r>"), "text/xml", path, "xml"), found)
  })

  it("finds the text of deep elements", () => {
    const deep = bytes(`${"<a>".repeat(30_000)}<b>x</b><!--y-->`)
    assert.deepStrictEqual(selectCss(deep, "text/xml", "b:contains(x)", "xml"), ["<b>x</b>"])
    assert.deepStrictEqual(selectCss(deep, "text/xml", ":root:contains(xy)", "xml"), [])
  })

  it("finds first, last, only and empty elements", () => {
    const list = bytes("<r>t<a/><b><!-- --></b><b>x</b><c/></r>")
    for (
      const [path, found] of [
        [":first-child:not(r)", ["<a/>"]],
        [":last-child:not(r)", ["<c/>"]],
        [":scope > b:empty", ["<b><!-- --></b>"]],
        ["r > :only-of-type", ["<a/>", "<c/>"]],
        ["a ~ b + b", ["<b>x</b>"]],
        [":has(+ c)", ["<b>x</b>"]]
      ] as const
    ) assert.deepStrictEqual(selectCss(list, "text/xml", path, "xml"), found, path)
  })

  it("ends for a long path with unclosed brackets", () => {
    for (const part of ["[", "[\"", "\"", "\\", "/*", ":contains(", "(", "(1", "[a='"]) {
      assert.throws(() => checkCss(`p${part.repeat(2_000)}!`), SelectionError)
    }
  })

  it("selects in XML with case-sensitive names", () => {
    const map = bytes("<?xml version=\"1.0\"?><urlset><url><loc>https://example.org/A</loc></url><Other/></urlset>")
    assert.deepStrictEqual(selectCss(map, "application/xml", "url loc", "xml"), ["<loc>https://example.org/A</loc>"])
    assert.deepStrictEqual(selectCss(map, "application/xml", "Other", "xml"), ["<Other/>"])
  })

  it("reads the encoding that a page declares", () => {
    const latin = Uint8Array.from("<meta charset=iso-8859-2><p>\u00e8</p>", (character) => character.charCodeAt(0))
    assert.deepStrictEqual(selectCss(latin, "text/html", "p", "html"), ["<p>č</p>"])
  })

  it("never runs scripts or fetches images of a page", () => {
    const script = bytes("<script>globalThis.ran = true</script><img src=x onerror='globalThis.ran = true'>")
    assert.strictEqual(selectCss(script, "text/html", "img", "html").length, 1)
    assert.isUndefined((globalThis as { ran?: boolean }).ran)
  })
})
