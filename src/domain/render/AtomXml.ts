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
import type { EventJson } from "#domain/Event.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { Status } from "#domain/poll/Status.ts"
import {
  announceSelf,
  completeLinks,
  dropLinksWithoutAddress,
  dropNamelessCategories,
  getEntryLinks,
  getFeedId,
  getPoints
} from "./EntryFields.ts"
import { renderStatusXml } from "./StatusXml.ts"
import { formatTimestamp, renderAttribute, renderEach, renderElement } from "./Xml.ts"

const atomNamespace = "http://www.w3.org/2005/Atom"
const geoRssNamespace = "http://www.georss.org/georss"
const activityNamespace = "http://activitystrea.ms/spec/1.0/"

/** The content of a notification, a retrieve response or, without entries, a failure notification. */
export interface AtomFeed {
  readonly status: Status
  /** `undefined` before the first document. */
  readonly header: FeedHeader | undefined
  /** In document order. */
  readonly entries: ReadonlyArray<Entry>
  readonly extNamespace: string
  /** URLs of the sending hub and of the topic, announced before the publisher's own links. */
  readonly hub?: string
  readonly self?: string
}

/** Renders a whole document: status, header and entries, in this order. */
export const renderAtom = ({ status, header, entries, extNamespace, hub, self }: AtomFeed): string =>
  `<?xml version="1.0" encoding="UTF-8"?><feed xmlns="${atomNamespace}"${
    renderAttribute("xml:lang", header?.language)
  }>` +
  renderStatusXml(status, extNamespace) +
  renderEach(announceLinks(header, hub, self), renderLink) +
  (header === undefined ? emptyHeader : renderHeader(header)) +
  renderElement("id", getFeedId(header, status)) +
  renderEach(entries, (entry) => renderEntryXml(entry, extNamespace)) +
  "</feed>"

/** Atom requires a title in feeds and entries. */
const emptyTitle: Text = { value: "", type: "text" }

/** The links of a feed: hub and topic first, then the publisher's own links, without repetition. */
const announceLinks = (
  header: FeedHeader | undefined,
  hub: string | undefined,
  self: string | undefined
): ReadonlyArray<Link> => {
  const own = completeLinks(header?.links, header?.title)
  const links = self === undefined ? own : announceSelf(own, self)
  return hub === undefined
    ? links
    : [{ rel: "hub", href: hub }, ...links.filter(({ href, rel }) => rel !== "hub" || href !== hub)]
}

/** The required elements of a feed before its first document. */
const emptyHeader = "<title></title><updated></updated>"

/** Renders the header without its links and id. */
const renderHeader = (header: FeedHeader): string =>
  renderText("title", header.title ?? emptyTitle) +
  renderText("subtitle", header.subtitle) +
  renderElement("published", formatTimestamp(header.published)) +
  renderUpdated(header.updated) +
  renderText("rights", header.rights) +
  renderEach(header.authors, (author) => renderPerson("author", author)) +
  renderEach(header.contributors, (contributor) => renderPerson("contributor", contributor)) +
  renderEach(dropNamelessCategories(header.categories), renderCategory) +
  renderGenerator(header.generator) +
  renderElement("icon", header.icon) +
  renderElement("logo", header.logo ?? header.image?.url ?? header.itunes?.image)

/** Renders an entry that can stand alone, with all its namespace declarations. */
export const renderEntryXml = (entry: Entry, extNamespace: string): string =>
  `<entry xmlns="${atomNamespace}" xmlns:geo="${geoRssNamespace}" xmlns:as="${activityNamespace}"${
    renderAttribute("xmlns:sf", extNamespace)
  }` +
  `${renderAttribute("xml:lang", entry.language)}>` +
  renderElement("id", entry.id) +
  renderElement("published", formatTimestamp(entry.published)) +
  renderUpdated(entry.updated) +
  renderText("title", entry.title ?? emptyTitle, entry.language) +
  renderTypedText("summary", entry.summary, entry.language) +
  renderTypedText("content", entry.content?.[0], entry.language) +
  renderEach(getPoints(entry), (point) => renderElement("geo:point", formatPoint(point))) +
  renderShape(entry.shape) +
  renderEach(getEntryLinks(entry), renderLink) +
  renderEach(dropNamelessCategories(entry.categories), renderCategory) +
  renderEach(entry.authors, (author) => renderPerson("author", author)) +
  renderEach(entry.contributors, (contributor) => renderPerson("contributor", contributor)) +
  renderText("rights", entry.rights, entry.language) +
  renderEach(entry.verbs, (verb) => renderElement("as:verb", verb)) +
  renderEach(entry.objects, renderObject) +
  renderSource(entry.source) +
  renderEvent(entry.event) +
  "</entry>"

/** Renders an event of Windhover as JSON, in the service's extension namespace. */
const renderEvent = (event: EventJson | undefined): string =>
  event === undefined ? "" : renderElement(
    "sf:event",
    JSON.stringify(event),
    renderAttribute("version", event.version) + renderAttribute("type", event.type)
  )

/** Renders the time of the last update. Atom requires the element, so that it is empty for an unknown time. */
const renderUpdated = (at: number | undefined): string => renderElement("updated", formatTimestamp(at) ?? "")

/** Renders a text. The type attribute is absent for plain text. */
const renderText = (name: string, value: Text | undefined, outerLanguage?: string): string =>
  value === undefined
    ? ""
    : renderElement(name, value.value, renderType(value, false) + renderLanguage(value, outerLanguage))

/** Renders `content` or `summary`, always with a type. */
const renderTypedText = (name: string, value: Text | undefined, outerLanguage?: string): string =>
  value === undefined
    ? ""
    : renderElement(
      name,
      value.value,
      renderType(value, true) + renderAttribute("src", value.src) +
        (value.truncated === true ? " truncated=\"true\"" : "") +
        renderLanguage(value, outerLanguage)
    )

/** Renders the type attribute. XHTML becomes escaped HTML, because the publisher's markup may not be well-formed XML. */
const renderType = ({ type }: Text, plain: boolean): string =>
  type === "text" && !plain ? "" : renderAttribute("type", type === "xhtml" ? "html" : type)

/** Renders a language unless the surroundings have the same. An empty language (the text has none) is needed only inside another one. */
const renderLanguage = ({ language }: Pick<Text, "language">, outerLanguage = ""): string =>
  language === outerLanguage ? "" : renderAttribute("xml:lang", language)

/** Renders a link, unless the publisher forgot its URL. */
const renderLink = ({ title, rel, href, type, hreflang, length }: Link): string =>
  href === ""
    ? ""
    : `<link${renderAttribute("title", title)}${renderAttribute("rel", rel)}${renderAttribute("href", href)}${
      renderAttribute("type", type)
    }` +
      `${renderAttribute("hreflang", hreflang)}${renderAttribute("length", length)}/>`

const renderCategory = ({ term, scheme, label }: Category): string =>
  `<category${renderAttribute("term", term)}${renderAttribute("scheme", scheme)}${renderAttribute("label", label)}/>`

const renderPerson = (
  name: "author" | "contributor",
  { name: personName, uri, email, id, title, objectTypes, links }: Person
): string =>
  `<${name}>` +
  renderElement("name", personName) +
  renderElement("uri", uri) +
  renderElement("email", email) +
  renderElement("id", id) +
  renderElement("title", title) +
  renderEach(objectTypes, (objectType) => renderElement("as:object-type", objectType)) +
  renderEach(dropLinksWithoutAddress(links), renderLink) +
  `</${name}>`

const renderObject = (object: ActivityObject): string =>
  "<as:object>" +
  renderEach(object.objectTypes, (objectType) => renderElement("as:object-type", objectType)) +
  renderElement("id", object.id) +
  renderElement("title", object.title) +
  renderElement("published", formatTimestamp(object.published)) +
  renderElement("updated", formatTimestamp(object.updated)) +
  renderTypedText("summary", object.summary) +
  renderTypedText("content", object.content) +
  renderEach(object.authors, (author) => renderPerson("author", author)) +
  renderEach(dropNamelessCategories(object.categories), renderCategory) +
  renderEach(dropLinksWithoutAddress(object.links), renderLink) +
  "</as:object>"

const renderSource = (source: Source | undefined): string =>
  source === undefined
    ? ""
    : `<source${renderLanguage(source)}>` +
      renderElement("id", source.id) +
      renderText("title", source.title) +
      renderText("subtitle", source.subtitle) +
      renderElement("updated", formatTimestamp(source.updated)) +
      renderText("rights", source.rights) +
      renderEach(dropLinksWithoutAddress(source.links), renderLink) +
      renderEach(source.authors, (author) => renderPerson("author", author)) +
      renderEach(source.contributors, (contributor) => renderPerson("contributor", contributor)) +
      renderEach(dropNamelessCategories(source.categories), renderCategory) +
      renderGenerator(source.generator) +
      renderElement("icon", source.icon) +
      renderElement("logo", source.logo) +
      "</source>"

const renderGenerator = (generator: Generator | undefined): string =>
  generator === undefined
    ? ""
    : renderElement(
      "generator",
      generator.name ?? "",
      renderAttribute("uri", generator.uri) + renderAttribute("version", generator.version)
    )

const formatPoint = ({ latitude, longitude }: Point): string => `${latitude} ${longitude}`

const shapeElements = { LineString: "geo:line", Polygon: "geo:polygon", Box: "geo:box" } as const

/** GeoRSS puts latitude first. */
const renderShape = (shape: Shape | undefined): string =>
  shape === undefined
    ? ""
    : renderElement(
      shapeElements[shape.type],
      shape.coordinates.map(([longitude, latitude]) => formatPoint({ latitude, longitude })).join(" ")
    )
