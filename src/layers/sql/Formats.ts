import type { Subscription } from "#domain/Subscription.ts"

type FormatChoice = Pick<Subscription, "format" | "feedsOnly">

/** Stored numbers of the formats: append only. */
export const formats: ReadonlyArray<FormatChoice> = [
  { format: "atom" },
  { format: "json" },
  { format: "atom", feedsOnly: true },
  { format: "json", feedsOnly: true }
]

export const formatCode = ({ feedsOnly, format }: FormatChoice): number | null => {
  const code = formats.findIndex((known) => known.format === format && known.feedsOnly === (feedsOnly || undefined))
  return code < 0 ? null : code
}
