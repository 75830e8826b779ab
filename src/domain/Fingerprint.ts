import xxhash from "xxhash-wasm"

/**
 * A 64-bit xxHash: what a document, an entry's bytes or an id is recognised by.
 *
 * Not cryptographic. A stranger who makes two of their own entries collide hides one of them from their own subscribers, nothing more.
 * Unsigned: 0n to 2^64 - 1 (a signed SQL bigint needs `BigInt.asIntN(64, …)`).
 */
export type Fingerprint = bigint

const { h64, h64Raw } = await xxhash()

export const ofBytes = (bytes: Uint8Array): Fingerprint => h64Raw(bytes)

/** Of the string's UTF-8 form: equal to `ofBytes` of it. */
export const ofString = (value: string): Fingerprint => h64(value)

/** Fingerprints as they are stored, 8 bytes each. */
export const packAll = (fingerprints: ReadonlyArray<Fingerprint>): Uint8Array => {
  const bytes = new Uint8Array(fingerprints.length * 8)
  const view = new DataView(bytes.buffer)
  fingerprints.forEach((fingerprint, i) => view.setBigUint64(i * 8, fingerprint, true))
  return bytes
}

/** Reads what `packAll` gives. */
export const unpackAll = (bytes: Uint8Array): ReadonlySet<Fingerprint> => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const fingerprints = new Set<Fingerprint>()
  for (let at = 0; at + 8 <= bytes.length; at += 8) fingerprints.add(view.getBigUint64(at, true))
  return fingerprints
}
