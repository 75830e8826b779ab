import { PgTypes } from "@effect/sql-pg"
import { Result } from "effect"
import type { Fingerprint } from "#domain/Fingerprint.ts"

const { OID } = PgTypes

/** The values are of the column's type by construction, so that encoding them cannot fail. */
const array = (values: ReadonlyArray<unknown>, oid: number): PgTypes.Parameter =>
  Result.getOrThrow(PgTypes.array(values, oid))

/** Columns for `unnest`, typed. Numbers are JavaScript's: ids and epoch milliseconds are exact in a float8. */
export const column = {
  ids: (values: ReadonlyArray<number>) => array(values.map(BigInt), OID.int8),
  hashes: (values: ReadonlyArray<Fingerprint | null>) => array(values.map(signed), OID.int8),
  /** What a publisher invents as a date is moved to where PostgreSQL has dates. */
  dates: (values: ReadonlyArray<number | undefined>) => array(values.map(dated), OID.float8),
  numbers: (values: ReadonlyArray<number | null | undefined>) => array(values.map(orNull), OID.float8),
  integers: (values: ReadonlyArray<number | null | undefined>) => array(values.map(orNull), OID.int4),
  texts: (values: ReadonlyArray<string | null | undefined>) => array(values.map(legal), OID.text),
  bytes: (values: ReadonlyArray<Uint8Array | null | undefined>) => array(values.map(orNull), OID.bytea),
  booleans: (values: ReadonlyArray<boolean>) => array(values, OID.bool)
}

/** Rows that the database expects of an array that it does not know yet. */
const expected = 10

/**
 * With as many values as the database expects, at least: for fewer it would rather make a plan of its own each time than keep one, and
 * for a look-up of one row that is most of the cost. `blank` must not change the answer.
 */
export const filled = <A, B>(values: ReadonlyArray<A>, blank: B): ReadonlyArray<A | B> =>
  values.length >= expected
    ? values
    : [...values, ...Array.from({ length: expected - values.length }, () => blank)]

/** As they come from the client, bytes are a part of the buffer of all rows, and would keep it in memory. */
export const copyOf = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes)

const orNull = <A>(value: A | null | undefined): A | null => value ?? null

/** Julian day 0, with which PostgreSQL's time starts; it ends later than JavaScript's. */
const firstDay = -210_866_803_200_000
const lastDay = 8_640_000_000_000_000

const dated = (millis: number | undefined): number | null =>
  millis === undefined || Number.isNaN(millis) ? null : Math.min(Math.max(millis, firstDay), lastDay)

/** SQL has no unsigned numbers. */
const signed = (fingerprint: Fingerprint | null): bigint | null =>
  fingerprint === null ? null : BigInt.asIntN(64, fingerprint)

export const unsigned = (stored: bigint): Fingerprint => BigInt.asUintN(64, stored)

/** PostgreSQL's text has no U+0000 and no half of a surrogate pair. JSON keeps both as escapes; elsewhere they mean nothing. */
const legal = (value: string | null | undefined): string | null =>
  value === null || value === undefined ? null : legalText(value)

export const legalText = (value: string): string => value.replaceAll("\u0000", "").toWellFormed()

/** For ever, as a time: the year 5138. The last day that a timestamp can hold is farther away. */
export const farFuture = 1e14

/** Epoch milliseconds of a timestamptz, as a select expression; null stays null. */
export const millis = (expression: string): string => `round(extract(epoch from ${expression}) * 1000)::float8`

/** A timestamptz from epoch milliseconds, as an expression. */
export const instant = (expression: string): string => `to_timestamp((${expression}) / 1000.0)`

/** The key of a resource by its URL, as an expression. */
export const urlKey = (url: string): string => `substring(sha256(convert_to(${url}, 'UTF8')) for 16)`
