import { guessNamespaceKey, isKnownNamespace, toNamespaceKey } from "#domain/normalize/namespaces/NamespaceKeys.ts"
import type { NamespaceKey } from "./Element.ts"

/** A tag's name with its properties. All uses of the name in a scope share one value. */
export interface TagName {
  readonly raw: string
  readonly lower: string
  readonly local: string
  readonly key: string
  readonly prefix: string
  readonly namespace: NamespaceKey
  /** White space between the element's children has no meaning. */
  readonly isContainer: boolean
  readonly isEntry: boolean
  /** A feed, inline content or an element of an unknown namespace: entries inside are legal. */
  readonly mayHoldEntries: boolean
  /** A text of an entry, with HTML at most. */
  readonly isText: boolean
  /** A date, id or the like, never found inside a text. */
  readonly isFact: boolean
  /** An HTML element without content and so without an end tag. `link` does not count, because RSS links have content. */
  readonly isVoid: boolean
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
/** Children of an entry that hold plain text or HTML. */
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
/** Names among `textNames` that are no names of HTML elements. */
const factNames = new Set(["guid", "pubdate", "description", "category", "comments", "id", "updated", "published"])
const parentNames = new Set(["rss", "rdf", "feed", "channel", "items", "content"])
const voidNames = new Set(["br", "hr", "img", "input", "wbr", "col", "area", "embed", "param"])
const maxDeclarations = 64
const maxScopeDepth = 32
/** Scopes of whole documents that are shared. */
const maxScopes = 100
const maxKeyLength = 4096
const maxNamesPerScope = 1000
/** A power of two. */
const cacheSlots = 64

/**
 * The namespace declarations at an element, chained to the declarations of its ancestors.
 *
 * Documents share scopes, because a feed declares the same namespaces at each poll, and so do all feeds of one software. The names in a
 * scope follow from the declarations alone, so any document can use the scope.
 */
export class NamespaceScope {
  private readonly parent: NamespaceScope | undefined
  private readonly uris: ReadonlyMap<string, string>
  private readonly names = new Map<string, TagName>()
  private readonly recent: Array<TagName | undefined> = []
  private readonly depth: number
  /** Shared scopes of the root, by their declarations. */
  private readonly inner = new Map<string, NamespaceScope>()

  constructor(parent: NamespaceScope | undefined, uris: ReadonlyMap<string, string>) {
    this.parent = parent
    this.uris = uris
    this.depth = parent === undefined ? 0 : parent.depth + 1
  }

  /** The outermost scope, the same for all documents. */
  static readonly root = new NamespaceScope(undefined, new Map([["xml", "http://www.w3.org/XML/1998/namespace"]]))

  /** The scope inside an element with these attributes: this scope if no attribute declares a namespace. */
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

  /** The name between two positions. A cache of recent names saves a substring and a hash for most tags. */
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

/** Names of all documents, by their raw form. Feeds use few names. */
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

/** A copy, because a substring keeps the whole document in memory. */
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
    isContainer: raw === "" || containerNames.has(key),
    isEntry: key === "item" || key === "entry",
    mayHoldEntries: raw === "" || parentNames.has(key) && namespace !== "media" ||
      !isKnownNamespace(namespace) && prefix !== "",
    isText: prefix === "" && textNames.has(key),
    isFact: prefix === "" && factNames.has(key) && namespace !== "xhtml",
    isVoid: voidNames.has(key) && (prefix === "" || namespace === "xhtml")
  }
}
