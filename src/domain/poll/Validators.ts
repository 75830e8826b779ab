import type { Fetched } from "#domain/ports/Fetcher.ts"

/**
 * What is known against the validators of a resource.
 *
 * `suspect`: those that are held belong to an earlier document; a 304 to them proves that the server does not look at its document.
 * `lying`: that was proved; none is held or sent any more, for a week. `trial`: they are held again, and not sent until there are news.
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
  /** Epoch ms: when the server was found to be lying last. */
  readonly caughtLyingAt?: number | undefined
}

/** Whether there was something new in the document, and whether validators were held back to find out what is there. */
export interface DocumentComparison {
  readonly changed: boolean
  /** The last answer before this one was 304, and this time nothing was asked that a 304 could answer. */
  readonly afterNotModified: boolean
  /** Epoch ms. */
  readonly now: number
}

/** Two versions of a document within so many ms may have the same Last-Modified (RFC 9110, 8.8.2.2). */
const lastModifiedResolutionMs = 60_000

/** A server may be mended: after so many ms it is tried once more. */
const retrustAfterMs = 7 * 24 * 60 * 60_000

/**
 * The validators to hold after an answer that is a 304 or a document.
 *
 * Those of a 304 that repeats none stay in force, those of another document go. One that stayed the same while there were news names no
 * document. When news come out only because nothing was held back for the server to compare, the server is asked with the old ones once more.
 */
export const nextValidators = (
  held: Validators,
  answer: Fetched,
  { afterNotModified, changed, now }: DocumentComparison
): Validators => {
  const { etag, "last-modified": lastModified } = answer.headers
  const given = { etag, lastModified }
  if (held.trust === "lying") return nextLyingValidators(held, answer, given, now)
  if (answer.status === 304) {
    return held.trust === undefined
      ? { etag: etag ?? held.etag, lastModified: lastModified ?? held.lastModified }
      : { trust: "lying", caughtLyingAt: now }
  }
  if (changed && identifyNoVersion(held, given, now)) return { trust: "lying", caughtLyingAt: now }
  if (held.trust === "trial") {
    return changed ? { ...held, trust: "suspect" } : { ...given, trust: "trial", caughtLyingAt: held.caughtLyingAt }
  }
  return changed && afterNotModified ? { ...held, trust: "suspect" } : given
}

/** Nothing is sent that a 304 could answer, so that the trial costs nobody any news: they show whether what was held then has changed with them. */
const nextLyingValidators = (held: Validators, answer: Fetched, given: Validators, now: number): Validators => {
  const { caughtLyingAt = now } = held
  const names = given.etag !== undefined || given.lastModified !== undefined
  return answer.status !== 304 && names && now - caughtLyingAt >= retrustAfterMs
    ? { ...given, trust: "trial", caughtLyingAt }
    : { trust: "lying", caughtLyingAt }
}

/** Whether the server would have called another document the same. With an ETag nothing else counts (RFC 9110, 13.2.2). */
const identifyNoVersion = (held: Validators, given: Validators, now: number): boolean => {
  if (held.etag !== undefined || given.etag !== undefined) return held.etag === given.etag
  return held.lastModified !== undefined && held.lastModified === given.lastModified &&
    now - Date.parse(held.lastModified) > lastModifiedResolutionMs
}
