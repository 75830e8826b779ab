import { type Fingerprint, hashString } from "#domain/Fingerprint.ts"

/** Hashes of an entry in a recent document. */
export interface Trace {
  readonly id: Fingerprint
  /** Hash of the id without its scheme, see `hashWithoutScheme`; 0n for an id that is no http URL. */
  readonly form: Fingerprint
  /** Hash of title and link, which identifies an entry with a changed id. 0n without title and link. */
  readonly essence: Fingerprint
  /** Hash of the stored title, texts, links and categories, see `packContent`; 0 when unknown. */
  readonly content: number
}

/** A hash of 31 bits, and a bit for an entry with an update date. Never 0. */
export const packContent = (hash: Fingerprint, isDated: boolean): number =>
  (Number(BigInt.asUintN(31, hash)) || 1) * 2 + Number(isDated)

const isDated = (content: number): boolean => content % 2 === 1

/** Compares the hashes alone. Unknown content differs from nothing. */
export const isOtherContent = (one: number, other: number): boolean =>
  one !== 0 && other !== 0 && Math.floor(one / 2) !== Math.floor(other / 2)

/** The hash of `kept`, with a date if one of both has it. */
export const keepContent = (kept: number, seen: number): number => isDated(seen) && !isDated(kept) ? kept + 1 : kept

/** The id of an entry that left the recent documents. */
export type Tombstone = Pick<Trace, "id" | "content">

/**
 * The seen ids of a resource, newest first.
 *
 * Packed, because a runner keeps a million of these: 28 bytes per recent entry and 8 bytes per tombstone, or 12 if entries have update
 * dates. Only further ids evict an id, and no empty, truncated or odd document does. So a feed that shrinks for a while causes no
 * notification.
 */
export interface SeenIds {
  /** The only host of the URL ids in the current document; empty for several hosts or none. */
  readonly host: string
  /** Largest number of entries in a document of this period, and of the period before. */
  readonly window: number
  readonly previousWindow: number
  /** Beginning of the period, epoch seconds. */
  readonly periodStart: number
  /** The entries of the current document, then the entries that left last, as many as the largest recent document has. */
  readonly recent: ReadonlyArray<Trace>
  /** Ids of old entries that a hub pushed, and may push again at any time. Only further strays evict these. */
  readonly strays: ReadonlyArray<Fingerprint>
  readonly tombstones: ReadonlyArray<Tombstone>
  readonly has: (id: Fingerprint) => boolean
  /** Hash of the stored content of an entry; 0 when unknown. */
  readonly getContent: (id: Fingerprint) => number
}

const formatVersion = 2
const headerBytes = 28
const traceBytes = 24
const minTombstones = 200
const tombstoneWindows = 3
const maxStrays = 256
/** A feed may be cut short for so many seconds before its window shrinks. */
const periodSeconds = 30 * 86_400

/** The last result, because a changed document is compared twice in a row. */
let lastUnpacked: { readonly bytes: Uint8Array; readonly ids: SeenIds | undefined } | undefined

/**
 * Unpacks seen ids; `undefined` before the first fetch, or for unknown bytes.
 *
 * Unknown bytes count as a first fetch: Windhover stores the next document without a notification, instead of notifying all entries.
 */
export const unpack = (bytes: Uint8Array): SeenIds | undefined => {
  if (lastUnpacked?.bytes !== bytes) lastUnpacked = { bytes, ids: unpackBytes(bytes) }
  return lastUnpacked.ids
}

const unpackBytes = (bytes: Uint8Array): SeenIds | undefined => {
  if (bytes.length < headerBytes || bytes[0] !== formatVersion) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const [strayCount, recentCount, tombstoneCount] = [
    view.getUint16(2, true),
    view.getUint32(4, true),
    view.getUint32(8, true)
  ]
  const start = headerBytes + view.getUint8(1)
  const end = start + recentCount * traceBytes
  const contents = end + (strayCount + tombstoneCount) * 8
  const contentCount = (bytes.length - contents) / 4
  if (contentCount !== recentCount && contentCount !== recentCount + tombstoneCount) return undefined
  const contentAt = (index: number) => index < contentCount ? view.getUint32(contents + index * 4, true) : 0
  const recent: Array<Trace> = []
  for (let index = 0, at = start; index < recentCount; index++, at += traceBytes) {
    recent.push({
      id: view.getBigUint64(at, true),
      form: view.getBigUint64(at + 8, true),
      essence: view.getBigUint64(at + 16, true),
      content: contentAt(index)
    })
  }
  const strays: Array<Fingerprint> = []
  for (let index = 0; index < strayCount; index++) strays.push(view.getBigUint64(end + index * 8, true))
  const tombstones: Array<Tombstone> = []
  for (let index = 0, at = end + strayCount * 8; index < tombstoneCount; index++, at += 8) {
    tombstones.push({ id: view.getBigUint64(at, true), content: contentAt(recentCount + index) })
  }
  return makeSeenIds({
    host: start === headerBytes ? "" : new TextDecoder().decode(bytes.subarray(headerBytes, start)),
    window: view.getUint32(12, true),
    previousWindow: view.getUint32(16, true),
    periodStart: view.getFloat64(20, true),
    recent,
    strays,
    tombstones
  })
}

/** Packs seen ids for `unpack`. The contents of tombstones are left out if none has an update date. */
export const pack = (ids: SeenIds): Uint8Array => {
  const { host, recent, strays, tombstones } = ids
  const hostBytes = new TextEncoder().encode(host)
  const contents = [...recent, ...(tombstones.some(hasContent) ? tombstones : [])].map(({ content }) => content)
  const hashBytes = recent.length * traceBytes + (strays.length + tombstones.length) * 8
  const bytes = new Uint8Array(headerBytes + hostBytes.length + hashBytes + contents.length * 4)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, formatVersion)
  view.setUint8(1, hostBytes.length)
  view.setUint16(2, strays.length, true)
  view.setUint32(4, recent.length, true)
  view.setUint32(8, tombstones.length, true)
  view.setUint32(12, ids.window, true)
  view.setUint32(16, ids.previousWindow, true)
  view.setFloat64(20, ids.periodStart, true)
  bytes.set(hostBytes, headerBytes)
  let at = headerBytes + hostBytes.length
  const put = (hash: Fingerprint) => {
    view.setBigUint64(at, hash, true)
    at += 8
  }
  for (const { id, form, essence } of recent) {
    put(id)
    put(form)
    put(essence)
  }
  strays.forEach(put)
  for (const { id } of tombstones) put(id)
  contents.forEach((content, index) => view.setUint32(at + index * 4, content, true))
  return bytes
}

const hasContent = ({ content }: Tombstone): boolean => content !== 0

/** Adds the lookups. A changed document has one new id in most cases, so lookups are few. */
const makeSeenIds = (ids: Omit<SeenIds, "getContent" | "has">): SeenIds => {
  const isOther = makeLookup(ids.tombstones.map(({ id }) => id))
  const isStray = makeLookup(ids.strays)
  const isRecent = makeLookup(ids.recent.map(({ id }) => id))
  let contents: ReadonlyMap<Fingerprint, number> | undefined
  return {
    ...ids,
    has: (id) => isRecent(id) || isOther(id) || isStray(id),
    getContent: (id) => {
      contents ??= new Map([...ids.tombstones, ...ids.recent].map(({ content, id }) => [id, content]))
      return contents.get(id) ?? 0
    }
  }
}

/** Number of lookups by a linear search. A Set for these lookups costs more. */
const maxLinearLookups = 4

/** Makes a lookup in a list of hashes. */
export const makeLookup = (hashes: ReadonlyArray<Fingerprint>): (hash: Fingerprint) => boolean => {
  let lookups = 0
  let lookup: ReadonlySet<Fingerprint> | undefined
  return (hash) => {
    if (lookup === undefined && lookups++ < maxLinearLookups) return hashes.includes(hash)
    lookup ??= new Set(hashes)
    return lookup.has(hash)
  }
}

export const noSeenIds: SeenIds = makeSeenIds({
  host: "",
  window: 0,
  previousWindow: 0,
  periodStart: 0,
  recent: [],
  strays: [],
  tombstones: []
})

export interface SeenDocument {
  readonly traces: ReadonlyArray<Trace>
  /** Number of entries in the document, unread entries included. */
  readonly size: number
  readonly host: string
  /** The document may be a part of the feed, so its size says nothing about the feed. */
  readonly isPartial?: boolean
  readonly strays?: ReadonlyArray<Fingerprint>
  /** Epoch ms. */
  readonly now: number
}

/**
 * Makes the seen ids after a document.
 *
 * The window is the largest document of this period of 30 days and the last one. One window of entries stays recent. Tombstones number
 * three windows, and at least 200. The newest 256 `strays` stay; strays of this document come first.
 */
export const remember = (previous: SeenIds, document: SeenDocument): SeenIds => {
  const { host, strays = [], traces } = document
  const period = nextPeriod(previous, document)
  const window = Math.max(period.window, period.previousWindow)
  const read = new Set(traces.map(({ id }) => id))
  const known = [...traces, ...previous.recent.filter(({ id }) => !read.has(id))]
  const size = Math.max(traces.length, window)
  const recent = known.slice(0, size)
  // Without a date before, a date of an entry that comes back is no update.
  const left = known.slice(size).map(({ content, id }) => ({ content: isDated(content) ? content : 0, id }))
  for (const { id } of left) read.add(id)
  const tombstones = [...left, ...previous.tombstones.filter(({ id }) => !read.has(id))]
    .slice(0, Math.max(tombstoneWindows * window, minTombstones))
  return makeSeenIds({
    ...period,
    host: host.length > 255 ? "" : host,
    recent,
    strays: [...new Set([...strays, ...previous.strays])].slice(0, maxStrays),
    tombstones
  })
}

const nextPeriod = (
  { periodStart, previousWindow, window }: SeenIds,
  { isPartial = false, now, size }: SeenDocument
): Pick<SeenIds, "periodStart" | "previousWindow" | "window"> => {
  const seconds = Math.floor(now / 1000)
  return isPartial || seconds - periodStart < periodSeconds
    ? { window: Math.max(window, size), previousWindow, periodStart }
    : { window: size, previousWindow: window, periodStart: seconds }
}

const httpUrl = /^https?:\/\/([^/?#]*)(.*)$/is

/**
 * The hash of an http URL without its scheme, equal for `http://a.example/1` and `https://a.example/1`. 0n for other ids.
 *
 * With `host`, the hash of the URL on that host, or 0n for a home page, because every site has one.
 */
export const hashWithoutScheme = (basis: string, host?: string): Fingerprint => {
  const parts = httpUrl.exec(basis)
  if (parts === null) return 0n
  const path = parts[2] ?? ""
  if (host !== undefined && (path === "" || path === "/")) return 0n
  return hashString(`//${host ?? parts[1]?.toLowerCase()}${path}`)
}

/** The common host of all http URLs among the ids; empty for several hosts or none. */
export const findCommonHost = (bases: ReadonlyArray<string>): string => {
  const hosts = new Set(bases.flatMap((basis) => httpUrl.exec(basis)?.[1]?.toLowerCase() ?? []))
  return hosts.size === 1 ? [...hosts].join() : ""
}
