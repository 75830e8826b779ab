import { httpDate } from "#domain/HttpDate.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import { dayMs, minuteMs } from "#domain/Time.ts"

/** Delay of a resource after a 429 or 403 without a time, in ms. */
const defaultDelayMs = minuteMs

/**
 * The earliest time of the next fetch, epoch ms, at most a day from now.
 *
 * The server names the time in `Retry-After`, in seconds or as a date. Without that header, the reset of a used up rate limit counts.
 */
export const retryTime = ({ headers }: Fetched, now: number): number | undefined => {
  const at = parseRetryAfter(headers["retry-after"], now) ??
    (isLimitUsedUp(headers)
      ? parseRetryAfter(headers["x-ratelimit-reset"] ?? headers["ratelimit-reset"], now)
      : undefined)
  return at === undefined ? undefined : Math.min(at, now + dayMs)
}

/**
 * Reads seconds or a date as a time in epoch ms.
 *
 * Numbers above 1e9 are seconds since 1970. Fractions are rounded up, because some servers divide seconds.
 */
export const parseRetryAfter = (value: string | undefined, now: number): number | undefined => {
  const text = value?.trim() ?? ""
  if (!/^\d+(?:\.\d+)?$/.test(text)) return httpDate(text)
  const seconds = Math.ceil(Number(text))
  return seconds > 1e9 ? seconds * 1000 : now + seconds * 1000
}

/**
 * The time (epoch ms) until which the resource is to be left alone, if the answer refuses the client; at most a day from now.
 *
 * A 429 means the client, and so does a 403 that names a limit. A 503 may mean one document, unless the server says when to come again.
 */
export const refusalEnd = (answer: Fetched, now: number): number | undefined =>
  isOverloaded(answer)
    ? retryTime(answer, now) ?? (answer.status === 503 ? undefined : now + defaultDelayMs)
    : undefined

export const isOverloaded = ({ headers, status }: Fetched): boolean =>
  status === 429 || status === 503 || status === 403 && (headers["retry-after"] !== undefined || isLimitUsedUp(headers))

/** GitHub and other servers answer 403 for a used up limit, and name the limit in headers of their own. */
const isLimitUsedUp = (headers: Fetched["headers"]): boolean =>
  (headers["x-ratelimit-remaining"] ?? headers["ratelimit-remaining"])?.trim() === "0"
