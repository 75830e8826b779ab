import {
  guessNamespaceKey,
  isKnownNamespace,
  type NamespaceKey,
  toNamespaceKey
} from "#domain/normalize/namespaces/NamespaceKeys.ts"

/** A tag's name, taken apart and looked up once for all its uses in a scope. */
export interface TagName {
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

const containerNames = new Set([
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
const textNames = new Set([
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
const factNames = new Set(["guid", "pubdate", "description", "category", "comments", "id", "updated", "published"])
const parentNames = new Set(["rss", "rdf", "feed", "channel", "items", "content"])
const voidNames = new Set(["br", "hr", "img", "input", "wbr", "col", "area", "embed", "param"])
const maxDeclarations = 64
const maxScopeDepth = 32
/** Scopes of whole documents that are kept. */
const maxScopes = 100
const maxKeyLength = 4096
/** Names that a scope keeps. */
const maxNamesPerScope = 1000
/** A power of two. */
const cacheSlots = 64

/**
 * The namespace declarations in force at some element, chained to those around it.
 *
 * Scopes of documents are kept: a feed declares the same at each poll, and so do all feeds of one software. What they know of names follows
 * from the declarations alone, so that it does not matter to whom a scope served before.
 */
export class NamespaceScope {
  private readonly parent: NamespaceScope | undefined
  private readonly uris: ReadonlyMap<string, string>
  private readonly names = new Map<string, TagName>()
  private readonly recent: Array<TagName | undefined> = []
  private readonly depth: number
  /** Scopes inside the outermost one, by what they declare. */
  private readonly inner = new Map<string, NamespaceScope>()

  constructor(parent: NamespaceScope | undefined, uris: ReadonlyMap<string, string>) {
    this.parent = parent
    this.uris = uris
    this.depth = parent === undefined ? 0 : parent.depth + 1
  }

  /** The outermost scope of all documents. */
  static readonly root = new NamespaceScope(undefined, new Map([["xml", "http://www.w3.org/XML/1998/namespace"]]))

  /** The scope inside an element with these attributes: this very one if none of them declares anything. */
  with(attributes: ReadonlyArray<string>): NamespaceScope {
    let declared: Map<string, string> | undefined
    let key = ""
    for (let at = 0; at < attributes.length; at += 2) {
      const name = attributes[at] ?? ""
      if (!name.startsWith("xmlns") || (name.length > 5 && name.charCodeAt(5) !== 58)) continue
      declared ??= new Map()
      if (declared.size >= maxDeclarations) break
      const uri = attributes[at + 1] ?? ""
      declared.set(name.slice(6), uri)
      key += `${name}=${uri}\n`
    }
    if (declared === undefined || this.depth >= maxScopeDepth) return this
    return this.parent === undefined && key.length <= maxKeyLength
      ? this.getShared(key, declared)
      : new NamespaceScope(this, declared)
  }

  private getShared(key: string, declared: ReadonlyMap<string, string>): NamespaceScope {
    const known = this.inner.get(key)
    if (known !== undefined) return known
    if (this.inner.size >= maxScopes) this.inner.clear()
    const scope = new NamespaceScope(
      this,
      new Map([...declared].map(([prefix, uri]) => [copyString(prefix), copyString(uri)]))
    )
    this.inner.set(copyString(key), scope)
    return scope
  }

  /** The name that stands there. Tags repeat: a glance at the last one alike saves cutting the name out and hashing it. */
  nameAt(text: string, start: number, end: number): TagName {
    const slot = (text.charCodeAt(start) * 7 + text.charCodeAt(end - 1) * 31 + end - start) & (cacheSlots - 1)
    const recent = this.recent[slot]
    if (recent !== undefined && recent.raw.length === end - start && text.startsWith(recent.raw, start)) return recent
    const name = this.name(text.slice(start, end))
    this.recent[slot] = name
    return name
  }

  name(raw: string): TagName {
    const known = this.names.get(raw)
    if (known !== undefined) return known
    const colon = raw.indexOf(":")
    const name = getTagName(raw, this.namespace(colon < 0 ? "" : raw.slice(0, colon)))
    if (this.names.size < maxNamesPerScope) this.names.set(name.raw, name)
    return name
  }

  private namespace(prefix: string): NamespaceKey {
    const uri = this.uri(prefix)
    return uri === undefined ? guessNamespaceKey(prefix) : toNamespaceKey(uri)
  }

  private uri(prefix: string): string | undefined {
    return this.uris.get(prefix) ?? this.parent?.uri(prefix)
  }
}

/** Names of all documents, by their raw form: feeds are written in few words. */
const sharedNames = new Map<string, Array<TagName>>()
const maxSharedNames = 3000
const maxSharedNameLength = 64

const getTagName = (raw: string, namespace: NamespaceKey): TagName => {
  const known = sharedNames.get(raw)?.find((name) => name.namespace === namespace)
  if (known !== undefined) return known
  const name = makeTagName(raw, namespace)
  const alike = sharedNames.get(raw)
  if (alike === undefined && sharedNames.size < maxSharedNames && raw.length <= maxSharedNameLength) {
    sharedNames.set(name.raw, [name])
  } else if (alike !== undefined && alike.length < 8) alike.push(name)
  return name
}

/** What is cut out of a document keeps all of it in memory. */
const copyString = (cut: string): string => Array.from(cut).join("")

const makeTagName = (cut: string, namespace: NamespaceKey): TagName => {
  const raw = copyString(cut)
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
    namespace: isKnownNamespace(namespace) ? namespace : copyString(namespace),
    container: raw === "" || containerNames.has(key),
    entry: key === "item" || key === "entry",
    parent: raw === "" || parentNames.has(key) && namespace !== "media" ||
      !isKnownNamespace(namespace) && prefix !== "",
    text: prefix === "" && textNames.has(key),
    fact: prefix === "" && factNames.has(key) && namespace !== "xhtml",
    void: voidNames.has(key) && (prefix === "" || namespace === "xhtml")
  }
}
