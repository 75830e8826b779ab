import { assert, describe, it } from "@effect/vitest"
import type { RawEntry } from "#domain/feed/EntryId.ts"
import { getPermalink } from "#domain/feed/Feed.ts"
import { type RawFeed, readFeed, type ReadOptions } from "#domain/normalize/ReadFeed.ts"

const read = (document: string | Uint8Array, options: ReadOptions = {}): RawFeed => {
  const result = readFeed(typeof document === "string" ? new TextEncoder().encode(document) : document, options)
  if (result._tag === "NotFeed") throw new Error(result.reason)
  return result.feed
}

const entry = (document: string, options: ReadOptions = {}): RawEntry => read(document, options).entries[0] ?? {}

const rss = (item: string, channel = ""): string =>
  `<rss version="2.0"><channel><title>t</title>${channel}<item>${item}</item></channel></rss>`

const atom = (content: string, attributes = "", feed = ""): string =>
  `<feed xmlns="http://www.w3.org/2005/Atom" ${attributes}><title>t</title>${feed}<entry>${content}</entry></feed>`

const bytes = (latin1: string): Uint8Array => Uint8Array.from(latin1, (character) => character.charCodeAt(0))

/** What publishers do, one behaviour each. */
describe("oddities of markup", () => {
  it("bare ampersand: templates print titles and URLs without escaping", () => {
    assert.strictEqual(entry(rss("<title>R&D & more</title>")).title?.value, "R&D & more")
    assert.strictEqual(getPermalink(entry(rss("<link>http://a.example/?a=1&b=2</link>"))), "http://a.example/?a=1&b=2")
  })

  it("HTML entity: feeds use &nbsp; and &eacute; without a declaration", () => {
    assert.strictEqual(entry(rss("<title>caf&eacute;&hellip;</title>")).title?.value, "café…")
  })

  it("windows-1252 number: &#146; means an apostrophe", () => {
    assert.strictEqual(entry(rss("<title>don&#146;t</title>")).title?.value, "don’t")
  })

  it("double escape: once is for XML, once for HTML", () => {
    assert.deepStrictEqual(entry(rss("<title>AT&amp;amp;T</title>")).title, { value: "AT&amp;T", type: "html" })
  })

  it("control character: illegal in XML, but pasted by editors", () => {
    const feed = read(rss("<title>a\u0008b\u0000c</title>"))
    assert.strictEqual(feed.entries[0]?.title?.value, "abc")
    assert.include(feed.repairs, "control characters removed")
  })

  it.each([
    "<rss version=\"2.0\"><channel><title>x",
    "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>x</title>",
    "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"><channel>"
  ])(
    "broken off before the first entry: the disk of the publisher is full, and it is no empty feed: %s",
    (document) => {
      assert.deepStrictEqual(readFeed(new TextEncoder().encode(document)), {
        _tag: "NotFeed",
        kind: "empty",
        reason: "the feed breaks off before its first entry"
      })
    }
  )

  it.each([
    "<?xml version=\"1.0\"?>",
    "<?xml versi",
    "<?xml version=\"1.0\"?>\n<rs",
    "<rdf:RDF xmlns:rdf=\"http",
    "<urlset>\n"
  ])(
    "broken off within the first tag, so that nobody can say what it would have been: %s",
    (document) => {
      assert.deepStrictEqual(readFeed(new TextEncoder().encode(document)), {
        _tag: "NotFeed",
        kind: "empty",
        reason: "the document breaks off within its first tag"
      })
    }
  )

  const cut = {
    rss: (item: string) =>
      `<rss version="2.0"><channel><title>t</title><item><guid>a</guid><title>A</title></item>${item}`,
    atom: (entry: string) =>
      `<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><entry><id>a</id><title>A</title></entry>${
        entry.replaceAll("item", "entry").replaceAll("guid", "id")
      }`,
    rdf: (item: string) =>
      `<rdf:RDF xmlns="http://purl.org/rss/1.0/" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><channel/>
      <item rdf:about="a"><title>A</title></item>${item.replace("<item>", "<item rdf:about=\"b\">")}`
  }

  it.each(Object.entries(cut))("broken off inside an entry: half an entry is no entry: %s", (_, document) => {
    const item =
      "<item><guid>b</guid><title>B &amp; C</title><link href=\"http://a.example/?x\">http://a.example/?x</link>" +
      "<description><![CDATA[<p>text</p> and </b> more]]></description><!-- a > <b> --></item>"
    for (let end = 1; end <= item.length; end++) {
      const { entries, repairs } = read(document(item.slice(0, end)))
      // The last `>` is no loss: only the end tag of the entry itself is cut.
      const isWhole = end >= item.length - 1
      assert.deepStrictEqual(
        entries.map(({ id, title }) => [id, title?.value]),
        isWhole ? [["a", "A"], ["b", "B & C"]] : [["a", "A"]],
        item.slice(0, end)
      )
      assert.include(repairs, "elements closed that were open at the end of the document")
    }
  })

  const closed = { rss: "</channel></rss>", atom: "</feed>", rdf: "</rdf:RDF>" } as const

  it.each(Object.entries(closed))(
    "broken off inside an entry, before the last tags of the publisher's template: half an entry is no entry: %s",
    (dialect, tags) => {
      const item = "<item><guid>b</guid><title>B &amp; C</title></item>"
      const document = cut[dialect as keyof typeof cut]
      for (
        const half of [
          "<item><guid>b</guid><title>B ",
          "<item><guid>b</guid><title>B</title><description>",
          "<item><guid>b"
        ]
      ) {
        const { entries, repairs } = read(document(half) + tags)
        assert.deepStrictEqual(entries.map(({ id }) => id), ["a"], half)
        assert.include(repairs, "an entry left out that was open at the end of the document")
      }
      assert.deepStrictEqual(read(document(item) + tags).entries.map(({ id }) => id), ["a", "b"])
    }
  )

  it("entries without end tags: the last one is whole as well", () => {
    const items = "<item><guid>a</guid><title>A</title><item><guid>b</guid><title>B"
    assert.deepStrictEqual(
      read(`<rss><channel><title>t</title>${items}</channel></rss>`).entries.map(({ id }) => id),
      ["a", "b"]
    )
    const last = "<item><guid>b</guid><title>B</title>"
    assert.deepStrictEqual(read(`${cut.rss(last)}</channel></rss>`).entries.map(({ id }) => id), ["a", "b"])
  })

  it("broken off inside its first entry, before the last tags", () => {
    const document = "<rss><channel><title>t</title><item><guid>a</guid><title>half of</channel></rss>"
    assert.deepStrictEqual(readFeed(new TextEncoder().encode(document)), {
      _tag: "NotFeed",
      kind: "empty",
      reason: "the feed breaks off before its first entry"
    })
  })

  it("relation in capitals: names of relations are case-insensitive", () => {
    const links = ["SELF", "Hub", "HTTP://rel.example/X"].map((rel) =>
      `<atom:link rel="${rel}" href="http://a.example/"/>`
    )
    const feed = read(rss("<guid>a</guid>", links.join("")))
    assert.deepStrictEqual(feed.header.links?.map(({ rel }) => rel), ["self", "hub", "HTTP://rel.example/X"])
  })

  it("broken off inside a comment between entries: a comment holds no entry", () => {
    const comment = "<!-- <item><guid>old</guid></item> "
    assert.deepStrictEqual(read(cut.rss(comment)).entries.map(({ id }) => id), ["a"])
    const unclosed = `${cut.rss("<!-- > ")}<item><guid>b</guid></item></channel></rss>`
    assert.deepStrictEqual(read(unclosed).entries.map(({ id }) => id), ["a", "b"])
  })

  it("too many elements: the entry in which the parser stops is left out", () => {
    const { entries, repairs } = read(cut.rss(`<item><guid>b</guid>${"<x/>".repeat(300_000)}<title>B</title></item>`))
    assert.deepStrictEqual(entries.map(({ id }) => id), ["a"])
    assert.include(repairs, "too many elements: the rest was left out")
  })

  it("an Atom entry as a document, broken off", () => {
    const document = "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>a</id><title>half of"
    assert.deepStrictEqual(readFeed(new TextEncoder().encode(document)), {
      _tag: "NotFeed",
      kind: "empty",
      reason: "the document breaks off within its only entry"
    })
  })

  it.each(["<urlset/>", "<note>text", "<?xmlish text", "a < b", "first <draft>"])("not truncated: %s", (document) => {
    const read = readFeed(new TextEncoder().encode(document))
    assert.notStrictEqual(read._tag === "NotFeed" ? read.kind : read._tag, "empty")
  })

  it("truncated behind an entry, or whole but empty: the document counts", () => {
    assert.strictEqual(read(rss("<title>x</title>").replace(/<\/channel>.*/, "")).entries.length, 1)
    assert.strictEqual(read("<rss version=\"2.0\"><channel><title>x</title></channel></rss>").entries.length, 0)
    assert.strictEqual(read("<rss version=\"2.0\"><channel><title>x</rss>").entries.length, 0)
  })

  it("truncated behind seen entries: a feed that skips these entries", () => {
    const document = new TextEncoder().encode(rss("<title>x</title>").replace(/<\/channel>.*/, ""))
    const first = readFeed(document)
    const slices = first._tag === "Feed" ? first.slices ?? [] : []
    assert.strictEqual(readFeed(document, { seenSlices: new Set(slices) })._tag, "Feed")
  })

  it("junk before the document: PHP warns, a template leaves blank lines", () => {
    const feed = read(`\n\nWarning: Cannot modify header\n${rss("<title>x</title>")}`)
    assert.strictEqual(feed.entries.length, 1)
    assert.include(feed.repairs, "text before the document skipped")
  })

  it("missing end tag of an item", () => {
    assert.deepStrictEqual(read(rss("<guid>1</guid><item><guid>2</guid></item>")).entries.map(({ id }) => id), [
      "1",
      "2"
    ])
  })

  it("missing end tag inside an item", () => {
    assert.deepStrictEqual(read(rss("<title>x<guid>1</guid></item><item><guid>2</guid>")).entries.map(({ id }) => id), [
      "1",
      "2"
    ])
  })

  it("missing quote of an attribute: the tag ends before the next quote of the document", () => {
    const items = "<category domain=\"a>x</category><guid>1</guid></item><item><guid isPermaLink=\"false\">2</guid>"
    const feed = read(rss(items))
    assert.deepStrictEqual(feed.entries.map(({ id, categories }) => [id, categories]), [
      ["1", [{ term: "x", scheme: "a" }]],
      ["2", undefined]
    ])
    assert.include(feed.repairs, "an attribute without its closing quote")
  })

  it("markup in an attribute is part of the value", () => {
    const found = entry(rss("<category domain=\"a &gt; <b>c</b> > d\">x</category>"))
    assert.deepStrictEqual(found.categories, [{ term: "x", scheme: "a > <b>c</b> > d" }])
  })

  it("section without end: the publisher cuts its HTML at a length", () => {
    const feed = read(
      rss(
        "<guid>1</guid><description><![CDATA[cut</description></item><item><guid>2</guid><description><![CDATA[whole]]></description>"
      )
    )
    assert.deepStrictEqual(feed.entries.map(({ id, summary }) => [id, summary?.value]), [["1", "cut"], ["2", "whole"]])
  })

  it("markup without escapes", () => {
    assert.strictEqual(
      entry(rss("<description>a <b>bold</b><br>line</description>")).summary?.value,
      "a <b>bold</b><br />line"
    )
  })

  it("another case: PubDate, GUID, LINK", () => {
    const found = entry(rss("<GUID>1</GUID><PubDate>Mon, 02 Sep 2024 12:00:00 GMT</PubDate>"))
    assert.deepStrictEqual([found.id, found.published], ["1", Date.UTC(2024, 8, 2, 12)])
  })

  it("prefix without declaration: most readers accept dc:", () => {
    assert.deepStrictEqual(entry(rss("<dc:creator>Jane</dc:creator>")).authors, [{ name: "Jane" }])
  })

  it("misspelt namespace: with https, in capitals, without the last slash", () => {
    const channel =
      "<rss xmlns:x=\"HTTPS://purl.org/dc/elements/1.1\" version=\"2.0\"><channel><item><x:creator>Jane</x:creator></item></channel></rss>"
    assert.deepStrictEqual(entry(channel).authors, [{ name: "Jane" }])
  })

  it("item inside an unknown namespace: a conflict copy is no entry", () => {
    const feed = read(
      "<rss><channel><item><guid>1</guid><x:old xmlns:x=\"urn:x\"><item><guid>0</guid></item></x:old></item></channel></rss>"
    )
    assert.deepStrictEqual(feed.entries.map(({ id }) => id), ["1"])
  })

  it("element with the name of a JavaScript property", () => {
    assert.strictEqual(entry(rss("<constructor>x</constructor><__proto__>y</__proto__><guid>1</guid>")).id, "1")
  })
})

describe("oddities of encodings", () => {
  it("UTF-8 declared as ISO-8859-1", () => {
    const feed = read(`<?xml version="1.0" encoding="ISO-8859-1"?>${rss("<title>café</title>")}`)
    assert.deepStrictEqual([feed.encoding, feed.entries[0]?.title?.value], ["utf-8", "café"])
  })

  it("windows-1252 declared as UTF-8", () => {
    const feed = read(
      bytes(
        `<?xml version="1.0" encoding="utf-8"?>${rss("<title>caf\u00e9 \u0093x\u0094 \u0096 \u00e9\u00e9</title>")}`
      )
    )
    assert.deepStrictEqual([feed.encoding, feed.entries[0]?.title?.value], ["windows-1252", "café “x” – éé"])
  })

  it("the charset of the header overrides the declaration", () => {
    const document = bytes(`<?xml version="1.0" encoding="iso-8859-1"?>${rss("<title>\u00ea\u00e9\u00f2</title>")}`)
    assert.strictEqual(
      read(document, { contentType: "text/xml; charset=windows-1251" }).entries[0]?.title?.value,
      "кйт"
    )
  })

  it("UTF-16 without a byte order mark", () => {
    const text = rss("<title>x</title>")
    const wide = new Uint8Array(2 * text.length)
    for (let at = 0; at < text.length; at++) wide[2 * at] = text.charCodeAt(at)
    assert.deepStrictEqual([read(wide).encoding, read(wide).entries[0]?.title?.value], ["utf-16le", "x"])
  })

  it("C1 controls: windows-1252 converted as Latin-1", () => {
    assert.strictEqual(entry(rss("<title>don\u0092t</title>")).title?.value, "don’t")
  })
})

describe("oddities of addresses", () => {
  it("a permalink guid replaces a missing link, another guid does not", () => {
    assert.strictEqual(getPermalink(entry(rss("<guid>http://a.example/1</guid>"))), "http://a.example/1")
    assert.isUndefined(getPermalink(entry(rss("<guid isPermaLink=\"false\">http://a.example/1</guid>"))))
  })

  it("an id is never resolved, so that the id stays the same if the feed moves", () => {
    assert.strictEqual(
      entry(atom("<id> /relative/1?a&amp;b </id>", "xml:base=\"http://a.example/\"")).id,
      "/relative/1?a&b"
    )
  })

  it("xml:base inside xml:base", () => {
    const found = entry(atom("<link xml:base=\"b/\" href=\"c\"/>", "xml:base=\"http://a.example/\""))
    assert.strictEqual(getPermalink(found), "http://a.example/b/c")
  })

  it("without xml:base, relative to the self link or to the URL of the fetch", () => {
    const self = "<link rel=\"self\" href=\"http://a.example/blog/feed\"/>"
    assert.strictEqual(
      getPermalink(entry(atom("<link href=\"1\"/>", "", self), { url: "http://cache.example/x" })),
      "http://a.example/blog/1"
    )
    assert.strictEqual(
      getPermalink(entry(atom("<link href=\"1\"/>"), { url: "http://a.example/news/feed" })),
      "http://a.example/news/1"
    )
  })

  it("references of a feed on another host are relative to the site", () => {
    const document = rss("<link>/1</link>", "<link>http://a.example/</link>")
    assert.strictEqual(getPermalink(entry(document, { url: "http://feeds.burner.example/a" })), "http://a.example/1")
  })

  it("a self link to a development machine is no base", () => {
    const document = atom("<link href=\"/1\"/>", "", "<link rel=\"self\" href=\"http://localhost:4000/feed.xml\"/>")
    assert.strictEqual(getPermalink(entry(document, { url: "https://a.example/feed.xml" })), "https://a.example/1")
  })

  it("relative references in content, without other changes", () => {
    const html =
      "<a href='/x?a=1&amp;b=2'>x</a> <img src=y.png srcset=\"y.png 1x, z.png 2x\"> <a href=\"http://b.example/\">href=\"/no\"</a>"
    const found = entry(rss(`<description><![CDATA[${html}]]></description>`, "<link>http://a.example/</link>"))
    assert.strictEqual(
      found.summary?.value,
      "<a href='http://a.example/x?a=1&amp;b=2'>x</a> <img src=http://a.example/y.png srcset=\"http://a.example/y.png 1x, http://a.example/z.png 2x\"> <a href=\"http://b.example/\">href=\"/no\"</a>"
    )
  })

  it("letters beyond ASCII stay unchanged", () => {
    assert.strictEqual(
      getPermalink(entry(rss("<link>/記事</link>", "<link>http://a.example/</link>"))),
      "http://a.example/記事"
    )
  })

  it("a URL that a template breaks into lines", () => {
    assert.strictEqual(getPermalink(entry(rss("<link>\n  http://a.example/\n    1\n</link>"))), "http://a.example/1")
  })

  it("FeedBurner has the original links behind its counted links", () => {
    const found = entry(
      rss(
        "<feedburner:origLink>http://a.example/1</feedburner:origLink><enclosure url=\"http://count.example/1.mp3\"/><feedburner:origEnclosureLink>http://a.example/1.mp3</feedburner:origEnclosureLink>"
      )
    )
    assert.deepStrictEqual([found.originalLink, found.links], ["http://a.example/1", [{
      href: "http://a.example/1.mp3",
      rel: "enclosure"
    }]])
  })

  it("the page is the HTML link among several alternates", () => {
    const found = entry(
      atom(
        "<link type=\"application/json\" href=\"http://a.example/1.json\"/><link type=\"text/html\" href=\"http://a.example/1\"/>"
      )
    )
    assert.strictEqual(getPermalink(found), "http://a.example/1")
  })
})

describe("oddities of persons, dates and texts", () => {
  it.each([
    ["jane@a.example (Jane Doe)", { name: "Jane Doe", email: "jane@a.example" }],
    ["Jane Doe <jane@a.example>", { name: "Jane Doe", email: "jane@a.example" }],
    ["jane@a.example (jane@a.example)", { email: "jane@a.example" }],
    ["Jane Doe", { name: "Jane Doe" }]
  ])("RSS packs name and address into one text: %s", (text, person) => {
    assert.deepStrictEqual(entry(rss(`<author>${text.replace("<", "&lt;")}</author>`)).authors, [person])
  })

  it("Atom: an entry without authors has the authors of its source, else of the feed", () => {
    const feed = "<author><name>Feed</name></author>"
    assert.deepStrictEqual(entry(atom("<id>1</id>", "", feed)).authors, [{ name: "Feed" }])
    assert.deepStrictEqual(entry(atom("<source><author><name>Source</name></author></source>", "", feed)).authors, [{
      name: "Source"
    }])
  })

  it("dc:date is the publication date, because some feeds renew dc:date at every fetch", () => {
    const found = entry(rss("<dc:date>2024-09-02T12:00:00Z</dc:date>"))
    assert.deepStrictEqual([found.published, found.updated], [Date.UTC(2024, 8, 2, 12), undefined])
  })

  it("only an unreadable date is absent", () => {
    const found = entry(rss("<pubDate>yesterday</pubDate><title>x</title>"))
    assert.deepStrictEqual([found.published, found.title?.value], [undefined, "x"])
  })

  it("XHTML: the outer div is dropped, and the order stays", () => {
    const content =
      "<content type=\"xhtml\"><h:div xmlns:h=\"http://www.w3.org/1999/xhtml\">a <h:b>b</h:b> c<h:br/></h:div></content>"
    assert.deepStrictEqual(entry(atom(content)).content, [{ value: "a <b>b</b> c<br />", type: "xhtml" }])
  })

  it("Atom 0.3 has escaped or base64 content", () => {
    assert.strictEqual(
      entry(atom("<content type=\"text/html\" mode=\"escaped\">&lt;b&gt;x&lt;/b&gt;</content>")).content?.[0]?.value,
      "<b>x</b>"
    )
    assert.strictEqual(
      entry(atom("<content type=\"text/plain\" mode=\"base64\">aMOp</content>")).content?.[0]?.value,
      "hé"
    )
  })

  it("summary beside description: the description is the content", () => {
    const found = entry(rss("<summary>short</summary><description>long</description>"))
    assert.deepStrictEqual([found.summary?.value, found.content?.[0]?.value], ["short", "long"])
  })

  it("content:encoded is the content at any position", () => {
    const found = entry(rss("<description>short</description><content:encoded>whole</content:encoded>"))
    assert.deepStrictEqual([found.summary?.value, found.content?.[0]?.value], ["short", "whole"])
  })

  it("language: of the entry, else of the feed, else of the server", () => {
    assert.strictEqual(entry(atom("<id>1</id>", "xml:lang=\"de\"")).language, "de")
    assert.strictEqual(entry(rss("<guid>1</guid>", "<language>fr</language>")).language, "fr")
    assert.strictEqual(entry(rss("<guid>1</guid>"), { contentLanguage: "en" }).language, "en")
    assert.isUndefined(entry(rss("<guid>1</guid>"), { contentLanguage: "en, fr" }).language)
  })

  it("a point in an unusual reference system has its longitude first", () => {
    const where = (system: string) =>
      `<georss:where><gml:Point srsName="${system}"><gml:pos>10 20</gml:pos></gml:Point></georss:where>`
    assert.deepStrictEqual(entry(atom(where("EPSG:4326"))).points, [{ latitude: 10, longitude: 20 }])
    assert.deepStrictEqual(entry(atom(where("urn:ogc:def:crs:OGC:1.3:CRS84"))).points, [{
      latitude: 20,
      longitude: 10
    }])
  })
})

describe("dialects", () => {
  it("bytes may be a small part of a larger buffer", () => {
    for (let offset = 0; offset < 8; offset++) {
      for (let length = 0; length < 8; length++) {
        const part = new Uint8Array(16).fill(60).subarray(offset, offset + length)
        assert.strictEqual(readFeed(part)._tag, "NotFeed")
      }
    }
  })

  it("RDF: items beside the channel, with rdf:about as id", () => {
    const feed = read(
      "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns=\"http://purl.org/rss/1.0/\"><channel rdf:about=\"http://a.example/f\"><title>t</title></channel><item rdf:about=\"http://a.example/1\"><title>x</title></item></rdf:RDF>"
    )
    assert.deepStrictEqual([feed.version, feed.header.id, feed.entries[0]?.id], [
      "rss10",
      "http://a.example/f",
      "http://a.example/1"
    ])
  })

  it("JSON Feed: numbers as ids, both kinds of authors, authors of the feed for an item without authors", () => {
    const feed = read(JSON.stringify({
      version: "https://jsonfeed.org/version/1.1",
      title: "t",
      home_page_url: "https://a.example/",
      authors: [{ name: "Feed" }],
      items: [{ id: 7, url: "/7", content_text: "x", author: { name: "Old" }, authors: [{ name: "New" }] }, {
        id: "8",
        tags: ["a", "a", 1]
      }]
    }))
    assert.strictEqual(feed.version, "json11")
    assert.deepStrictEqual(feed.entries.map(({ id, authors }) => [id, authors?.map(({ name }) => name)]), [["7", [
      "New",
      "Old"
    ]], ["8", ["Feed"]]])
    assert.strictEqual(getPermalink(feed.entries[0] ?? {}), "https://a.example/7")
    assert.deepStrictEqual(feed.entries[1]?.categories, [{ term: "a" }, { term: "1" }])
  })

  it("Atom without its namespace", () => {
    assert.strictEqual(
      entry("<feed><title>t</title><entry><id>1</id><updated>2024-09-02T12:00:00Z</updated></entry></feed>").updated,
      Date.UTC(2024, 8, 2, 12)
    )
  })

  it.each([
    ["", "empty"],
    [" \n ", "empty"],
    ["<!DOCTYPE html><html><body><p>x</p></body></html>", "html"],
    ["<urlset><url><loc>http://a.example/</loc></url></urlset>", "xml"],
    ["{\"a\":1}", "json"],
    ["hello", "other"]
  ])("what is no feed says what it is: %j", (document, kind) => {
    const result = readFeed(new TextEncoder().encode(document))
    assert.strictEqual(result._tag === "NotFeed" ? result.kind : "feed", kind)
  })

  it.each([
    ["# Notes\n\nIt starts on <http://localhost:8080>, <CSS> or not.\n", "other", "neither XML nor HTML"],
    [
      "See <https://a.example/>:\n```\n<rss><channel><title>t</title></channel></rss>\n```",
      "other",
      "neither XML nor HTML"
    ],
    ["a < b and c > d", "other", "without markup"],
    ["PK\u0003\u0004\u0000<\u0000\u00ff\u00fe<ab>", "other", "neither XML nor HTML"],
    ["<https://a.example/>", "other", "neither XML nor HTML"],
    ["<urlset><url/></urlset>", "xml", "an XML document of <urlset>"],
    ["Warning: date()\n<?xml version=\"1.0\"?><übersicht/>", "xml", "an XML document of <übersicht>"],
    ["Warning: date()\n<html><body>", "html", "an HTML page"]
  ])("what is no feed is called what it is: %j is %s", (text, kind, reason) => {
    const result = readFeed(new TextEncoder().encode(text))
    if (result._tag === "Feed") return assert.fail("a feed")
    assert.strictEqual(result.kind, kind)
    assert.include(result.reason, reason)
  })
})
