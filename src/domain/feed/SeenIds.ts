import { type Fingerprint, hashString } from "#domain/Fingerprint.ts"

/** Hashes of an entry in the current document. */
export interface Trace {
  readonly id: Fingerprint
  /** Hash of the id without its scheme, see `hashWithoutScheme`; 0n for an id that is no http URL. */
  readonly form: Fingerprint
  /** Hash of title and link, which identifies an entry with a changed id. 0n without title and link. */
  readonly essence: Fingerprint
}

/**
 * The seen ids of a resource, newest first.
 *
 * Packed, because a runner keeps a million of these: 24 bytes per entry of the current document, 8 bytes per tombstone. A tombstone is the
 * id of an entry that left the document. So a feed that shrinks for a day, or an entry that returns, causes no notification.
 */
export interface SeenIds {
  /** The only host of the URL ids in the current document; empty for several hosts or none. */
  readonly host: string
  /** Largest recent number of entries in the document, so that a truncated document does not shrink the memory. */
  readonly window: number
  readonly document: ReadonlyArray<Trace>
  /** Ids of old entries that a hub pushed, and may push again at any time. Only further strays evict these. */
  readonly strays: ReadonlyArray<Fingerprint>
  readonly tombstones: ReadonlyArray<Fingerprint>
  readonly has: (id: Fingerprint) => boolean
}

const formatVersion = 1
const headerBytes = 12
const traceBytes = 24
const minTombstones = 200
const tombstoneWindows = 3
const maxStrays = 256

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
  const start = headerBytes + view.getUint8(1)
  const end = start + view.getUint32(4, true) * traceBytes
  const strays = view.getUint16(2, true)
  if (end + strays * 8 > bytes.length || (bytes.length - end) % 8 !== 0) return undefined
  const document: Array<Trace> = []
  for (let at = start; at < end; at += traceBytes) {
    document.push({
      id: view.getBigUint64(at, true),
      form: view.getBigUint64(at + 8, true),
      essence: view.getBigUint64(at + 16, true)
    })
  }
  const hashes: Array<Fingerprint> = []
  for (let at = end; at < bytes.length; at += 8) hashes.push(view.getBigUint64(at, true))
  return makeSeenIds({
    host: start === headerBytes ? "" : new TextDecoder().decode(bytes.subarray(headerBytes, start)),
    window: view.getUint32(8, true),
    document,
    strays: hashes.slice(0, strays),
    tombstones: hashes.slice(strays)
  })
}

/** Packs seen ids for `unpack`. */
export const pack = ({ host, window, document, tombstones, strays }: SeenIds): Uint8Array => {
  const hostBytes = new TextEncoder().encode(host)
  const hashes = strays.length + tombstones.length
  const bytes = new Uint8Array(headerBytes + hostBytes.length + document.length * traceBytes + hashes * 8)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, formatVersion)
  view.setUint8(1, hostBytes.length)
  view.setUint16(2, strays.length, true)
  view.setUint32(4, document.length, true)
  view.setUint32(8, window, true)
  bytes.set(hostBytes, headerBytes)
  let at = headerBytes + hostBytes.length
  const put = (hash: Fingerprint) => {
    view.setBigUint64(at, hash, true)
    at += 8
  }
  for (const { id, form, essence } of document) {
    put(id)
    put(form)
    put(essence)
  }
  strays.forEach(put)
  tombstones.forEach(put)
  return bytes
}

/** Adds the lookup. A changed document has one new id in most cases, so lookups are few. */
const makeSeenIds = (ids: Omit<SeenIds, "has">): SeenIds => {
  const isOther = makeLookup(ids.tombstones)
  const isStray = makeLookup(ids.strays)
  const isPresent = makeLookup(ids.document.map(({ id }) => id))
  return { ...ids, has: (id) => isPresent(id) || isOther(id) || isStray(id) }
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

export const noSeenIds: SeenIds = makeSeenIds({ host: "", window: 0, document: [], strays: [], tombstones: [] })

/**
 * Makes the seen ids after a document.
 *
 * `marks` are further hashes to remember. Tombstones number three windows, and at least 200. The newest 256 `strays` stay; strays of this
 * document come first.
 */
export const remember = (
  previous: SeenIds,
  document: ReadonlyArray<Trace>,
  site: string,
  { marks = [], strays = [] }: {
    readonly marks?: ReadonlyArray<Fingerprint>
    readonly strays?: ReadonlyArray<Fingerprint>
  } = {}
): SeenIds => {
  const window = Math.max(document.length, previous.window - Math.ceil(previous.window / 16))
  const limit = Math.max(tombstoneWindows * window, minTombstones)
  const present = new Set(document.map(({ id }) => id))
  const others = new Set<Fingerprint>()
  const keep = (id: Fingerprint) => {
    if (others.size < limit && !present.has(id)) others.add(id)
  }
  marks.forEach(keep)
  for (const { id } of previous.document) keep(id)
  previous.tombstones.forEach(keep)
  return makeSeenIds({
    host: site.length > 255 ? "" : site,
    window,
    document,
    strays: [...new Set([...strays, ...previous.strays])].slice(0, maxStrays),
    tombstones: [...others]
  })
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
