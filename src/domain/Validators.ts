import type { Fetched } from "./ports/Fetcher.ts"

/**
 * What is known against the validators of a resource.
 *
 * `suspect`: those that are held belong to an earlier document; a 304 to them proves that the server does not look at its document.
 * `lying`: that was proved; none is held or sent any more.
 */
export type Distrust = "suspect" | "lying"

/** ETag and Last-Modified as the server gave them, byte for byte. */
export interface Validators {
  readonly etag?: string | undefined
  readonly lastModified?: string | undefined
  readonly distrust?: Distrust | undefined
}

/** Whether there was something new in the document, and whether validators were held back to find out what is there. */
export interface Finding {
  readonly news: boolean
  /** The last answer before this one was 304, and this time nothing was asked that a 304 could answer. */
  readonly afterSilence: boolean
  /** Epoch ms. */
  readonly now: number
}

/** Two versions of a document within so many ms may have the same Last-Modified (RFC 9110, 8.8.2.2). */
const coarse = 60_000

/**
 * The validators to hold after an answer that is a 304 or a document.
 *
 * Those of a 304 that repeats none stay in force, those of another document go. One that stayed the same while there were news names no
 * document. When news come out only because nothing was held back for the server to compare, the server is asked with the old ones once more.
 */
export const validatorsAfter = (
  held: Validators,
  answer: Fetched,
  { afterSilence, news, now }: Finding
): Validators => {
  if (held.distrust === "lying") return lying
  const { etag, "last-modified": lastModified } = answer.headers
  if (answer.status === 304) {
    return held.distrust === "suspect"
      ? lying
      : { etag: etag ?? held.etag, lastModified: lastModified ?? held.lastModified }
  }
  if (news && namesNothing(held, { etag, lastModified }, now)) return lying
  return news && afterSilence ? { ...held, distrust: "suspect" } : { etag, lastModified }
}

const lying: Validators = { distrust: "lying" }

/** Whether the server would have called another document the same. With an ETag nothing else counts (RFC 9110, 13.2.2). */
const namesNothing = (held: Validators, given: Validators, now: number): boolean => {
  if (held.etag !== undefined || given.etag !== undefined) return held.etag === given.etag
  return held.lastModified !== undefined && held.lastModified === given.lastModified &&
    now - Date.parse(held.lastModified) > coarse
}
