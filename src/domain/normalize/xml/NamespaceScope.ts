import { isKnown, keyOf, keyOfUndeclared, type NamespaceKey } from "#domain/normalize/namespaces/NamespaceKeys.ts"

/** A tag's name, taken apart and looked up once for all its uses in a scope. */
export interface Name {
  readonly raw: string
  readonly lower: string
  readonly local: string
  readonly key: string
  readonly prefix: string
  readonly namespace: NamespaceKey
  /** White space between its children means nothing. */
  readonly container: boolean
  readonly entry: boolean
  /** May have entries inside: a feed, inline content, and what nobody knows. */
  readonly parent: boolean
  /** The entry's text: it holds HTML at most. */
  readonly text: boolean
  /** Never stands inside a text. */
  readonly fact: boolean
  /** HTML's elements without content, which nobody closes. `link` is not among them: it has content in RSS. */
  readonly void: boolean
}

const CONTAINERS = new Set([
  "rss",
  "rdf",
  "feed",
  "channel",
  "item",
  "entry",
  "items",
  "source",
  "author",
  "contributor",
  "image",
  "textinput",
  "group",
  "owner"
])
/** Children of an entry that hold a text, perhaps with HTML in it. */
const TEXTS = new Set([
  "title",
  "link",
  "guid",
  "pubdate",
  "description",
  "summary",
  "category",
  "comments",
  "id",
  "updated",
  "published"
])
/** Those of them that no HTML element is called like. */
const FACTS = new Set(["guid", "pubdate", "description", "category", "comments", "id", "updated", "published"])
const PARENTS = new Set(["rss", "rdf", "feed", "channel", "items", "content"])
const VOID = new Set(["br", "hr", "img", "input", "wbr", "col", "area", "embed", "param"])
const MOST_DECLARATIONS = 64
const DEEPEST = 32
/** Scopes of whole documents that are kept. */
const MOST_SCOPES = 100
const LONGEST_KEY = 4096
/** Names that a scope keeps. */
const MOST_KEPT = 1000
/** A power of two. */
const SLOTS = 64

/**
 * The namespace declarations in force at some element, chained to those around it.
 *
 * Scopes of documents are kept: a feed declares the same at each poll, and so do all feeds of one software. What they know of names follows
 * from the declarations alone, so that it does not matter to whom a scope served before.
 */
export class Scope {
  private readonly parent: Scope | undefined
  private readonly uris: ReadonlyMap<string, string>
  private readonly names = new Map<string, Name>()
  private readonly recent: Array<Name | undefined> = []
  private readonly depth: number
  /** Scopes inside the outermost one, by what they declare. */
  private readonly inner = new Map<string, Scope>()

  constructor(parent: Scope | undefined, uris: ReadonlyMap<string, string>) {
    this.parent = parent
    this.uris = uris
    this.depth = parent === undefined ? 0 : parent.depth + 1
  }

  /** The outermost scope of all documents. */
  static readonly root = new Scope(undefined, new Map([["xml", "http://www.w3.org/XML/1998/namespace"]]))

  /** The scope inside an element with these attributes: this very one if none of them declares anything. */
  with(attributes: ReadonlyArray<string>): Scope {
    let declared: Map<string, string> | undefined
    let key = ""
    for (let at = 0; at < attributes.length; at += 2) {
      const name = attributes[at] ?? ""
      if (!name.startsWith("xmlns") || (name.length > 5 && name.charCodeAt(5) !== 58)) continue
      declared ??= new Map()
      if (declared.size >= MOST_DECLARATIONS) break
      const uri = attributes[at + 1] ?? ""
      declared.set(name.slice(6), uri)
      key += `${name}=${uri}\n`
    }
    if (declared === undefined || this.depth >= DEEPEST) return this
    return this.parent === undefined && key.length <= LONGEST_KEY ? this.kept(key, declared) : new Scope(this, declared)
  }

  private kept(key: string, declared: ReadonlyMap<string, string>): Scope {
    const known = this.inner.get(key)
    if (known !== undefined) return known
    if (this.inner.size >= MOST_SCOPES) this.inner.clear()
    const scope = new Scope(this, new Map([...declared].map(([prefix, uri]) => [copyOf(prefix), copyOf(uri)])))
    this.inner.set(copyOf(key), scope)
    return scope
  }

  /** The name that stands there. Tags repeat: a glance at the last one alike saves cutting the name out and hashing it. */
  nameAt(text: string, start: number, end: number): Name {
    const slot = (text.charCodeAt(start) * 7 + text.charCodeAt(end - 1) * 31 + end - start) & (SLOTS - 1)
    const recent = this.recent[slot]
    if (recent !== undefined && recent.raw.length === end - start && text.startsWith(recent.raw, start)) return recent
    const name = this.name(text.slice(start, end))
    this.recent[slot] = name
    return name
  }

  name(raw: string): Name {
    const known = this.names.get(raw)
    if (known !== undefined) return known
    const colon = raw.indexOf(":")
    const name = nameOf(raw, this.namespace(colon < 0 ? "" : raw.slice(0, colon)))
    if (this.names.size < MOST_KEPT) this.names.set(name.raw, name)
    return name
  }

  private namespace(prefix: string): NamespaceKey {
    const uri = this.uri(prefix)
    return uri === undefined ? keyOfUndeclared(prefix) : keyOf(uri)
  }

  private uri(prefix: string): string | undefined {
    return this.uris.get(prefix) ?? this.parent?.uri(prefix)
  }
}

/** Names of all documents, by their raw form: feeds are written in few words. */
const names = new Map<string, Array<Name>>()
const MOST_NAMES = 3000
const LONGEST_NAME = 64

const nameOf = (raw: string, namespace: NamespaceKey): Name => {
  const known = names.get(raw)?.find((name) => name.namespace === namespace)
  if (known !== undefined) return known
  const name = newName(raw, namespace)
  const alike = names.get(raw)
  if (alike === undefined && names.size < MOST_NAMES && raw.length <= LONGEST_NAME) names.set(name.raw, [name])
  else if (alike !== undefined && alike.length < 8) alike.push(name)
  return name
}

/** What is cut out of a document keeps all of it in memory. */
const copyOf = (cut: string): string => Array.from(cut).join("")

const newName = (cut: string, namespace: NamespaceKey): Name => {
  const raw = copyOf(cut)
  const colon = raw.indexOf(":")
  const prefix = colon < 0 ? "" : raw.slice(0, colon)
  const local = raw.slice(colon + 1)
  const key = local.toLowerCase()
  return {
    raw,
    lower: raw.toLowerCase(),
    local,
    key,
    prefix,
    namespace: isKnown(namespace) ? namespace : copyOf(namespace),
    container: raw === "" || CONTAINERS.has(key),
    entry: key === "item" || key === "entry",
    parent: raw === "" || PARENTS.has(key) && namespace !== "media" || !isKnown(namespace) && prefix !== "",
    text: prefix === "" && TEXTS.has(key),
    fact: prefix === "" && FACTS.has(key) && namespace !== "xhtml",
    void: VOID.has(key) && (prefix === "" || namespace === "xhtml")
  }
}
