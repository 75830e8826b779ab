import { countDays } from "./normalize/dates/Instant.ts"

/** A date, and a time of day with a zone. */
export const rfc3339Pattern =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/**
 * Parses a time of RFC 3339 into epoch ms, for example `2026-01-31T09:30:00Z`. Undefined for all other texts.
 *
 * `Date.parse` alone takes 30 February for 2 March.
 */
export const parseRfc3339 = (text: string): number | undefined => {
  if (!rfc3339Pattern.test(text)) return undefined
  const [year, month, day] = [text.slice(0, 4), text.slice(5, 7), text.slice(8, 10)].map(Number)
  return (day ?? 0) <= countDays(year ?? 0, month ?? 0) ? Date.parse(text) : undefined
}
