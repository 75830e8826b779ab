import type { RawEntry } from "#domain/feed/EntryId.ts"
import type { ReadResult } from "#domain/normalize/ReadFeed.ts"

/** A part of the result for one document. The last part has the result itself, without entries. */
export interface ResultPart {
  readonly entries: ReadonlyArray<RawEntry>
  readonly result: ReadResult | undefined
}

/** Approximate characters of one part. The event loop deserializes a part in one go: 1 MB takes about 10 ms. */
const maxPartLength = 500_000

/** Splits a result between entries, so that no part blocks the event loop for long. */
export function* splitResult(result: ReadResult): Generator<ResultPart> {
  if (result._tag === "NotFeed") return yield { entries: [], result }
  let entries: Array<RawEntry> = []
  let length = 0
  for (const entry of result.feed.entries) {
    entries.push(entry)
    length += estimateLength(entry)
    if (length < maxPartLength) continue
    yield { entries, result: undefined }
    entries = []
    length = 0
  }
  yield { entries, result: { ...result, feed: { ...result.feed, entries: [] } } }
}

/** Characters of the long texts, plus 500 for all other fields. */
const estimateLength = ({ content, summary }: RawEntry): number =>
  500 + (summary?.value.length ?? 0) + (content ?? []).reduce((sum, { value }) => sum + value.length, 0)

/** Reverses `splitResult`. */
export const joinParts = (result: ReadResult, entries: ReadonlyArray<RawEntry>): ReadResult =>
  result._tag === "Feed" ? { ...result, feed: { ...result.feed, entries } } : result
