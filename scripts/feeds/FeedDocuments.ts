import { nextInteger, pick, type Random } from "./Random.ts"

/** A document as publishers' software writes it, and the ids of its entries. */
export interface FeedDocument {
  readonly text: string
  readonly ids: ReadonlyArray<string>
}

export type Style = "rss" | "atom" | "rdf" | "podcast"

export const styles: ReadonlyArray<Style> = ["rss", "atom", "rdf", "podcast"]

/** Makes a feed. `bytes` is the approximate content per entry; blog posts have 1 to 2 kB. */
export const makeFeedDocument = (next: Random, style: Style, entries: number, bytes = 1500): FeedDocument => {
  const parts = Array.from({ length: entries }, (_, index) => entryWriters[style](next, entries - index, bytes))
  return {
    text: `${heads[style]}${parts.map(({ text }) => text).join("\n")}${tails[style]}`,
    ids: parts.map(({ id }) => id)
  }
}

interface Part {
  readonly text: string
  readonly id: string
}

const wordList = (
  "the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one you were her all " +
  "there would their we him been has when who will more no if out so said what up its about into than them can only other new some could time " +
  "kestrel wind field grass hover “quoted” café naïve — 2024 server release notes version update"
).split(" ")

const makeWords = (next: Random, count: number): string =>
  Array.from({ length: count }, () => pick(next, wordList)).join(" ")

/** HTML of a blog post: paragraphs with links, emphasis, pictures, lists and code. */
const makeHtml = (next: Random, bytes: number): string => {
  let text = ""
  while (text.length < bytes) text += pick(next, blockWriters)(next)
  return text
}

const blockWriters: ReadonlyArray<(next: Random) => string> = [
  (next) =>
    `<p>${makeWords(next, 40)} <a href="https://example.com/${nextInteger(next, 9999)}?a=1&amp;b=2">${
      makeWords(next, 3)
    }</a> ${makeWords(next, 20)}.</p>\n`,
  (next) =>
    `<p>${makeWords(next, 60)} <em>${makeWords(next, 2)}</em>, ${makeWords(next, 10)} &amp; ${
      makeWords(next, 5)
    }</p>\n`,
  (next) =>
    `<figure><img src="${nextInteger(next, 10) === 0 ? "" : "https://example.com"}/media/${
      nextInteger(next, 9999)
    }.jpg" alt="${makeWords(next, 4)}" width="640" height="480" /><figcaption>${
      makeWords(next, 6)
    }</figcaption></figure>\n`,
  (next) => `<ul><li>${makeWords(next, 8)}</li><li>${makeWords(next, 9)}</li><li>${makeWords(next, 7)}</li></ul>\n`,
  (next) => `<pre><code>if (a &lt; b) { ${makeWords(next, 6)} }</code></pre>\n`,
  (next) => `<h2>${makeWords(next, 4)}</h2>\n`
]

const escapeMarkup = (markup: string): string =>
  markup.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const padTwo = (value: number): string => String(value).padStart(2, "0")

const formatDay = (number: number): string => `2024-${padTwo(1 + (number >> 5) % 12)}-${padTwo(1 + number % 28)}`

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

const formatMailDate = (number: number): string =>
  `Mon, ${padTwo(1 + number % 28)} ${months[(number >> 5) % 12]} 2024 ${padTwo(number % 24)}:15:00 +0000`

const writeRssItem = (next: Random, number: number, bytes: number): Part => {
  const id = `https://example.com/?p=${number}`
  return {
    id,
    text: `  <item>
    <title>${makeWords(next, 6)} &#8211; ${makeWords(next, 2)}</title>
    <link>https://example.com/${formatDay(number)}/post-${number}/</link>
    <comments>https://example.com/${formatDay(number)}/post-${number}/#comments</comments>
    <dc:creator><![CDATA[${makeWords(next, 2)}]]></dc:creator>
    <pubDate>${formatMailDate(number)}</pubDate>
    <category><![CDATA[${makeWords(next, 1)}]]></category>
    <category><![CDATA[${makeWords(next, 2)}]]></category>
    <guid isPermaLink="false">${id}</guid>
    <description><![CDATA[${makeHtml(next, bytes / 5)} [&#8230;]]]></description>
    <content:encoded><![CDATA[${makeHtml(next, bytes)}]]></content:encoded>
    <wfw:commentRss>https://example.com/${formatDay(number)}/post-${number}/feed/</wfw:commentRss>
    <slash:comments>${nextInteger(next, 30)}</slash:comments>
  </item>`
  }
}

const writeAtomEntry = (next: Random, number: number, bytes: number): Part => {
  const id = `tag:example.org,2024:post-${number}`
  return {
    id,
    text: `  <entry>
    <id>${id}</id>
    <title type="html">${escapeMarkup(`${makeWords(next, 4)} <em>${makeWords(next, 1)}</em>`)}</title>
    <link rel="alternate" type="text/html" href="https://example.org/${number}"/>
    <link rel="replies" type="application/atom+xml" href="https://example.org/${number}/comments" thr:count="${
      nextInteger(next, 9)
    }"/>
    <published>${formatDay(number)}T10:00:00Z</published>
    <updated>${formatDay(number)}T10:${padTwo(number % 60)}:00Z</updated>
    <author><name>${makeWords(next, 2)}</name><uri>https://example.org/</uri></author>
    <category term="${makeWords(next, 1)}" scheme="https://example.org/tags"/>
    <summary>${makeWords(next, 30)}</summary>
    <content type="html">${escapeMarkup(makeHtml(next, bytes))}</content>
  </entry>`
  }
}

const writeRdfItem = (next: Random, number: number, bytes: number): Part => {
  const id = `http://example.net/archives/${number}.html`
  return {
    id,
    text: `<item rdf:about="${id}">
<title>${makeWords(next, 6)}</title>
<link>${id}</link>
<description>${makeWords(next, 30)}</description>
<content:encoded><![CDATA[${makeHtml(next, bytes)}]]></content:encoded>
<dc:subject>${makeWords(next, 1)}</dc:subject>
<dc:creator>${makeWords(next, 2)}</dc:creator>
<dc:date>${formatDay(number)}T10:00:00+09:00</dc:date>
</item>`
  }
}

const writePodcastItem = (next: Random, number: number, bytes: number): Part => {
  const id = `episode-${number}-${nextInteger(next, 1_000_000)}`
  return {
    id,
    text: `    <item>
      <title>${makeWords(next, 5)}</title>
      <itunes:title>${makeWords(next, 5)}</itunes:title>
      <description>${escapeMarkup(makeHtml(next, bytes))}</description>
      <guid isPermaLink="false">${id}</guid>
      <pubDate>${formatMailDate(number)}</pubDate>
      <enclosure url="https://cdn.example.com/audio/${number}.mp3" length="${
      nextInteger(next, 90_000_000)
    }" type="audio/mpeg"/>
      <itunes:duration>00:${padTwo(number % 60)}:12</itunes:duration>
      <itunes:image href="https://cdn.example.com/art/${number}.jpg"/>
      <itunes:episode>${number}</itunes:episode>
      <itunes:explicit>false</itunes:explicit>
      <media:content url="https://cdn.example.com/audio/${number}.mp3" type="audio/mpeg" medium="audio"><media:credit role="author">${
      makeWords(next, 2)
    }</media:credit></media:content>
    </item>`
  }
}

const entryWriters: { readonly [style in Style]: (next: Random, number: number, bytes: number) => Part } = {
  rss: writeRssItem,
  atom: writeAtomEntry,
  rdf: writeRdfItem,
  podcast: writePodcastItem
}

const heads: { readonly [style in Style]: string } = {
  rss: `<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"
  xmlns:content="http://purl.org/rss/1.0/modules/content/"
  xmlns:wfw="http://wellformedweb.org/CommentAPI/"
  xmlns:dc="http://purl.org/dc/elements/1.1/"
  xmlns:atom="http://www.w3.org/2005/Atom"
  xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"
  xmlns:slash="http://purl.org/rss/1.0/modules/slash/">
<channel>
  <title>Example</title>
  <atom:link href="https://example.com/feed/" rel="self" type="application/rss+xml" />
  <link>https://example.com</link>
  <description>An example</description>
  <lastBuildDate>Mon, 02 Sep 2024 12:00:00 +0000</lastBuildDate>
  <language>en-US</language>
  <sy:updatePeriod>hourly</sy:updatePeriod>
  <sy:updateFrequency>1</sy:updateFrequency>
  <generator>https://wordpress.org/?v=6.6</generator>
`,
  atom: `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:thr="http://purl.org/syndication/thread/1.0" xml:lang="en">
  <id>tag:example.org,2024:feed</id>
  <title>Example</title>
  <updated>2024-09-02T12:00:00Z</updated>
  <link rel="self" type="application/atom+xml" href="https://example.org/feed.atom"/>
  <link rel="alternate" type="text/html" href="https://example.org/"/>
  <author><name>Example</name></author>
`,
  rdf: `<?xml version="1.0" encoding="utf-8"?>
<rdf:RDF xmlns="http://purl.org/rss/1.0/" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/" xml:lang="ja">
<channel rdf:about="http://example.net/index.rdf">
<title>Example</title>
<link>http://example.net/</link>
<description></description>
</channel>
`,
  podcast: `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:media="http://search.yahoo.com/mrss/">
  <channel>
    <title>Example Podcast</title>
    <link>https://podcast.example.com</link>
    <language>en</language>
    <itunes:author>Example</itunes:author>
    <itunes:category text="Technology"><itunes:category text="Podcasting"/></itunes:category>
    <itunes:owner><itunes:name>Example</itunes:name><itunes:email>podcast@example.com</itunes:email></itunes:owner>
`
}

const tails: { readonly [style in Style]: string } = {
  rss: "\n</channel>\n</rss>\n",
  atom: "\n</feed>\n",
  rdf: "\n</rdf:RDF>\n",
  podcast: "\n  </channel>\n</rss>\n"
}
