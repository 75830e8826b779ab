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
