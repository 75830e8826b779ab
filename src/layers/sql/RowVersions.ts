import { randomBytes } from "node:crypto"

/** Seed of the hashes of this process. A publisher who does not know it cannot search for contents with the same hash. */
const seed = randomBytes(8).readBigInt64LE()

/**
 * SQL aggregate: a hash of these columns over all rows. `key` must be unique among the rows, and is part of the hash. The order of the rows does
 * not matter. Null without rows.
 *
 * Each row has a seed of its own: with a common one, the same change in two rows would often cancel out.
 */
export const versionOf = (key: string, columns: ReadonlyArray<string>): string =>
  `bit_xor(hash_record_extended(row(${[key, ...columns].join(", ")}), hashint8extended(${key}, '${seed}'::int8)))`

/**
 * SQL aggregate: as `versionOf`, for the versions of rows instead of their contents. `alias` names the table, and `key` its primary key.
 *
 * A transaction gives each row that it writes its own number, `xmin`. A server that loses commits in a crash uses their numbers again, so writes
 * of the table must wait for the disk (`synchronous_commit`). A server that takes over may have lost commits too, so the version includes the
 * start of the server.
 */
export const versionOfRows = (alias: string, key: string): string =>
  versionOf(`${alias}.${key}`, [`${alias}.xmin`, "pg_postmaster_start_time()"])

export interface VersionedValue<A> {
  readonly version: bigint
  /** Immutable: readers share it. */
  readonly value: A
}

interface KeptValue<A> extends VersionedValue<A> {
  readonly length: number
}

/**
 * Keeps what readers have read, so that the database sends only what has changed since.
 *
 * It keeps values of `maxLength` characters together. A value counts as `minLength` characters at least, which bounds the number of values, and
 * so the memory of what readers attach to these.
 *
 * A full memory takes no further values, and is emptied after misses of 16 times its length. A memory that replaced its oldest value at each
 * miss would cost garbage collections: readers of more pages than it holds would move each page to the old generation for nothing.
 */
export const makeVersionMemory = <A>(maxLength: number, minLength: number) => {
  const kept = new Map<string, KeptValue<A>>()
  let keptLength = 0
  let missedLength = 0
  return {
    get: (key: string): VersionedValue<A> | undefined => kept.get(key),
    /** Keeps a value that was read because it was missing or had changed, if there is room for its characters. */
    keep: (key: string, { value, version }: VersionedValue<A>, characters: number): void => {
      const length = Math.max(characters, minLength)
      if (length > maxLength) return
      missedLength += length
      if (missedLength > 16 * maxLength) {
        kept.clear()
        keptLength = missedLength = 0
      }
      keptLength -= kept.get(key)?.length ?? 0
      kept.delete(key)
      if (keptLength + length > maxLength) return
      kept.set(key, { version, value, length })
      keptLength += length
    }
  }
}
