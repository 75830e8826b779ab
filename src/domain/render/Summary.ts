import type { Entry, Text } from "#domain/feed/Entry.ts"

/** The summary as it is sent: a video at YouTube has no other words than those of its media. */
export const getSummary = ({ summary, content, media, language }: Entry): Text | undefined => {
  const words = media?.description
  if (summary !== undefined || content !== undefined || words === undefined) return summary
  return { value: words, type: "text", ...language === undefined ? {} : { language } }
}
