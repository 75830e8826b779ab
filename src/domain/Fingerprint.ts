import xxhash from "xxhash-wasm"

/**
 * A 64-bit xxHash of a document, of an entry's bytes or of an id.
 *
 * Not cryptographic. A publisher with two colliding entries only hides one entry from the publisher's own subscribers.
 * Unsigned: 0n to 2^64 - 1 (a signed SQL bigint needs `BigInt.asIntN(64, …)`).
 */
export type Fingerprint = bigint

const { h64, h64Raw } = await xxhash()

export const hashBytes = (bytes: Uint8Array): Fingerprint => h64Raw(bytes)

/** The fingerprint of a string's UTF-8 form, equal to `hashBytes` of these bytes. */
export const hashString = (value: string): Fingerprint => h64(value)

/** Packs fingerprints for the database, 8 bytes each. */
export const packFingerprints = (fingerprints: ReadonlyArray<Fingerprint>): Uint8Array => {
  const bytes = new Uint8Array(fingerprints.length * 8)
  const view = new DataView(bytes.buffer)
  fingerprints.forEach((fingerprint, i) => view.setBigUint64(i * 8, fingerprint, true))
  return bytes
}

/** Unpacks the result of `packFingerprints`. */
export const unpackFingerprints = (bytes: Uint8Array): ReadonlySet<Fingerprint> => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const fingerprints = new Set<Fingerprint>()
  for (let at = 0; at + 8 <= bytes.length; at += 8) fingerprints.add(view.getBigUint64(at, true))
  return fingerprints
}

/** Compares the fingerprint of a document with the previous one. A first document is no change. */
export const compareFingerprints = (
  previous: Fingerprint | undefined,
  current: Fingerprint
): "first" | "unchanged" | "changed" =>
  previous === undefined ? "first" : previous === current ? "unchanged" : "changed"

/** A fingerprint as 16 hex digits. */
export const toHex = (fingerprint: Fingerprint): string => fingerprint.toString(16).padStart(16, "0")
