import type { Entry } from "#domain/feed/Entry.ts"
import { assignIds, type Identity } from "#domain/feed/EntryId.ts"
import { getHubs, getPermalink, getSelfLink } from "#domain/feed/Feed.ts"
import type { RawFeed, ReadResult } from "#domain/normalize/ReadFeed.ts"
import { renderAtom } from "#domain/render/AtomXml.ts"
import { renderJson } from "#domain/render/NotificationJson.ts"

type Lines = ReadonlyArray<string>

/** How a document is read, for a person: kind, encoding, repairs, ids and why they are so, the model, and what subscribers would get. */
export const report = (result: ReadResult, source: string): string => {
  if (result._tag === "NotFeed") {
    return `Not a feed: ${result.reason}. As a resource it is watched by its signature (kind: ${result.kind}).`
  }
  const { feed } = result
  const { entries, identities, policy } = assignIds(feed.entries, undefined)
  return [
    ...documentLines(feed),
    "",
    `Ids: ${policy?.reason ?? "no entries, so no rule yet"}.`,
    ...entries.flatMap((entry, index) => entryLines(entry, identities[index], index)),
    ...section("Model of the feed and of its first entry", model(feed, entries.slice(0, 1))),
    ...section("Atom notification of the first entry", atomOf(feed, entries.slice(0, 1), source)),
    ...section("JSON notification of the first entry", jsonOf(feed, entries.slice(0, 1), source))
  ].join("\n")
}

/** The whole document in one of its forms. */
export const rendering = (result: ReadResult, source: string, format: "json" | "atom" | "model"): string => {
  if (result._tag === "NotFeed") return report(result, source)
  const { entries } = assignIds(result.feed.entries, undefined)
  if (format === "model") return model(result.feed, entries)
  return format === "atom" ? atomOf(result.feed, entries, source) : jsonOf(result.feed, entries, source)
}

const documentLines = ({ version, encoding, header, entries, repairs }: RawFeed): Lines => [
  `Feed: ${version}, ${encoding}, ${entries.length} entries${
    header.language === undefined ? "" : `, in ${header.language}`
  }`,
  ...line("Title", header.title?.value),
  ...line("Page", getPermalink(header)),
  ...line("Self", getSelfLink(header)),
  ...getHubs(header).flatMap((hub) => line("Hub", hub)),
  repairs.length === 0 ? "Repaired: nothing" : `Repaired: ${repairs.join("; ")}`
]

const line = (name: string, value: string | undefined): Lines => value === undefined ? [] : [`${name}: ${value}`]

const entryLines = (entry: Entry, identity: Identity | undefined, index: number): Lines => [
  `${index + 1}. ${entry.title?.value ?? getPermalink(entry) ?? "(untitled)"}`,
  `   id ${JSON.stringify(entry.id)}${identity === undefined ? "" : ` (${WHY[identity.reason](identity)})`}`,
  ...times(entry)
]

const WHY: { readonly [reason in Identity["reason"]]: (identity: Identity) => string } = {
  given: () => "the publisher's",
  absent: ({ rule }) => `made from the ${rule}: the publisher gives none`,
  unusable: ({ rule }) => `made from the ${rule}: the publisher's tells nothing apart`,
  repeated: () => "the publisher's, completed: another entry has the same"
}

const times = ({ published, updated }: Entry): Lines => {
  const known = [
    ...published === undefined ? [] : [`published ${new Date(published).toISOString()}`],
    ...updated === undefined ? [] : [`updated ${new Date(updated).toISOString()}`]
  ]
  return known.length === 0 ? [] : [`   ${known.join(", ")}`]
}

const section = (title: string, body: string): Lines => ["", `--- ${title}`, body]

const model = ({ version, header }: RawFeed, entries: ReadonlyArray<Entry>): string =>
  JSON.stringify({ version, header, entries }, null, 2)

const EXTENSION = "http://superfeedr.com/xmpp-pubsub-ext"

const atomOf = ({ header }: RawFeed, entries: ReadonlyArray<Entry>, source: string): string =>
  renderAtom({ status: { feed: source }, header, entries, extNamespace: EXTENSION })

const jsonOf = ({ header }: RawFeed, entries: ReadonlyArray<Entry>, source: string): string =>
  renderJson({ status: { feed: source }, header, entries })
