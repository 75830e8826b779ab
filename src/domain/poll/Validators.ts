import type { Fetched } from "#domain/ports/Fetcher.ts"
import { dayMs } from "#domain/Time.ts"

/**
 * Doubts about the validators of a server.
 *
 * `suspect`: the known validators belong to an earlier document. A 304 to these validators proves a lie.
 * `lying`: the lie is proved, or the server refuses requests with validators. For a week no validators are kept or sent.
 * `trial`: validators are kept again, and not sent until the next news.
 *
 *                 news that only a whole fetch has shown          304 to the old ones
 *   trusted ◄──────────────────────────────────────────► suspect ─────────────────────► lying
 *                                  200 to the old ones      ▲                             │ a week
 *                                                           └────────── trial ◄───────────┘
 *                                                                news
 */
export type ValidatorTrust = "suspect" | "lying" | "trial"

/** ETag and Last-Modified as the server gave them, byte for byte. */
export interface Validators {
  readonly etag?: string | undefined
  readonly lastModified?: string | undefined
  readonly trust?: ValidatorTrust | undefined
  /** Epoch ms of the last proven lie, or of the last refusal. */
  readonly caughtLyingAt?: number | undefined
  /** The last request with validators may have been refused, see `ConditionRefusal`. */
  readonly refusedOnce?: true | undefined
}

/**
 * A conditional request that failed, while the same request without conditions succeeded at once.
 *
 * `certain`: the status concerns the request. `possible`: a fault of the moment looks the same, so that only two in a row count.
 */
export type ConditionRefusal = "certain" | "possible"

/** The comparison of a document with the last one. */
export interface DocumentComparison {
  readonly changed: boolean
  /** The previous answer was 304, and this request was unconditional. */
  readonly afterNotModified: boolean
  readonly refusal?: ConditionRefusal | undefined
  /** Epoch ms. */
  readonly now: number
}

/** Two versions within so many ms may have the same Last-Modified (RFC 9110, 8.8.2.2). */
const lastModifiedResolutionMs = 60_000

/** A lying server gets another trial after so many ms, because its operator may have repaired the server. */
const retrustAfterMs = 7 * dayMs

/**
 * The validators to keep after a 304 or a document.
 *
 * A 304 without validators keeps the known ones, a document replaces the known ones. A validator that stays the same across news
 * identifies no version. When only an unconditional request shows news, the old validators are sent once more as a test.
 */
export const nextValidators = (
  known: Validators,
  answer: Fetched,
  comparison: DocumentComparison
): Validators => {
  const { now, refusal } = comparison
  if (refusal === undefined) return nextTrustedValidators(known, answer, comparison)
  if (refusal === "certain" || known.refusedOnce === true) return { trust: "lying", caughtLyingAt: now }
  const next = known.trust === "suspect" ? known : nextTrustedValidators(known, answer, comparison)
  return { ...next, refusedOnce: true }
}

const nextTrustedValidators = (
  known: Validators,
  answer: Fetched,
  { afterNotModified, changed, now }: DocumentComparison
): Validators => {
  const { etag, "last-modified": lastModified } = answer.headers
  const given = { etag, lastModified }
  if (known.trust === "lying") return nextLyingValidators(known, answer, given, now)
  if (answer.status === 304) {
    return known.trust === undefined
      ? { etag: etag ?? known.etag, lastModified: lastModified ?? known.lastModified }
      : { trust: "lying", caughtLyingAt: now }
  }
  if (changed && identifyNoVersion(known, given, now)) return { trust: "lying", caughtLyingAt: now }
  if (known.trust === "trial") {
    return changed ? { ...known, trust: "suspect" } : { ...given, trust: "trial", caughtLyingAt: known.caughtLyingAt }
  }
  return changed && afterNotModified ? { ...known, trust: "suspect" } : given
}

/** A trial sends no validators, so no subscriber misses news. The next news show whether the validators changed as well. */
const nextLyingValidators = (known: Validators, answer: Fetched, given: Validators, now: number): Validators => {
  const { caughtLyingAt = now } = known
  const hasValidator = given.etag !== undefined || given.lastModified !== undefined
  return answer.status !== 304 && hasValidator && now - caughtLyingAt >= retrustAfterMs
    ? { ...given, trust: "trial", caughtLyingAt }
    : { trust: "lying", caughtLyingAt }
}

/** Whether the validators call two different documents the same. With an ETag, Last-Modified does not count (RFC 9110, 13.2.2). */
const identifyNoVersion = (known: Validators, given: Validators, now: number): boolean => {
  if (known.etag !== undefined || given.etag !== undefined) return known.etag === given.etag
  return known.lastModified !== undefined && known.lastModified === given.lastModified &&
    now - Date.parse(known.lastModified) > lastModifiedResolutionMs
}
