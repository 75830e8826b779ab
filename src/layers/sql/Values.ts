import { PgTypes } from "@effect/sql-pg"
import { Result } from "effect"
import type { Fingerprint } from "#domain/Fingerprint.ts"

const { OID } = PgTypes

/** Encoding cannot fail, because each caller passes values of the type. */
const array = (values: ReadonlyArray<unknown>, oid: number): PgTypes.Parameter =>
  Result.getOrThrow(PgTypes.array(values, oid))

/** Typed array parameters for `unnest`. Ids and epoch milliseconds are JavaScript numbers, which a float8 holds exactly. */
export const column = {
  ids: (values: ReadonlyArray<number>) => array(values.map(BigInt), OID.int8),
  hashes: (values: ReadonlyArray<Fingerprint | null>) => array(values.map(toSigned), OID.int8),
  versions: (values: ReadonlyArray<bigint | undefined>) => array(values.map(orNull), OID.int8),
  /** Dates of publishers, moved into the range of PostgreSQL. */
  dates: (values: ReadonlyArray<number | undefined>) => array(values.map(clampDate), OID.float8),
  numbers: (values: ReadonlyArray<number | null | undefined>) => array(values.map(orNull), OID.float8),
  integers: (values: ReadonlyArray<number | null | undefined>) => array(values.map(orNull), OID.int4),
  texts: (values: ReadonlyArray<string | null | undefined>) => array(values.map(legalOrNull), OID.text),
  bytes: (values: ReadonlyArray<Uint8Array | null | undefined>) => array(values.map(orNull), OID.bytea),
  booleans: (values: ReadonlyArray<boolean>) => array(values, OID.bool)
}

/** Rows that the planner expects from an array of unknown length. */
const expectedRows = 10

/**
 * Fills an array up to the length that the planner expects.
 *
 * For a shorter array PostgreSQL makes a new plan each time, which is most of the cost of a look-up of one row.
 * `blank` must not change the result.
 */
export const padValues = <A, B>(values: ReadonlyArray<A>, blank: B): ReadonlyArray<A | B> =>
  values.length >= expectedRows
    ? values
    : [...values, ...Array.from({ length: expectedRows - values.length }, () => blank)]

/** A copy of bytes from the driver. The original is a part of the buffer of all rows, and would keep the buffer in memory. */
export const copyOf = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes)

const orNull = <A>(value: A | null | undefined): A | null => value ?? null

/** PostgreSQL dates start with Julian day 0 and end after those of JavaScript. */
const firstDay = -210_866_803_200_000
const lastDay = 8_640_000_000_000_000

const clampDate = (millis: number | undefined): number | null =>
  millis === undefined || Number.isNaN(millis) ? null : Math.min(Math.max(millis, firstDay), lastDay)

/** SQL has no unsigned numbers. */
const toSigned = (fingerprint: Fingerprint | null): bigint | null =>
  fingerprint === null ? null : BigInt.asIntN(64, fingerprint)

export const unsigned = (stored: bigint): Fingerprint => BigInt.asUintN(64, stored)

/** PostgreSQL's text has no U+0000 and no half of a surrogate pair. JSON keeps both as escapes; other texts lose both. */
const legalOrNull = (value: string | null | undefined): string | null =>
  value === null || value === undefined ? null : legalText(value)

export const legalText = (value: string): string => value.replaceAll("\u0000", "").toWellFormed()

/** Escapes the special characters of `like`. */
export const escapePattern = (text: string): string => text.replace(/[\\%_]/g, "\\$&")

/** Epoch ms of the year 5138: the substitute for an infinite time. A timestamp can hold later ones. */
export const farFuture = 1e14

/**
 * SQL expression: epoch milliseconds of a timestamptz, rounded. Null stays null.
 *
 * `extract` returns a numeric, whose multiplication and conversion take ten times as long as the same with floats. Whole microseconds come
 * first, because a half of a millisecond is no exact float in seconds. From the year 70,000 on, the last millisecond can differ.
 */
export const millis = (expression: string): string =>
  `floor((round(date_part('epoch', ${expression}) * 1000000) + 500) / 1000)`

/** SQL expression: a timestamptz from epoch milliseconds. */
export const instant = (expression: string): string => `to_timestamp((${expression}) / 1000.0)`

/** SQL expression: the key of a resource from its URL. */
export const urlKey = (url: string): string => `substring(sha256(convert_to(${url}, 'UTF8')) for 16)`
