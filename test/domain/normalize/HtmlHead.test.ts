import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { readFeed } from "#domain/normalize/ReadFeed.ts"
import { readHeadLinks } from "#domain/normalize/HtmlHead.ts"

const url = "https://blog.example/posts/"
const read = (html: string) => readHeadLinks(html, url).map(({ href, rel }) => `${rel} ${href}`)

const rss = (href: string) => `<link rel=alternate type="application/rss+xml" href="${href}">`

describe("the head of a page", () => {
  it("has links to hubs, to the page itself and to its feeds", () => {
    const html = `<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>A <link rel=hub href=/no></title>
      <LINK REL="Hub" HREF='https://hub.example/?a=1&amp;b=2'/><link rel="self canonical" href=/posts/>
      <link rel="alternate" type="application/rss+xml; charset=utf-8" title="Posts &amp; more" href="feed.xml">
      <link rel="alternate" type="application/json" href="/wp-json/1"><link rel="alternate stylesheet" href="/x.css">
      <link rel=feed href=/all></head><body>text`
    assert.deepStrictEqual(read(html), [
      "hub https://hub.example/?a=1&b=2",
      "self https://blog.example/posts/",
      "alternate https://blog.example/posts/feed.xml",
      "alternate https://blog.example/all"
    ])
    assert.strictEqual(readHeadLinks(html, url)[2]?.title, "Posts & more")
  })

  it("ends with the first element of the body, closed or not", () => {
    assert.deepStrictEqual(read(`<link rel=hub href=https://a.example/><p>${rss("/f")}`), ["hub https://a.example/"])
    assert.deepStrictEqual(read(`<head></head>${rss("/f")}`), [])
    assert.deepStrictEqual(read(`<html><body>${rss("/f")}`), [])
  })

  it("has no links in comments, scripts and styles", () => {
    const html = `<head><!-- ${rss("/1")} --><script>"${rss("/2")}"</script><style>${rss("/3")}</style>
      <noscript>${rss("/4")}</noscript><base href="https://other.example/b/">${rss("5")}`
    assert.deepStrictEqual(read(html), ["alternate https://other.example/b/5"])
    assert.deepStrictEqual(read(`<head><!-- ${rss("/1")}`), [])
  })

  it("is read with the page, and only has http URLs", () => {
    const html = `<!doctype html><html><head><link rel=hub href="javascript:1">${
      rss("/f")
    }</head><body><p>x</body></html>`
    const result = readFeed(new TextEncoder().encode(html), { url })
    assert.deepStrictEqual(result._tag === "NotFeed" ? [result.kind, result.links?.map(({ href }) => href)] : [], [
      "html",
      ["https://blog.example/f"]
    ])
  })

  it("ends for any input", () => {
    const pieces = fc.constantFrom(
      "<",
      ">",
      "link",
      "<link",
      " rel=hub",
      " href=",
      "\"",
      "'",
      "/",
      "<!--",
      "-->",
      "=",
      " "
    )
    fc.assert(fc.property(fc.array(pieces, { maxLength: 300 }), (parts) => {
      readHeadLinks(parts.join(""), url)
    }))
    for (const piece of ["<", "<link ", "<link a=\"", "<!--", "<script>", "<link a", "<title></title "]) {
      assert.deepStrictEqual(read(piece.repeat(200_000)), [])
    }
    assert.isAtMost(read(`<link rel="hub self" href=/a>`.repeat(10_000)).length, 101)
  })
})
