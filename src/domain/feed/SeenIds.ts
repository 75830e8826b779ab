import type { Fingerprint } from "#domain/Fingerprint.ts"
import { ofString } from "#domain/Fingerprint.ts"

/** What is remembered of an entry as long as it stands in the document. */
export interface Trace {
  readonly id: Fingerprint
  /** Of the id without its scheme, see `formOf`; 0n when the id is no http URL. */
  readonly form: Fingerprint
  /** Of title and link: shows an entry whose id has changed and nothing else. 0n when it has neither. */
  readonly essence: Fingerprint
}

/**
 * The ids of a resource that were seen, newest first.
 *
 * Packed, because a runner keeps a million of these: 24 bytes an entry of the current document, 8 bytes an id that has left it.
 * Those that left are tombstones: a feed that shrinks for a day, or an entry that comes back, must not be told as news.
 */
export interface SeenIds {
  /** The only host of the current document's URL ids; empty when there are several, or none. */
  readonly host: string
  /** Entries in the document: the largest number of late, so that one truncated document does not forget what a whole one held. */
  readonly window: number
  readonly document: ReadonlyArray<Trace>
  /** Ids that a hub pushed although their entries are old. A hub may push them again at any time: only further ones drive them out. */
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

/** A document that has changed is compared twice, one right after the other. */
let lastUnpacked: { readonly bytes: Uint8Array; readonly ids: SeenIds | undefined } | undefined

/**
 * Reads the packed form; `undefined` when nothing was ever remembered (a first fetch), or when the bytes are not ours.
 *
 * To take the second for the first is safe: the next document is stored and nobody is told, instead of everybody everything.
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

/** Reads as `unpack` reads what this gives. */
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

/** Most documents that change hold one new id, so that few questions are asked. */
const makeSeenIds = (ids: Omit<SeenIds, "has">): SeenIds => {
  const isOther = makeLookup(ids.tombstones)
  const isStray = makeLookup(ids.strays)
  const isPresent = makeLookup(ids.document.map(({ id }) => id))
  return { ...ids, has: (id) => isPresent(id) || isOther(id) || isStray(id) }
}

/** Questions that are answered by looking at all; to make a Set for them would cost more. */
const maxLinearLookups = 4

/** Whether a hash is one of these. */
export const makeLookup = (hashes: ReadonlyArray<Fingerprint>): (hash: Fingerprint) => boolean => {
  let asked = 0
  let lookup: ReadonlySet<Fingerprint> | undefined
  return (hash) => {
    if (lookup === undefined && asked++ < maxLinearLookups) return hashes.includes(hash)
    lookup ??= new Set(hashes)
    return lookup.has(hash)
  }
}

export const noSeenIds: SeenIds = makeSeenIds({ host: "", window: 0, document: [], strays: [], tombstones: [] })

/**
 * What is remembered after a document.
 *
 * `marks` are hashes to remember beside the ids. Ids that left are kept for three windows more at least, and never fewer than 200. The newest
 * 256 of the `strays`, those of this document first, are kept whatever leaves.
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
 * The hash of an http URL without its scheme: `http://a.example/1` and `https://a.example/1` have the same form. 0n for anything else.
 *
 * With `host` it is the form that the URL would have on that host. A bare home page has none there: too many sites have one.
 */
export const hashWithoutScheme = (basis: string, host?: string): Fingerprint => {
  const parts = httpUrl.exec(basis)
  if (parts === null) return 0n
  const path = parts[2] ?? ""
  if (host !== undefined && (path === "" || path === "/")) return 0n
  return ofString(`//${host ?? parts[1]?.toLowerCase()}${path}`)
}

/** The host that all http URLs among the ids share; empty when they do not, or there are none. */
export const findCommonHost = (bases: ReadonlyArray<string>): string => {
  const hosts = new Set(bases.flatMap((basis) => httpUrl.exec(basis)?.[1]?.toLowerCase() ?? []))
  return hosts.size === 1 ? [...hosts].join() : ""
}
