import { assert, describe, it } from "@effect/vitest"
import type { RawEntry } from "#domain/feed/EntryId.ts"
import { getLinks, getPermalink } from "#domain/feed/Feed.ts"
import { type RawFeed, readFeed, type ReadOptions } from "#domain/normalize/ReadFeed.ts"

const namespaces =
  "xmlns:itunes=\"http://www.itunes.com/dtds/podcast-1.0.dtd\" xmlns:media=\"http://search.yahoo.com/mrss/\" " +
  "xmlns:dc=\"http://purl.org/dc/elements/1.1/\" xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" " +
  "xmlns:content=\"http://purl.org/rss/1.0/modules/content/\""

const read = (document: string, options: ReadOptions = {}): RawFeed => {
  const result = readFeed(new TextEncoder().encode(document), options)
  if (result._tag === "NotFeed") throw new Error(result.reason)
  return result.feed
}

const item = (markup: string, channel = ""): RawEntry =>
  read(`<rss version="2.0" ${namespaces}><channel>${channel}<item>${markup}</item></channel></rss>`).entries[0] ?? {}

const url = "https://a.example/feed.xml"

/** Values of an entry that stand in another element than usual. */
describe("fallbacks of an entry", () => {
  it.each([
    ["<itunes:image href=\"https://a.example/1.png\"/>"],
    ["<itunes:image>https://a.example/1.png</itunes:image>"],
    ["<image><url>https://a.example/1.png</url></image>"],
    ["<image>https://a.example/1.png</image>"],
    ["<image src=\"https://a.example/1.png\"/>"],
    ["<image><img src=\"https://a.example/1.png\"/></image>"],
    ["<image rdf:resource=\"https://a.example/1.png\"/>"],
    ["<enclosure url=\"https://a.example/1.png\" type=\"image/png\"/>"],
    ["<media:content url=\"https://a.example/1.png\" medium=\"image\"/>"],
    ["<media:group><media:content url=\"https://a.example/1.png\" type=\"image/png\"/></media:group>"],
    ["<media:thumbnail url=\"https://a.example/1.png\"/>"],
    ["<media:thumbnail url=\"https://a.example/2.png\"/><itunes:image href=\"https://a.example/1.png\"/>"],
    ["<itunes:image href=\"https://a.example/2.png\"/><image><url>https://a.example/1.png</url></image>"],
    ["<image><title>no address</title></image><itunes:image href=\"https://a.example/1.png\"/>"]
  ])("image: %s", (markup) => {
    assert.strictEqual(item(markup).image?.url, "https://a.example/1.png")
  })

  it("the thumbnail of a channel is no image of the channel", () => {
    const document =
      `<rss ${namespaces}><channel><media:thumbnail url="https://a.example/1.png"/><item/></channel></rss>`
    assert.isUndefined(read(document).header.image)
  })

  it.each([
    ["<media:peerLink type=\"application/x-bittorrent\" href=\"https://a.example/f\"/>"],
    ["<media:group><media:peerLink type=\"application/x-bittorrent\" href=\"https://a.example/f\"/></media:group>"],
    ["<media:content><media:peerLink type=\"application/x-bittorrent\" url=\"https://a.example/f\"/></media:content>"]
  ])("enclosure: %s", (markup) => {
    assert.deepStrictEqual(getLinks(item(markup).links, "enclosure"), [
      { href: "https://a.example/f", rel: "enclosure", type: "application/x-bittorrent" }
    ])
  })

  it.each([
    ["<media:group><media:description>One\ntwo</media:description></media:group>", "One\ntwo", "text"],
    ["<media:description type=\"html\">&lt;b&gt;One&lt;/b&gt;</media:description>", "<b>One</b>", "html"],
    ["<itunes:subtitle>One</itunes:subtitle>", "One", "html"],
    ["<itunes:subtitle>Two</itunes:subtitle><itunes:summary>One</itunes:summary>", "One", "html"],
    ["<itunes:subtitle>One</itunes:subtitle><content:encoded>Two</content:encoded>", "One", "html"],
    ["<media:description>Two</media:description><itunes:subtitle>One</itunes:subtitle>", "One", "html"],
    ["<itunes:subtitle>Two</itunes:subtitle><description>One</description>", "One", "html"],
    ["<media:description>Two</media:description><description>One</description>", "One", "html"]
  ])("summary: %s", (markup, value, type) => {
    assert.deepStrictEqual(item(markup).summary, { value, type })
  })

  it("a description of the media or of iTunes adds nothing to the same content", () => {
    assert.isUndefined(item("<media:description>One</media:description><content:encoded>Two</content:encoded>").summary)
    assert.isUndefined(item("<itunes:summary>One</itunes:summary><content:encoded>One</content:encoded>").summary)
  })

  it.each([
    ["<category>a</category><category>a</category><dc:subject>a</dc:subject>", [{ term: "a" }]],
    ["<category domain=\"s\">a</category><category>a</category>", [{ term: "a", scheme: "s" }, { term: "a" }]],
    [
      "<media:category label=\"A\" scheme=\"s\">a</media:category><media:category label=\"B\" scheme=\"s\">a</media:category>" +
      "<media:category scheme=\"s\">a</media:category>",
      [{ term: "a", scheme: "s", label: "A" }, { term: "a", scheme: "s", label: "B" }]
    ],
    ["<tags>one, two ,,one</tags><category>two</category>", [{ term: "one" }, { term: "two" }]]
  ])("categories: %s", (markup, categories) => {
    assert.deepStrictEqual(item(markup).categories, categories)
  })
})

describe("image of RSS 1.0", () => {
  const rdf = (resource: string, image: string): string =>
    `<rdf:RDF ${namespaces} xmlns="http://purl.org/rss/1.0/"><channel rdf:about="https://a.example/"><image rdf:resource="${resource}"/>` +
    `</channel>${image}<item rdf:about="https://a.example/1"/></rdf:RDF>`

  it("is the resource of the channel", () => {
    assert.deepStrictEqual(read(rdf("/logo.png", ""), { url }).header.image, { url: "https://a.example/logo.png" })
  })

  it("comes before the image of iTunes", () => {
    const image = "<itunes:image href=\"https://a.example/2.png\"/>"
    assert.strictEqual(read(rdf("/logo.png", image), { url }).header.image?.url, "https://a.example/logo.png")
  })

  it("has the URL of the image that the channel names", () => {
    const image =
      "<image rdf:about=\"https://a.example/#i\"><title>I</title><url>https://a.example/logo.png</url></image>"
    assert.deepStrictEqual(read(rdf("https://a.example/#i", image)).header.image, {
      url: "https://a.example/logo.png",
      title: "I"
    })
  })
})

describe("base of relative references", () => {
  const rss = "<rss><channel><link>site</link><item><link>1</link></item></channel></rss>"
  const links = (contentLocation: string) => {
    const { entries, header } = read(rss, { url, contentLocation })
    return [getPermalink(header), getPermalink(entries[0] ?? {})]
  }

  it.each([
    ["https://b.example/x/", "https://b.example/x/"],
    ["/x/feed.xml", "https://a.example/x/"],
    ["x/", "https://a.example/x/"],
    ["javascript:alert(1)", "https://a.example/"],
    ["file:///srv/feed.xml", "https://a.example/"],
    ["http://localhost:3000/x/", "https://a.example/"],
    ["http://", "https://a.example/"],
    ["", "https://a.example/"]
  ])("Content-Location: %s", (contentLocation, base) => {
    assert.deepStrictEqual(links(contentLocation), [`${base}site`, `${base}1`])
  })

  it.each([
    ["/feed", "https://b.example/feed"],
    ["tag:a.example,2005:/feed", "tag:a.example,2005:/feed"],
    ["one two/three", "one two/three"],
    ["feed", "feed"]
  ])("id of the feed: %s; ids of entries stay as written", (id, resolved) => {
    const atom =
      `<feed xmlns="http://www.w3.org/2005/Atom"><id>${id}</id><link href="https://b.example/"/><entry><id>/1</id></entry></feed>`
    const { entries, header } = read(atom, { url, contentLocation: "https://b.example/" })
    assert.deepStrictEqual([header.id, entries[0]?.id], [resolved, "/1"])
    assert.strictEqual(read(atom).header.id, id)
  })

  it("id of the feed in RSS 1.0 and JSON Feed", () => {
    const rdf = `<rdf:RDF ${namespaces} xmlns="http://purl.org/rss/1.0/"><channel rdf:about="/feed"/><item/></rdf:RDF>`
    assert.strictEqual(read(rdf, { url }).header.id, "https://a.example/feed")
    const json = JSON.stringify({ title: "t", feed_url: "/feed.json", home_page_url: "https://a.example/", items: [] })
    assert.strictEqual(read(json, { url }).header.id, "https://a.example/feed.json")
  })

  it("the self link of an Atom feed is an Atom document", () => {
    const atom = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><link rel=\"self\" href=\"https://a.example/\"/></feed>"
    assert.deepStrictEqual(read(atom).header.links, [{
      href: "https://a.example/",
      rel: "self",
      type: "application/atom+xml"
    }])
  })
})

describe("version of a JSON Feed", () => {
  const items = [{ id: "1", content_text: "x" }]

  it.each([
    ["https://jsonfeed.org/version/1.1 ", items, "json11"],
    ["http://www.jsonfeed.org/version/1", [], "json1"],
    ["JSON Feed 1.1", items, "json11"],
    ["1.1", items, "json11"],
    ["v1", items, "json1"],
    [1.1, items, "json11"],
    [1, [{ url: "https://a.example/1", date_published: "2026-01-02" }], "json1"],
    ["1.0", [], "json1"]
  ])("%s", (version, list, expected) => {
    assert.strictEqual(read(JSON.stringify({ version, title: "t", items: list })).version, expected)
  })

  it.each([
    [{ version: "1.0", title: "t", items: [{ id: 1, name: "x" }] }],
    [{ version: "2024-01-01", title: "t", items }],
    [{ version: "1.0", items: [] }],
    [{ items }]
  ])("%j is another JSON document", (document) => {
    const result = readFeed(new TextEncoder().encode(JSON.stringify(document)))
    assert.deepStrictEqual(result._tag === "NotFeed" && result.kind, "json")
  })

  it("a feed has the date of its newest item", () => {
    const dated = [
      { id: "1", content_text: "x", date_published: "2026-01-02T00:00:00Z" },
      { id: "2", content_text: "x", date_published: "2026-01-01T00:00:00Z", date_modified: "2026-01-03T00:00:00Z" },
      { id: "3", content_text: "x" }
    ]
    assert.strictEqual(read(JSON.stringify({ version: "1.1", items: dated })).header.updated, Date.UTC(2026, 0, 3))
    assert.isUndefined(read(JSON.stringify({ version: "1.1", items })).header.updated)
  })
})

describe("numbers of a JSON Feed", () => {
  it("ids beyond 2^53 stay apart", () => {
    const items = ["1610521604143693812", "1610521604143693815", "1.610521604143693819e18", "7"].map((id) =>
      `{"id":${id},"content_text":"x","tags":[${id}]}`
    )
    const { entries } = read(`{"version":"https://jsonfeed.org/version/1.1","items":[${items.join(",")}]}`)
    const ids = ["1610521604143693812", "1610521604143693815", "1.610521604143693819e18", "7"]
    assert.deepStrictEqual(entries.map(({ id }) => id), ids)
    assert.deepStrictEqual(entries.map(({ categories }) => categories?.[0]?.term), ids)
  })
})
