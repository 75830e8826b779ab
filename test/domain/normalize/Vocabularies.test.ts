import { assert, describe, it } from "@effect/vitest"
import type { RawEntry } from "#domain/feed/EntryId.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import { type RawFeed, readFeed } from "#domain/normalize/ReadFeed.ts"

const NAMESPACES = Object.entries({
  dc: "http://purl.org/dc/elements/1.1/",
  dcterms: "http://purl.org/dc/terms/",
  content: "http://purl.org/rss/1.0/modules/content/",
  media: "http://search.yahoo.com/mrss/",
  itunes: "http://www.itunes.com/dtds/podcast-1.0.dtd",
  georss: "http://www.georss.org/georss",
  geo: "http://www.w3.org/2003/01/geo/wgs84_pos#",
  gml: "http://www.opengis.net/gml",
  slash: "http://purl.org/rss/1.0/modules/slash/",
  thr: "http://purl.org/syndication/thread/1.0",
  wfw: "http://wellformedweb.org/CommentAPI/",
  activity: "http://activitystrea.ms/spec/1.0/",
  sy: "http://purl.org/rss/1.0/modules/syndication/",
  creativeCommons: "http://backend.userland.com/creativeCommonsRssModule",
  cc: "http://web.resource.org/cc/",
  podcast: "https://podcastindex.org/namespace/1.0",
  feedburner: "http://rssnamespace.org/feedburner/ext/1.0",
  xhtml: "http://www.w3.org/1999/xhtml",
  atom: "http://www.w3.org/2005/Atom",
  source: "http://source.scripting.com/",
  enc: "http://purl.oclc.org/net/rss_2.0/enc#",
  rdf: "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
}).map(([prefix, uri]) => `xmlns:${prefix}="${uri}"`).join(" ")

const read = (document: string): RawFeed => {
  const result = readFeed(new TextEncoder().encode(document))
  if (result._tag === "NotFeed") throw new Error(result.reason)
  return result.feed
}

const item = (markup: string): RawEntry =>
  read(`<rss version="2.0" ${NAMESPACES}><channel><title>t</title><item>${markup}</item></channel></rss>`).entries[0] ??
    {}

const channel = (markup: string): FeedHeader =>
  read(`<rss version="2.0" ${NAMESPACES}><channel><title>t</title>${markup}</channel></rss>`).header

const entry = (markup: string): RawEntry =>
  read(`<feed xmlns="http://www.w3.org/2005/Atom" ${NAMESPACES}><title>t</title><entry>${markup}</entry></feed>`)
    .entries[0] ?? {}

const html = (value: string) => ({ value, type: "html" })
const text = (value: string) => ({ value, type: "text" })

/** The guests in feeds, each as its publishers use it. */
describe("namespaces", () => {
  it("dc: persons, dates and categories of RSS 1.0", () => {
    assert.deepStrictEqual(
      item(
        "<dc:title>x</dc:title><dc:creator>Jane</dc:creator><dc:subject>a</dc:subject><dc:subject>b</dc:subject><dc:rights>free</dc:rights><dc:language>nl</dc:language>"
      ),
      {
        title: text("x"),
        authors: [{ name: "Jane" }],
        categories: [{ term: "a" }, { term: "b" }],
        language: "nl",
        rights: text("free")
      }
    )
  })

  it("dcterms: separate dates", () => {
    const { published, updated } = item(
      "<dcterms:issued>2024-09-02T12:00:00Z</dcterms:issued><dcterms:modified>2024-09-03T12:00:00Z</dcterms:modified>"
    )
    assert.deepStrictEqual([published, updated], [Date.UTC(2024, 8, 2, 12), Date.UTC(2024, 8, 3, 12)])
  })

  it("media: a group has one video in several formats, with title, description and pictures", () => {
    const { title, media } = item(
      "<media:group><media:title>Talk</media:title><media:description>Words</media:description><media:content url=\"http://a.example/1.mp4\" type=\"video/mp4\" width=\"640\" fileSize=\"5\"/><media:content url=\"http://a.example/1.webm\" type=\"video/webm\"/><media:thumbnail url=\"http://a.example/1.jpg\"/></media:group>"
    )
    assert.deepStrictEqual([title, media], [text("Talk"), {
      title: "Talk",
      description: "Words",
      contents: [
        { url: "http://a.example/1.mp4", type: "video/mp4", width: 640, fileSize: 5 },
        { url: "http://a.example/1.webm", type: "video/webm" }
      ],
      thumbnails: [{ url: "http://a.example/1.jpg" }]
    }])
  })

  it("itunes: an episode, and nested categories of a podcast", () => {
    const { itunes, authors } = item(
      "<itunes:author>Jane</itunes:author><itunes:duration>12:34</itunes:duration><itunes:explicit>clean</itunes:explicit><itunes:episode>7</itunes:episode>"
    )
    assert.deepStrictEqual([itunes, authors], [
      { author: "Jane", duration: "12:34", explicit: false, episode: "7" },
      [{ name: "Jane" }]
    ])
    assert.deepStrictEqual(
      channel(
        "<itunes:category text=\"Society\"><itunes:category text=\"History\"/></itunes:category><itunes:image href=\"http://a.example/art.jpg\"/>"
      ).itunes,
      { categories: ["Society", "History"], image: "http://a.example/art.jpg" }
    )
  })

  it.each([
    ["georss:point", "<georss:point>45.2 -71.9</georss:point>"],
    ["geo: two halves", "<geo:lat>45.2</geo:lat><geo:long>-71.9</geo:long>"],
    ["geo: a point", "<geo:Point><geo:lat>45.2</geo:lat><geo:long>-71.9</geo:long></geo:Point>"],
    ["gml in georss", "<georss:where><gml:Point><gml:pos>45.2 -71.9</gml:pos></gml:Point></georss:where>"]
  ])("places: %s", (_name, markup) => {
    assert.deepStrictEqual(item(markup).points, [{ latitude: 45.2, longitude: -71.9 }])
  })

  it("gml: a polygon with nested positions", () => {
    assert.deepStrictEqual(
      item(
        "<georss:where><gml:Polygon><gml:exterior><gml:LinearRing><gml:posList>1 2 3 4 1 2</gml:posList></gml:LinearRing></gml:exterior></gml:Polygon></georss:where>"
      ).shape,
      { type: "Polygon", coordinates: [[2, 1], [4, 3], [2, 1]] }
    )
  })

  it("slash, wfw, thr: number and feed of comments, and the answered entry", () => {
    const found = item(
      "<slash:comments>12</slash:comments><wfw:commentRss>http://a.example/1/feed</wfw:commentRss><thr:in-reply-to ref=\"tag:1\" href=\"http://a.example/0\"/>"
    )
    assert.deepStrictEqual(found, {
      commentCount: 12,
      commentsFeed: "http://a.example/1/feed",
      inReplyTo: [{ ref: "tag:1", href: "http://a.example/0" }]
    })
  })

  it("activity: actor, verb and object", () => {
    const { verbs, objects } = entry(
      "<activity:verb>http://activitystrea.ms/schema/1.0/post</activity:verb><activity:object><activity:object-type>http://activitystrea.ms/schema/1.0/note</activity:object-type><id>1</id><title>Note</title></activity:object>"
    )
    assert.deepStrictEqual([verbs, objects], [["http://activitystrea.ms/schema/1.0/post"], [{
      objectTypes: ["http://activitystrea.ms/schema/1.0/note"],
      id: "1",
      title: "Note"
    }]])
  })

  it("sy: polling interval", () => {
    assert.deepStrictEqual(
      channel("<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency>").hints,
      { updatePeriod: "hourly", updateFrequency: 2 }
    )
  })

  it("creativeCommons and cc: a license is a text or an attribute", () => {
    assert.strictEqual(
      item("<creativeCommons:license>http://cc.example/by</creativeCommons:license>").license,
      "http://cc.example/by"
    )
    assert.strictEqual(item("<cc:license rdf:resource=\"http://cc.example/by\"/>").license, "http://cc.example/by")
  })

  it("podcast and source: values under their names", () => {
    assert.deepStrictEqual(
      item(
        "<podcast:transcript url=\"http://a.example/1.srt\" type=\"text/srt\"/><source:markdown># Hi</source:markdown>"
      ).extensions,
      { podcast: { transcript: "http://a.example/1.srt" }, source: { markdown: "# Hi" } }
    )
  })

  it("feedburner: the original link", () => {
    assert.strictEqual(
      item("<feedburner:origLink>http://a.example/1</feedburner:origLink>").originalLink,
      "http://a.example/1"
    )
  })

  it("xhtml: a body beside the description", () => {
    const { content, summary } = item(
      "<description>short</description><xhtml:body><xhtml:p>a <xhtml:b>b</xhtml:b></xhtml:p></xhtml:body>"
    )
    assert.deepStrictEqual([content, summary], [[{ value: "<p>a <b>b</b></p>", type: "xhtml" }], html("short")])
  })

  it("atom in RSS: links, persons and dates without an element of RSS", () => {
    const { links, authors, updated } = item(
      "<atom:link rel=\"related\" href=\"http://a.example/r\"/><atom:author><atom:name>Jane</atom:name></atom:author><atom:updated>2024-09-02T12:00:00Z</atom:updated>"
    )
    assert.deepStrictEqual([links, authors, updated], [
      [{ href: "http://a.example/r", rel: "related" }],
      [{ name: "Jane" }],
      Date.UTC(2024, 8, 2, 12)
    ])
  })

  it("source of Atom: the original feed of an aggregated entry", () => {
    assert.deepStrictEqual(
      entry("<source><id>urn:f</id><title>Origin</title><updated>2024-09-02T12:00:00Z</updated></source>").source,
      { id: "urn:f", title: text("Origin"), updated: Date.UTC(2024, 8, 2, 12) }
    )
  })

  it("enc: enclosures of RSS 1.0, as in Craigslist's feeds", () => {
    assert.deepStrictEqual(item("<enc:enclosure rdf:resource=\"http://a.example/1.jpg\" type=\"image/jpeg\"/>").links, [
      {
        href: "http://a.example/1.jpg",
        rel: "enclosure",
        type: "image/jpeg"
      }
    ])
  })

  it("content:encoded keeps its markup", () => {
    assert.deepStrictEqual(item("<content:encoded><![CDATA[<p>x</p>]]></content:encoded>").content, [html("<p>x</p>")])
  })
})

describe("dialects", () => {
  const ITEM = "<item><title>x</title><link>http://a.example/1</link></item>"
  const CHANNEL = "<title>t</title><link>http://a.example/</link>"
  const rdf = (namespace: string) =>
    `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="${namespace}"><channel>${CHANNEL}</channel>${ITEM}</rdf:RDF>`

  it.each([
    ["rss091u", `<rss version="0.91"><channel>${CHANNEL}${ITEM}</channel></rss>`],
    ["rss092", `<rss version="0.92"><channel>${CHANNEL}${ITEM}</channel></rss>`],
    ["rss20", `<rss version="2.0"><channel>${CHANNEL}${ITEM}</channel></rss>`],
    ["rss20", `<rss version="2.0">${ITEM}</rss>`],
    ["rss090", rdf("http://my.netscape.com/rdf/simple/0.9/")],
    ["rss10", rdf("http://purl.org/rss/1.0/")],
    [
      "atom03",
      "<feed version=\"0.3\" xmlns=\"http://purl.org/atom/ns#\"><title>t</title><entry><title>x</title><link rel=\"alternate\" href=\"http://a.example/1\"/></entry></feed>"
    ],
    [
      "atom10",
      "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>t</title><entry><title>x</title><link href=\"http://a.example/1\"/></entry></feed>"
    ],
    [
      "json1",
      "{\"version\":\"https://jsonfeed.org/version/1\",\"title\":\"t\",\"items\":[{\"title\":\"x\",\"url\":\"http://a.example/1\"}]}"
    ],
    [
      "json11",
      "{\"version\":\"https://jsonfeed.org/version/1.1\",\"title\":\"t\",\"items\":[{\"title\":\"x\",\"url\":\"http://a.example/1\"}]}"
    ]
  ])("%s", (version, document) => {
    const feed = read(document)
    assert.deepStrictEqual([feed.version, feed.entries], [version, [{
      title: text("x"),
      links: [{ href: "http://a.example/1", rel: "alternate" }]
    }]])
  })

  it("Atom 0.3: modified, issued and created", () => {
    const feed = read(
      "<feed version=\"0.3\" xmlns=\"http://purl.org/atom/ns#\"><entry><modified>2003-12-03T00:00:00Z</modified><issued>2003-12-02T00:00:00Z</issued><created>2003-12-01T00:00:00Z</created></entry></feed>"
    )
    assert.deepStrictEqual(feed.entries, [{
      published: Date.UTC(2003, 11, 2),
      updated: Date.UTC(2003, 11, 3),
      created: Date.UTC(2003, 11, 1)
    }])
  })

  it("JSON Feed: URLs of an author are relative to the feed", () => {
    const feed = read(JSON.stringify({
      version: "https://jsonfeed.org/version/1.1",
      title: "t",
      feed_url: "https://a.example/feed.json",
      items: [{ id: "1", authors: [{ name: "Jane", url: "/jane", avatar: "jane.png" }] }]
    }))
    assert.deepStrictEqual(feed.entries[0]?.authors, [{
      name: "Jane",
      uri: "https://a.example/jane",
      links: [{ href: "https://a.example/jane.png", rel: "avatar" }]
    }])
  })

  it("a name with links, as in arXiv's feeds", () => {
    assert.deepStrictEqual(
      item("<dc:creator>&lt;a href=\"http://a.example/j\"&gt;Jane&lt;/a&gt;, Bob</dc:creator>").authors,
      [
        { name: "Jane, Bob" }
      ]
    )
  })
})
