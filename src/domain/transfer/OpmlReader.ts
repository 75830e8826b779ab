import { Option, Schema } from "effect"
import { Parser } from "htmlparser2"
import { retries, type Retry } from "#domain/delivery/Retry.ts"
import type { ListedItem, ListLine, ListReader } from "./ListLine.ts"
import { attributes } from "./OpmlNames.ts"

/** Maximum depth of folders that become labels. */
const maxFolders = 32

/** Depth of elements at which a document is no list of feeds. */
const maxDepth = 256

/** Attributes that are read; others are not kept. Names in lower case, because programs write `xmlurl` as well. */
const readNames: ReadonlySet<string> = new Set([
  "xmlurl",
  "text",
  "title",
  "type",
  "category",
  ...Object.values(attributes).map((name) => name.toLowerCase())
])

/** Maximum characters of a kept attribute: a title may be long, and a longer URL is refused anyway. */
const maxAttributeLength = 16_384

type Attributes = Map<string, string>

/**
 * Reads OPML 1 and 2. The folders around an outline are one label, `News/Tech`, and its categories are further labels.
 *
 * The parser keeps the open folders only. Entities of a DTD are not expanded, and nothing is fetched.
 */
export class OpmlReader implements ListReader {
  #lines: Array<ListLine> = []
  /** Titles of the open outlines; undefined for an outline with a feed. */
  readonly #folders: Array<string | undefined> = []
  /** Open outlines beyond `maxFolders`. */
  #deeper = 0
  #depth = 0
  #attributes: Attributes = new Map()
  #hasRoot = false
  #isOver = false
  readonly #place = new Place()
  readonly #parser = new Parser(
    {
      onopentagname: (name) => this.#open(name),
      onattribute: (name, value) => this.#addAttribute(name, value),
      onopentag: (name) => this.#openOutline(name),
      onclosetag: (name, isImplied) => this.#close(name, isImplied)
    },
    { xmlMode: true }
  )

  push(text: string): ReadonlyArray<ListLine> {
    if (this.#isOver) return []
    this.#place.add(text)
    this.#parser.write(text)
    return this.#takeLines()
  }

  end(): ReadonlyArray<ListLine> {
    if (this.#isOver) return []
    if (!this.#hasRoot) this.#fail("The XML has no <opml>.")
    else if (this.#depth > 0) {
      this.#fail("The document ends before </opml>: the file may be cut. The outlines before are imported.")
    }
    return this.#takeLines()
  }

  #takeLines(): ReadonlyArray<ListLine> {
    const lines = this.#lines
    this.#lines = []
    return lines
  }

  #fail(reason: string): void {
    this.#isOver = true
    this.#lines.push({ _tag: "Fault", line: this.#place.lineOf(this.#parser.startIndex), reason })
  }

  #open(name: string): void {
    if (this.#isOver) return
    this.#attributes = new Map()
    if (this.#depth === 0 && !this.#hasRoot) {
      this.#hasRoot = name.toLowerCase() === "opml"
      if (!this.#hasRoot) {
        this.#fail(`The XML is no OPML: it begins with <${name.slice(0, 40)}>. To watch a feed, subscribe to its URL.`)
      }
    }
    if (++this.#depth > maxDepth) this.#fail(`The document is nested deeper than ${maxDepth} elements.`)
  }

  #addAttribute(name: string, value: string): void {
    const key = name.toLowerCase()
    if (readNames.has(key)) this.#attributes.set(key, value.slice(0, maxAttributeLength))
  }

  #openOutline(name: string): void {
    if (this.#isOver || name.toLowerCase() !== "outline") return
    const topic = this.#attributes.get("xmlurl")?.trim() ?? ""
    if (topic !== "") this.#lines.push(this.#readFeed(topic))
    const title = (this.#attributes.get("text") ?? this.#attributes.get("title") ?? "").trim()
    if (this.#folders.length === maxFolders) this.#deeper++
    else this.#folders.push(topic === "" ? title : undefined)
  }

  #close(name: string, isImplied: boolean): void {
    if (this.#isOver || isImplied && this.#depth === 0) return
    this.#depth--
    if (name.toLowerCase() !== "outline") return
    if (this.#deeper > 0) this.#deeper--
    else this.#folders.pop()
  }

  #readFeed(topic: string): ListLine {
    const line = this.#place.lineOf(this.#parser.startIndex)
    const type = this.#attributes.get("type") ?? ""
    if (/^(?:html|json|xml)\+/i.test(type)) {
      const reason = `The outline has the type ${JSON.stringify(type.slice(0, 40))}, by which another reader makes ` +
        "entries of a page. Subscribe to the URL with a fragment instead."
      return { _tag: "Refused", line, topic, reason }
    }
    if (this.#deeper > 0) {
      return { _tag: "Refused", line, topic, reason: `The outline is in more than ${maxFolders} folders.` }
    }
    return { _tag: "Item", line, item: { topic, ...settingsOf(this.#attributes), labels: this.#labels() } }
  }

  #labels(): ReadonlyArray<string> {
    const own = this.#attributes.get(attributes.labels)
    if (own !== undefined) return Option.getOrElse(decodeLabels(own), () => [])
    const folder = this.#folders.filter((title) => title !== undefined && title !== "").join("/")
    const categories = this.#attributes.get("category")?.split(",") ?? []
    return [folder, ...categories.map((category) => category.trim().replace(/^\//, ""))]
  }
}

const decodeLabels = Schema.decodeOption(Schema.fromJsonString(Schema.Array(Schema.String)))

/** The settings that an export adds. A wrong value counts as absent, because other programs may use the names. */
const settingsOf = (found: Attributes): Omit<ListedItem, "topic" | "labels"> => {
  const endpoint = found.get(attributes.callback) ?? found.get(attributes.jid)
  const nullDevice = found.get(attributes.null)
  const format = found.get(attributes.format)
  const retry = found.get(attributes.retry)
  return {
    ...(endpoint !== undefined && { endpoint }),
    ...(nullDevice !== undefined && { nullDevice }),
    ...((format === "atom" || format === "json") && { format }),
    ...(found.get(attributes.feedsOnly) === "true" && { feedsOnly: true }),
    ...(retry !== undefined && isRetry(retry) && { retry }),
    ...(found.get(attributes.state) === "paused" && { paused: true })
  }
}

const isRetry = (text: string): text is Retry => (retries as ReadonlyArray<string>).includes(text)

/** Counts the lines up to a position of the text. Positions grow. */
class Place {
  /** The text behind `#counted`. */
  #text = ""
  #counted = 0
  #line = 1

  add(text: string): void {
    this.#text += text
  }

  lineOf(position: number): number {
    const end = position - this.#counted
    if (end <= 0) return this.#line
    const passed = this.#text.slice(0, end)
    for (let at = passed.indexOf("\n"); at >= 0; at = passed.indexOf("\n", at + 1)) this.#line++
    this.#text = this.#text.slice(end)
    this.#counted = position
    return this.#line
  }
}
