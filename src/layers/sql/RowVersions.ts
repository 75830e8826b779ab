/**
 * SQL aggregate: a number for the versions of rows, given by the aliases of their tables. The number changes with each write of a row, and with
 * the rows that are selected. Null without rows.
 *
 * A row version has a transaction and a place, which a later version never has both. The start of the server is part of the number, because a
 * server that replaces another one may have lost its last transactions and give out their numbers again. The tables must have no writes that
 * commit before they are on the disk (`commitsLater`), for the same reason.
 */
export const versionOfRows = (...aliases: ReadonlyArray<string>): string => {
  const ofRow = aliases.flatMap((alias) => [`${alias}.xmin`, `${alias}.ctid`]).join(" || ' ' || ")
  return `hashtextextended(string_agg(${ofRow}, ' ') || pg_postmaster_start_time(), 0)`
}

interface VersionedValue<A> {
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
    /** Notes a miss: the value that was read anew, and its length in characters. */
    set: (key: string, { value, version }: VersionedValue<A>, characters: number): void => {
      const length = Math.max(characters, minLength)
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
