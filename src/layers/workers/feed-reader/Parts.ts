import type { RawEntry } from "#domain/feed/EntryId.ts"
import type { ReadResult } from "#domain/normalize/ReadFeed.ts"

/** A part of the answer to one document; the last one has the result, whose own entries were sent before. */
export interface ResultPart {
  readonly entries: ReadonlyArray<RawEntry>
  readonly result: ReadResult | undefined
}

/** Characters of texts in one part, about: what arrives is built up again on the event loop in one go, 1 MB in some 10 ms. */
const LENGTH = 500_000

/** Cuts a result between entries, so that none of its parts holds up the one who gets it. */
export function* splitResult(result: ReadResult): Generator<ResultPart> {
  if (result._tag === "NotFeed") return yield { entries: [], result }
  let entries: Array<RawEntry> = []
  let length = 0
  for (const entry of result.feed.entries) {
    entries.push(entry)
    length += lengthOf(entry)
    if (length < LENGTH) continue
    yield { entries, result: undefined }
    entries = []
    length = 0
  }
  yield { entries, result: { ...result, feed: { ...result.feed, entries: [] } } }
}

/** The long texts; all else together is about as long as a short text. */
const lengthOf = ({ summary, content }: RawEntry): number =>
  500 + (summary?.value.length ?? 0) + (content ?? []).reduce((sum, { value }) => sum + value.length, 0)

/** Gives `partsOf` back its result. */
export const joinParts = (result: ReadResult, entries: ReadonlyArray<RawEntry>): ReadResult =>
  result._tag === "Feed" ? { ...result, feed: { ...result.feed, entries } } : result
