import type {
  ActivityObject,
  Category,
  Entry,
  Generator,
  Link,
  Person,
  Point,
  Shape,
  Source,
  Text
} from "#domain/feed/Entry.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { Status } from "#domain/poll/Status.ts"
import { addressed, entryLinks, sentLinks } from "./EntryFields.ts"
import { summaryOf } from "./Summary.ts"
import { renderStatusXml } from "./StatusXml.ts"
import { attribute, each, element, timestamp } from "./Xml.ts"

const ATOM = "http://www.w3.org/2005/Atom"
const GEO = "http://www.georss.org/georss"
const ACTIVITY = "http://activitystrea.ms/spec/1.0/"

/** What a document says: a notification, the answer to a retrieve, or (without entries) an error. */
export interface AtomFeed {
  readonly status: Status
  /** Absent when no document was ever read. */
  readonly header: FeedHeader | undefined
  /** In the order in which they are to stand. */
  readonly entries: ReadonlyArray<Entry>
  readonly extNamespace: string
  /** URLs of the hub that sends this, and of the topic, announced before the publisher's own links. */
  readonly hub?: string
  readonly self?: string
}

/** A whole document: status, header, entries, in this order. */
export const renderAtom = ({ status, header, entries, extNamespace, hub, self }: AtomFeed): string =>
  `<?xml version="1.0" encoding="UTF-8"?><feed xmlns="${ATOM}"${attribute("xml:lang", header?.language)}>` +
  renderStatusXml(status, extNamespace) +
  (hub === undefined ? "" : link({ rel: "hub", href: hub })) +
  (self === undefined ? "" : link({ rel: "self", href: self })) +
  (header === undefined ? "<title></title>" : headerXml(header)) +
  element("id", header?.id ?? status.feed) +
  each(entries, (entry) => entryXml(entry, extNamespace)) +
  "</feed>"

/** Atom requires a title, of feeds as of entries. */
const UNTITLED: Text = { value: "", type: "text" }

/** All of the header but its id: Atom requires one, and where the publisher gave none, the topic is it. */
const headerXml = (header: FeedHeader): string =>
  each(sentLinks(header.links, header.title), link) +
  textXml("title", header.title ?? UNTITLED) +
  textXml("subtitle", header.subtitle) +
  element("published", timestamp(header.published)) +
  element("updated", timestamp(header.updated)) +
  textXml("rights", header.rights) +
  each(header.authors, (author) => person("author", author)) +
  each(header.contributors, (contributor) => person("contributor", contributor)) +
  each(header.categories, category) +
  generator(header.generator) +
  element("icon", header.icon) +
  element("logo", header.logo ?? header.image?.url ?? header.itunes?.image)

/** One entry that stands alone: every namespace it may need is declared on it. */
export const entryXml = (entry: Entry, extNamespace: string): string =>
  `<entry xmlns="${ATOM}" xmlns:geo="${GEO}" xmlns:as="${ACTIVITY}"${attribute("xmlns:sf", extNamespace)}` +
  `${attribute("xml:lang", entry.language)}>` +
  element("id", entry.id) +
  element("published", timestamp(entry.published)) +
  element("updated", timestamp(entry.updated)) +
  textXml("title", entry.title ?? UNTITLED, entry.language) +
  typedText("summary", summaryOf(entry), entry.language) +
  typedText("content", entry.content?.[0], entry.language) +
  each(entry.points, (at) => element("geo:point", pair(at))) +
  shape(entry.shape) +
  each(entryLinks(entry), link) +
  each(entry.categories, category) +
  each(entry.authors, (author) => person("author", author)) +
  each(entry.contributors, (contributor) => person("contributor", contributor)) +
  textXml("rights", entry.rights, entry.language) +
  each(entry.verbs, (verb) => element("as:verb", verb)) +
  each(entry.objects, object) +
  source(entry.source) +
  "</entry>"

/** A text construct whose type is said only when it is not plain text, as on the wire. */
const textXml = (name: string, value: Text | undefined, around?: string): string =>
  value === undefined ? "" : element(name, value.value, type(value, false) + language(value, around))

/** `content` and `summary` always say their type. */
const typedText = (name: string, value: Text | undefined, around?: string): string =>
  value === undefined
    ? ""
    : element(
      name,
      value.value,
      type(value, true) + attribute("src", value.src) + (value.truncated === true ? " truncated=\"true\"" : "") +
        language(value, around)
    )

/** XHTML is sent as HTML: its markup comes from a stranger, and would have to be well-formed XML to stand here unescaped. */
const type = ({ type }: Text, plain: boolean): string =>
  type === "text" && !plain ? "" : attribute("type", type === "xhtml" ? "html" : type)

const language = (value: Text, around: string | undefined): string =>
  value.language === around ? "" : attribute("xml:lang", value.language)

/** A link whose address the publisher forgot is of no use to a subscriber. */
const link = ({ title, rel, href, type, hreflang, length }: Link): string =>
  href === ""
    ? ""
    : `<link${attribute("title", title)}${attribute("rel", rel)}${attribute("href", href)}${attribute("type", type)}` +
      `${attribute("hreflang", hreflang)}${attribute("length", length)}/>`

const category = ({ term, scheme, label }: Category): string =>
  `<category${attribute("term", term)}${attribute("scheme", scheme)}${attribute("label", label)}/>`

const person = (
  name: "author" | "contributor",
  { name: called, uri, email, id, title, objectTypes, links }: Person
): string =>
  `<${name}>` +
  element("name", called) +
  element("uri", uri) +
  element("email", email) +
  element("id", id) +
  element("title", title) +
  each(objectTypes, (objectType) => element("as:object-type", objectType)) +
  each(addressed(links), link) +
  `</${name}>`

const object = (of: ActivityObject): string =>
  "<as:object>" +
  each(of.objectTypes, (objectType) => element("as:object-type", objectType)) +
  element("id", of.id) +
  element("title", of.title) +
  element("published", timestamp(of.published)) +
  element("updated", timestamp(of.updated)) +
  typedText("summary", of.summary) +
  typedText("content", of.content) +
  each(of.authors, (author) => person("author", author)) +
  each(of.categories, category) +
  each(addressed(of.links), link) +
  "</as:object>"

const source = (of: Source | undefined): string =>
  of === undefined
    ? ""
    : `<source${attribute("xml:lang", of.language)}>` +
      element("id", of.id) +
      textXml("title", of.title) +
      textXml("subtitle", of.subtitle) +
      element("updated", timestamp(of.updated)) +
      textXml("rights", of.rights) +
      each(addressed(of.links), link) +
      each(of.authors, (author) => person("author", author)) +
      each(of.contributors, (contributor) => person("contributor", contributor)) +
      each(of.categories, category) +
      generator(of.generator) +
      element("icon", of.icon) +
      element("logo", of.logo) +
      "</source>"

const generator = (of: Generator | undefined): string =>
  of === undefined
    ? ""
    : element("generator", of.name ?? "", attribute("uri", of.uri) + attribute("version", of.version))

const pair = ({ latitude, longitude }: Point): string => `${latitude} ${longitude}`

const SHAPES = { LineString: "geo:line", Polygon: "geo:polygon", Box: "geo:box" } as const

/** GeoRSS puts latitude first. */
const shape = (of: Shape | undefined): string =>
  of === undefined
    ? ""
    : element(SHAPES[of.type], of.coordinates.map(([longitude, latitude]) => pair({ latitude, longitude })).join(" "))
