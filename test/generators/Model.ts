import fc from "fast-check"
import type {
  ActivityObject,
  Category,
  Entry,
  Generator,
  Link,
  Person,
  Point,
  Source,
  Text
} from "#domain/feed/Entry.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { Status } from "#domain/poll/Status.ts"

/**
 * Generators of the model's values, as a reader could give.
 *
 * `words` generates every string of a publisher. URLs, types and languages have their own generators.
 */
export const model = (words: fc.Arbitrary<string>) => {
  const moment = fc.integer({ min: Date.UTC(1971, 0), max: Date.UTC(2100, 0) }).map((at) => at - at % 1000)
  const url = fc.tuple(fc.domain(), fc.webPath(), fc.constantFrom("", "?a=1&b=%C3%BC")).map(([host, path, query]) =>
    `https://${host}${path === "" ? "/" : path}${query}`
  )
  const mime = fc.constantFrom("text/html", "application/atom+xml", "image/png", "audio/mpeg")
  const language = fc.constantFrom("en", "en-US", "de", "zh-Hant")
  const many = <A>(one: fc.Arbitrary<A>) => fc.array(one, { minLength: 1, maxLength: 3 })

  /** Without `@`, because a reader splits a name that contains an address. */
  const name = words.map((word) => word.replaceAll("@", "at"))

  const text: fc.Arbitrary<Text> = fc.record({ value: words, type: fc.constantFrom("text", "html") })
  const link: fc.Arbitrary<Link> = fc.record(
    {
      href: url,
      rel: fc.constantFrom("alternate", "replies", "enclosure", "related", "via"),
      type: mime,
      title: words,
      hreflang: language,
      length: fc.nat()
    },
    { requiredKeys: ["href", "rel"] }
  )
  const links = fc.uniqueArray(link, {
    minLength: 1,
    maxLength: 3,
    selector: ({ rel, href, type }) => `${rel} ${href} ${type}`
  })
  const person: fc.Arbitrary<Person> = fc.record(
    {
      name,
      email: fc.emailAddress(),
      uri: url,
      id: words,
      title: words,
      objectTypes: many(url),
      links
    },
    { requiredKeys: ["name"] }
  )
  const persons = fc.uniqueArray(person, { minLength: 1, maxLength: 3, selector: (one) => one.name })
  const category: fc.Arbitrary<Category> = fc.record({ term: words, scheme: url, label: words }, {
    requiredKeys: ["term"]
  })
  const generator: fc.Arbitrary<Generator> = fc.record({ name: words, uri: url, version: words }, {
    requiredKeys: ["name"]
  })
  const degrees = (most: number) =>
    fc.integer({ min: -most * 1000, max: most * 1000 }).map((thousandths) => thousandths / 1000)
  const point: fc.Arbitrary<Point> = fc.record({ latitude: degrees(90), longitude: degrees(180) })
  const object: fc.Arbitrary<ActivityObject> = fc.record(
    {
      objectTypes: many(url),
      id: words,
      title: words,
      published: moment,
      updated: moment,
      content: text,
      summary: text,
      authors: persons,
      categories: many(category),
      links
    },
    { requiredKeys: ["id"] }
  )
  const source: fc.Arbitrary<Source> = fc.record(
    {
      id: words,
      title: text,
      subtitle: text,
      updated: moment,
      rights: text,
      links,
      authors: persons,
      contributors: persons,
      categories: many(category),
      icon: url,
      logo: url,
      generator
    },
    { requiredKeys: ["id"] }
  )
  const entry: fc.Arbitrary<Entry> = fc.record(
    {
      id: words,
      title: text,
      summary: text,
      content: fc.array(text, { minLength: 1, maxLength: 1 }),
      links,
      published: moment,
      updated: moment,
      authors: persons,
      contributors: persons,
      categories: many(category),
      language,
      rights: text,
      source,
      points: many(point),
      verbs: many(url),
      objects: many(object)
    },
    { requiredKeys: ["id"] }
  )
  const header: fc.Arbitrary<FeedHeader> = fc.record(
    {
      id: words,
      title: text,
      subtitle: text,
      links,
      updated: moment,
      published: moment,
      rights: text,
      authors: persons,
      contributors: persons,
      categories: many(category),
      generator,
      icon: url,
      logo: url
    },
    { requiredKeys: ["id", "title"] }
  )
  const status: fc.Arbitrary<Status> = fc.record(
    {
      feed: url,
      title: words,
      code: fc.integer({ min: 0, max: 599 }),
      http: words,
      nextFetch: moment,
      period: fc.integer({ min: 60, max: 86_400 }),
      lastFetch: moment,
      lastParse: moment,
      lastMaintenanceAt: moment,
      entriesCountSinceLastMaintenance: fc.nat(),
      velocity: fc.nat(),
      popularity: fc.nat(),
      bozoRank: fc.constantFrom(0, 0.25, 1),
      generatedIds: fc.boolean()
    },
    { requiredKeys: ["feed"] }
  )
  return { entry, header, language, status }
}

/** Texts of a person: any script, with characters of markup, and without white space around. */
export const written: fc.Arbitrary<string> = fc.array(
  fc.oneof(
    fc.constantFrom("<", ">", "&", "&amp;", "\"", "'", "]]>", "<b>", "é", "дом", "家", "😀", " ", "\n", "\t"),
    fc.string({ unit: "grapheme-ascii" })
  ),
  { minLength: 1, maxLength: 8 }
).map((parts) => parts.join("").trim()).filter((value) => value !== "")

/** Any string, with control characters, lone surrogates and markup. */
export const hostile: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(
    fc.constantFrom(
      "<",
      ">",
      "&",
      "\"",
      "'",
      "]]>",
      "\0",
      "\b",
      "\f",
      "\x1b",
      "\r",
      "\n",
      "\t",
      "\ud800",
      "\udc00",
      "\ufffe",
      "\uffff",
      "a",
      "😀"
    )
  )
    .map((parts) => parts.join(""))
)
