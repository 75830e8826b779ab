import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import type { Entry, Link } from "#domain/feed/Entry.ts"
import { renderAtom, renderEntryXml } from "#domain/render/AtomXml.ts"
import { renderEntryJson } from "#domain/render/NotificationJson.ts"
import { dropIllegalCharacters } from "#domain/render/Xml.ts"
import { renderStatusXml } from "#domain/render/StatusXml.ts"
import { hostile, model } from "#test/generators/Model.ts"
import { children, type Element, names, parse } from "./xml.ts"

const EXT = "http://ext.example/ns"
const NAMESPACES =
  `xmlns="http://www.w3.org/2005/Atom" xmlns:geo="http://www.georss.org/georss" xmlns:as="http://activitystrea.ms/spec/1.0/" xmlns:sf="${EXT}"`
const status = { feed: "https://news.example/rss", code: 200 }
const at = (iso: string) => Date.parse(iso)
const text = (value: string, type = "text") => ({ value, type })

/** The children of an entry, rendered alone. */
const inside = (entry: Entry) => {
  const xml = renderEntryXml(entry, EXT)
  return xml.slice(xml.indexOf(">") + 1, -"</entry>".length)
}

const strings = (of: Element): ReadonlyArray<string> => [
  ...Object.values(of.attributes),
  ...of.children.flatMap((child) => typeof child === "string" ? child : strings(child))
]

describe("AtomXml", () => {
  it("has the order of the original service: status, links, title, id, entries", () => {
    const header = {
      id: "urn:news",
      title: text("News"),
      links: [{ href: "https://news.example/", rel: "alternate" }],
      updated: at("2013-10-12T20:00:00Z")
    }
    const entry = {
      id: "item-1",
      title: text("Salamanders & aging"),
      summary: text(`<a href="https://news.example/1">Comments</a>`, "html"),
      links: [
        { href: "http://site.example/1.html", rel: "alternate" },
        { href: "https://news.example/1", rel: "replies" }
      ]
    }
    assert.strictEqual(
      renderAtom({ status, header, entries: [entry], extNamespace: EXT }),
      `<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom">` +
        renderStatusXml(status, EXT) +
        `<link title="News" rel="alternate" href="https://news.example/" type="text/html"/>` +
        "<title>News</title><updated>2013-10-12T20:00:00Z</updated><id>urn:news</id>" +
        `<entry ${NAMESPACES}><id>item-1</id><updated></updated><title>Salamanders &amp; aging</title>` +
        `<summary type="html">&lt;a href="https://news.example/1"&gt;Comments&lt;/a&gt;</summary>` +
        `<link title="Salamanders &amp; aging" rel="alternate" href="http://site.example/1.html" type="text/html"/>` +
        `<link title="Salamanders &amp; aging" rel="replies" href="https://news.example/1" type="text/html"/>` +
        "</entry></feed>"
    )
  })

  it("announces hub and topic once, before the publisher's links; another self link is canonical", () => {
    const own = { rel: "self", href: "https://news.example/rss", type: "application/atom+xml" }
    const linksOf = (links: ReadonlyArray<Link>) =>
      children(parse(renderAtom({
        status,
        header: { title: text("T"), links },
        entries: [],
        extNamespace: EXT,
        hub: "http://hub.example/",
        self: own.href
      }))).flatMap(({ attributes, name }) => name === "link" ? [attributes] : [])
    const hub = { rel: "hub", href: "http://hub.example/" }
    const other = { rel: "hub", href: "http://other.example/" }
    const moved = { ...own, href: "http://old.example/" }
    assert.deepStrictEqual(linksOf([]), [hub, { rel: "self", href: own.href }])
    assert.deepStrictEqual(linksOf([own, hub, other, own]), [hub, own, other])
    assert.deepStrictEqual(linksOf([moved, moved]), [
      hub,
      { rel: "self", href: own.href },
      { ...moved, rel: "canonical" }
    ])
  })

  it("is an Atom feed with a status and without entries before the first document", () => {
    const read = parse(renderAtom({ status, header: undefined, entries: [], extNamespace: EXT }))
    assert.deepStrictEqual(names(read), ["status", "title", "updated", "id"])
  })

  it("renders every element of an entry, in order", () => {
    const picture = { href: "http://a.example/1.png", rel: "picture", type: "image/png", title: "A picture" }
    const second = { name: "Second", uri: "http://a.example/second", email: "second@a.example" }
    const first = {
      ...second,
      id: "id-first",
      title: "First",
      objectTypes: ["http://as.example/person"],
      links: [picture]
    }
    const entry: Entry = {
      id: "x",
      language: "en",
      published: at("2013-04-21T14:00:40+02:00"),
      updated: at("2013-04-21T14:00:40.5+02:00"),
      title: text("T"),
      content: [text("Shiny"), text("not sent")],
      summary: text("S"),
      points: [{ latitude: 47.597553, longitude: -122.15925 }],
      shape: { type: "Box", coordinates: [[2, 1], [4, 3]] },
      links: [picture],
      categories: [{ term: "Things" }, { term: "Picture", scheme: "http://a.example/tags", label: "Pictures" }],
      authors: [first, second],
      contributors: [{ name: "Third" }],
      rights: text("<i>mine</i>", "html"),
      verbs: ["http://as.example/post"],
      objects: [{
        objectTypes: ["http://as.example/place"],
        id: "object-id",
        title: "Object",
        published: at("2013-04-20T13:00:40Z"),
        updated: at("2013-04-20T13:00:41Z"),
        content: text("hello world"),
        authors: [second],
        categories: [{ term: "spot" }],
        links: [picture]
      }],
      source: {
        id: "feed-id",
        title: text("feed-title"),
        updated: at("2013-04-21T12:00:40Z"),
        links: [picture],
        authors: [second],
        generator: { name: "Engine", version: "2" }
      }
    }
    const link = `<link title="A picture" rel="picture" href="http://a.example/1.png" type="image/png"/>`
    const two = "<author><name>Second</name><uri>http://a.example/second</uri><email>second@a.example</email></author>"
    assert.isTrue(renderEntryXml(entry, EXT).startsWith(`<entry ${NAMESPACES} xml:lang="en">`))
    assert.strictEqual(
      inside(entry),
      "<id>x</id><published>2013-04-21T12:00:40Z</published><updated>2013-04-21T12:00:40.500Z</updated><title>T</title>" +
        `<summary type="text">S</summary><content type="text">Shiny</content>` +
        "<geo:point>47.597553 -122.15925</geo:point><geo:box>1 2 3 4</geo:box>" +
        link +
        `<category term="Things"/><category term="Picture" scheme="http://a.example/tags" label="Pictures"/>` +
        "<author><name>Second</name><uri>http://a.example/second</uri><email>second@a.example</email><id>id-first</id>" +
        `<title>First</title><as:object-type>http://as.example/person</as:object-type>${link}</author>` +
        two +
        `<contributor><name>Third</name></contributor><rights type="html">&lt;i&gt;mine&lt;/i&gt;</rights>` +
        "<as:verb>http://as.example/post</as:verb>" +
        "<as:object><as:object-type>http://as.example/place</as:object-type><id>object-id</id><title>Object</title>" +
        "<published>2013-04-20T13:00:40Z</published><updated>2013-04-20T13:00:41Z</updated>" +
        `<content type="text">hello world</content>${two}<category term="spot"/>${link}</as:object>` +
        "<source><id>feed-id</id><title>feed-title</title><updated>2013-04-21T12:00:40Z</updated>" +
        `${link}${two}<generator version="2">Engine</generator></source>`
    )
  })

  it("omits unknown values, but has the title and the time that Atom requires", () => {
    assert.strictEqual(inside({ id: "x" }), "<id>x</id><updated></updated><title></title>")
  })

  it("sends XHTML as HTML, media types unchanged, and out-of-line content by its URL", () => {
    assert.strictEqual(
      inside({ id: "x", content: [text("<p>a</p>", "xhtml")], summary: text("a", "text/markdown") }),
      `<id>x</id><updated></updated><title></title><summary type="text/markdown">a</summary><content type="html">&lt;p&gt;a&lt;/p&gt;</content>`
    )
    assert.strictEqual(
      inside({ id: "x", content: [{ value: "", type: "video/mp4", src: "http://a.example/1.mp4" }] }),
      `<id>x</id><updated></updated><title></title><content type="video/mp4" src="http://a.example/1.mp4"></content>`
    )
  })

  it("has the language of a text only if the entry has another", () => {
    assert.strictEqual(
      inside({
        id: "x",
        language: "en",
        title: { ...text("T"), language: "en" },
        summary: { ...text("S"), language: "de" }
      }),
      `<id>x</id><updated></updated><title>T</title><summary type="text" xml:lang="de">S</summary>`
    )
  })

  it("sends comments as replies, unless the publisher has such links", () => {
    const comments = "http://a.example/1#comments"
    const commentsFeed = "http://a.example/1/feed"
    const title = text("T")
    const page = `<link title="T" rel="replies" href="${comments}" type="text/html"/>`
    assert.include(
      inside({ id: "x", title, comments, commentsFeed }),
      `${page}<link title="T" rel="replies" href="${commentsFeed}" type="application/rss+xml"/>`
    )
    const links = [{ href: comments, rel: "replies", type: "text/html", title: "T" }]
    assert.strictEqual(
      inside({ id: "x", title, links, comments }),
      `<id>x</id><updated></updated><title>T</title>${page}`
    )
  })

  it("sends pictures and media of Media RSS and iTunes as links, each once", () => {
    const entry = {
      id: "x",
      links: [{ href: "https://a.example/1.mp3", rel: "enclosure", type: "audio/mpeg" }],
      image: { url: "https://a.example/art.jpg" },
      itunes: { image: "https://a.example/art.jpg" },
      media: {
        contents: [
          { url: "https://a.example/1.mp3", type: "audio/mpeg" },
          { url: "https://a.example/1.mp4", type: "video/mp4", fileSize: 5, title: "Video" },
          { url: "https://a.example/face.png", medium: "image" }
        ],
        thumbnails: [{ url: "https://a.example/small.jpg" }, { url: "https://a.example/large.jpg" }]
      }
    }
    assert.strictEqual(
      inside(entry),
      `<id>x</id><updated></updated><title></title><link rel="enclosure" href="https://a.example/1.mp3" type="audio/mpeg"/>` +
        `<link title="Video" rel="enclosure" href="https://a.example/1.mp4" type="video/mp4" length="5"/>` +
        `<link rel="picture" href="https://a.example/face.png"/><link rel="picture" href="https://a.example/art.jpg"/>` +
        `<link rel="picture" href="https://a.example/small.jpg"/>`
    )
    assert.deepStrictEqual(JSON.parse(renderEntryJson(entry)), {
      id: "x",
      standardLinks: {
        enclosure: [
          { href: "https://a.example/1.mp3", rel: "enclosure", type: "audio/mpeg" },
          { title: "Video", href: "https://a.example/1.mp4", rel: "enclosure", type: "video/mp4" }
        ],
        picture: [
          { href: "https://a.example/face.png", rel: "picture" },
          { href: "https://a.example/art.jpg", rel: "picture" },
          { href: "https://a.example/small.jpg", rel: "picture" }
        ]
      }
    })
  })

  it("sends no category without a term, and each term once in JSON", () => {
    const categories = [{ term: "a" }, { term: "", scheme: "s" }, { term: "a", scheme: "s" }]
    assert.include(inside({ id: "x", categories }), `<category term="a"/><category term="a" scheme="s"/>`)
    assert.notInclude(inside({ id: "x", categories }), `term=""`)
    assert.deepStrictEqual(JSON.parse(renderEntryJson({ id: "x", categories })).categories, ["a"])
  })

  it("sends the picture of a feed as its logo", () => {
    const header = { image: { url: "https://a.example/logo.png" } }
    assert.include(
      renderAtom({ status, header, entries: [], extNamespace: EXT }),
      "<logo>https://a.example/logo.png</logo>"
    )
  })

  it("sends no link without a URL", () => {
    assert.notInclude(
      inside({ id: "x", links: [{ href: "", rel: "alternate" }], authors: [{ links: [{ href: "", rel: "me" }] }] }),
      "<link"
    )
  })

  it("does not copy a title with markup to a link", () => {
    const links = [{ href: "http://a.example/", rel: "alternate" }]
    assert.include(inside({ id: "x", title: text("<b>T</b>", "html"), links }), `<link rel="alternate" href`)
  })

  it("is well-formed and in order for any texts", () => {
    const { entry, header, status } = model(hostile)
    fc.assert(
      fc.property(status, header, fc.array(entry, { maxLength: 3 }), (status, header, entries) => {
        const read = parse(renderAtom({ status, header, entries, extNamespace: EXT }))
        assert.strictEqual(names(read)[0], "status")
        assert.strictEqual(names(read).filter((name) => name === "entry").length, entries.length)
        assert.isTrue(strings(read).every((value) => value === dropIllegalCharacters(value)))
      }),
      { numRuns: 200 }
    )
  })
})
