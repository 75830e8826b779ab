import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import type { Entry, Person, Source, Text } from "#domain/feed/Entry.ts"
import { assignIds } from "#domain/feed/EntryId.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import { readFeed } from "#domain/normalize/ReadFeed.ts"
import { renderAtom } from "#domain/render/AtomXml.ts"
import { completeLinks, getEntryLinks } from "#domain/render/EntryFields.ts"
import { model, written } from "#test/generators/Model.ts"

const EXT = "http://ext.example/ns"

const readBack = (header: FeedHeader, entries: ReadonlyArray<Entry>) => {
  const atom = renderAtom({
    status: { feed: "https://feed.example/rss", title: "Not the title" },
    header,
    entries,
    extNamespace: EXT
  })
  const read = readFeed(new TextEncoder().encode(atom))
  if (read._tag === "NotFeed") throw new Error(read.reason)
  return { ...read.feed, entries: assignIds(read.feed.entries, undefined).entries }
}

/** A text in a language says so on itself, whether it was said there or around it. */
const spoken = (text: Text, language: string | undefined): Text => ({
  ...text,
  ...language === undefined ? {} : { language }
})

const spokenObjects = ({ objects }: Entry, language: string | undefined): Entry["objects"] =>
  objects?.map((object) => ({
    ...object,
    ...object.content === undefined ? {} : { content: spoken(object.content, language) },
    ...object.summary === undefined ? {} : { summary: spoken(object.summary, language) }
  }))

const spokenSource = (source: Source, language: string | undefined): Source => ({
  ...source,
  ...language === undefined ? {} : { language },
  ...source.title === undefined ? {} : { title: spoken(source.title, language) },
  ...source.subtitle === undefined ? {} : { subtitle: spoken(source.subtitle, language) },
  ...source.rights === undefined ? {} : { rights: spoken(source.rights, language) }
})

const defined = <A extends object>(value: A): A =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as A

/** What a reader must make of an entry: with links as sent, and with the authors that it inherits. */
const expected = (entry: Entry, authors: ReadonlyArray<Person> | undefined, around: string | undefined): Entry => {
  const language = entry.language ?? around
  const links = getEntryLinks(entry)
  return defined({
    ...entry,
    language,
    links: links.length === 0 ? undefined : links,
    authors: entry.authors ?? entry.source?.authors ?? authors,
    title: entry.title && spoken(entry.title, language),
    summary: entry.summary && spoken(entry.summary, language),
    content: entry.content?.map((text) => spoken(text, language)),
    rights: entry.rights && spoken(entry.rights, language),
    objects: spokenObjects(entry, language),
    source: entry.source && spokenSource(entry.source, language)
  }) as Entry
}

describe("a rendered Atom document", () => {
  const { entry, header, language } = model(written)

  it("is read back as the same entries", () => {
    const entries = fc.uniqueArray(entry, { maxLength: 3, selector: ({ id }) => id })
    fc.assert(
      fc.property(header, entries, fc.option(language, { nil: undefined }), (header, entries, around) => {
        const read = readBack(defined({ ...header, language: around }) as FeedHeader, entries)
        const bare = read.entries.map(({ comments, commentsFeed, ...rest }) => rest)
        assert.deepStrictEqual(bare, entries.map((one) => expected(one, header.authors, around)))
        assert.deepStrictEqual(read.repairs, [])
      }),
      { numRuns: 300 }
    )
  })

  it("is read back as the same header", () => {
    fc.assert(fc.property(header, (header) => {
      assert.deepStrictEqual(readBack(header, []).header, {
        ...header,
        ...header.links && { links: completeLinks(header.links, header.title) }
      })
    }))
  })

  it("renders to the same bytes again", () => {
    fc.assert(fc.property(header, entry, (header, entry) => {
      const once = readBack(header, [entry])
      const twice = readBack(once.header, once.entries)
      assert.deepStrictEqual(twice, once)
    }))
  })

  it("keeps comments in their places", () => {
    const comments = "https://a.example/1#comments"
    const commentsFeed = "https://a.example/1/feed"
    const [read] = readBack({}, [{ id: "x", comments, commentsFeed }]).entries
    assert.deepInclude(read, { comments, commentsFeed })
    assert.deepStrictEqual(read?.links?.map(({ rel, href }) => [rel, href]), [["replies", comments], [
      "replies",
      commentsFeed
    ]])
  })
})
