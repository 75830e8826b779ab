import { countOf } from "#domain/Count.ts"
import { escapeInJson, escapeInXml, toPrintableField } from "#domain/ControlCharacters.ts"
import type { Entry } from "#domain/feed/Entry.ts"
import { assignIds, type Identity } from "#domain/feed/EntryId.ts"
import { getHubs, getPermalink, getSelfLink } from "#domain/feed/Feed.ts"
import type { RawFeed, ReadResult } from "#domain/normalize/ReadFeed.ts"
import { renderAtom } from "#domain/render/AtomXml.ts"
import { renderJson } from "#domain/render/NotificationJson.ts"

type Lines = ReadonlyArray<string>

/** Describes a document for a person: kind, encoding, repairs, ids with their reasons, the model, and the notifications. */
export const renderReport = (result: ReadResult, source: string): string => {
  if (result._tag === "NotFeed") {
    return `Not a feed: ${result.reason}. Windhover watches the document by its signature (kind: ${result.kind}).`
  }
  const { feed } = result
  const { entries, identities, policy } = assignIds(feed.entries, undefined)
  return [
    ...renderHeader(feed),
    "",
    `Ids: ${policy?.reason ?? "no entries, so no rule yet"}.`,
    ...entries.flatMap((entry, index) => renderEntry(entry, identities[index], index)),
    ...renderSection("Model of the feed and of its first entry", renderModel(feed, entries.slice(0, 1))),
    ...renderSection("Atom notification of the first entry", renderAtomNotification(feed, entries.slice(0, 1), source)),
    ...renderSection("JSON notification of the first entry", renderJsonNotification(feed, entries.slice(0, 1), source))
  ].join("\n")
}

/** Renders the whole document in one format. */
export const renderDocument = (result: ReadResult, source: string, format: "json" | "atom" | "model"): string => {
  if (result._tag === "NotFeed") return renderReport(result, source)
  const { entries } = assignIds(result.feed.entries, undefined)
  if (format === "model") return renderModel(result.feed, entries)
  return format === "atom"
    ? renderAtomNotification(result.feed, entries, source)
    : renderJsonNotification(result.feed, entries, source)
}

const renderHeader = ({ version, encoding, header, entries, repairs }: RawFeed): Lines => [
  `Feed: ${version}, ${encoding}, ${countOf(entries.length, "entry", "entries")}${
    header.language === undefined ? "" : `, in ${header.language}`
  }`,
  ...renderLine("Title", header.title?.value),
  ...renderLine("Page", getPermalink(header)),
  ...renderLine("Self", getSelfLink(header)),
  ...getHubs(header).flatMap((hub) => renderLine("Hub", hub)),
  repairs.length === 0 ? "Repaired: nothing" : `Repaired: ${repairs.join("; ")}`
]

const renderLine = (name: string, value: string | undefined): Lines =>
  value === undefined ? [] : [`${name}: ${toPrintableField(value)}`]

const renderEntry = (entry: Entry, identity: Identity | undefined, index: number): Lines => [
  `${index + 1}. ${toPrintableField(entry.title?.value ?? getPermalink(entry) ?? "(untitled)")}`,
  `   id ${JSON.stringify(entry.id)}${identity === undefined ? "" : ` (${idReasons[identity.reason](identity)})`}`,
  ...renderTimes(entry)
]

const idReasons: { readonly [reason in Identity["reason"]]: (identity: Identity) => string } = {
  given: () => "the publisher's",
  absent: ({ rule }) => `made from the ${rule}: the publisher gives none`,
  unusable: ({ rule }) => `made from the ${rule}: the publisher's tells nothing apart`,
  repeated: () => "the publisher's, completed: another entry has the same",
  shared: () => "made from the link, title and text: the link names no entry"
}

const renderTimes = ({ published, updated }: Entry): Lines => {
  const known = [
    ...published === undefined ? [] : [`published ${new Date(published).toISOString()}`],
    ...updated === undefined ? [] : [`updated ${new Date(updated).toISOString()}`]
  ]
  return known.length === 0 ? [] : [`   ${known.join(", ")}`]
}

const renderSection = (title: string, body: string): Lines => ["", `--- ${title}`, body]

const renderModel = ({ version, header }: RawFeed, entries: ReadonlyArray<Entry>): string =>
  escapeInJson(JSON.stringify({ version, header, entries }, null, 2))

const extNamespace = "http://superfeedr.com/xmpp-pubsub-ext"

const renderAtomNotification = ({ header }: RawFeed, entries: ReadonlyArray<Entry>, source: string): string =>
  escapeInXml(renderAtom({ status: { feed: source }, header, entries, extNamespace }))

const renderJsonNotification = ({ header }: RawFeed, entries: ReadonlyArray<Entry>, source: string): string =>
  escapeInJson(renderJson({ status: { feed: source }, header, entries }))
