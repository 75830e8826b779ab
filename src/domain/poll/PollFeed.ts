import type { Document } from "#domain/delivery/Notification.ts"
import type { Entry } from "#domain/feed/Entry.ts"
import { findTooLong } from "#domain/feed/EntryLength.ts"
import { parsePolicy } from "#domain/feed/IdPolicy.ts"
import { findNewEntries, needsWholeDocument, type NewEntries } from "#domain/feed/NewEntries.ts"
import { packFingerprints } from "#domain/Fingerprint.ts"
import type { LeftOut } from "#domain/normalize/NewestEntries.ts"
import type { RawFeed } from "#domain/normalize/ReadFeed.ts"
import { openAtEnd, tooManyElements } from "#domain/normalize/xml/MarkupParser.ts"
import type { ReadResult } from "#domain/ports/FeedReader.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import { type Announcement, maxStoredLength } from "#domain/ports/ResourceStore.ts"
import { withHeaderLinks, withKnownHubLinks } from "./HubLinks.ts"
import { failPoll } from "./PollFailure.ts"
import type { PollContext, PollResult } from "./PollStep.ts"
import { recordParsed, rememberHeader } from "./PollSuccess.ts"
import type { ResourceState } from "./Resource.ts"
import { noKills, serverProfileOf } from "./ServerProfile.ts"

/** An entry as JSON is at most so many times longer than in the document, although JSON escapes and URLs are resolved. */
const maxGrowth = 16

/** Whether a document that was read in part must be read whole. */
export const wantsWhole = (state: ResourceState, result: ReadResult): boolean =>
  result._tag === "Feed" && result.skipped > 0 && (
    state.serverProfile?.truncatedAt !== undefined || state.serverProfile?.leftOutUntil === 0 ||
    needsWholeDocument(memoryOf(state), { entries: result.feed.entries, skipped: result.skipped })
  )

const memoryOf = (state: ResourceState) => ({
  seen: state.seen,
  idPolicy: parsePolicy(state.idPolicy),
  bozoRank: state.bozoRank ?? 0
})

/** The result of a feed: its new and updated entries, and their notification. */
export const recordFeed = (
  state: ResourceState,
  answer: Fetched,
  { feed, leftOut, skipped, slices }: Extract<ReadResult, { _tag: "Feed" }>,
  context: PollContext
): PollResult => {
  const isPush = context.trigger === "push"
  const isTruncated = feed.repairs.includes(openAtEnd)
  if (isPush && isTruncated) return failPoll(state, answer.status, "Parser Error the pushed feed breaks off", context)
  const { leftOutUntil, truncatedAt } = state.serverProfile ?? {}
  const found = findNewEntries(memoryOf(state), { entries: feed.entries, skipped }, context.now, {
    ...context,
    partial: isPush,
    isTruncated,
    ...(truncatedAt !== undefined && { truncatedAt }),
    ...(leftOutUntil !== undefined && { leftOutUntil })
  })
  const tooLong = findTooLongEntry(answer, [...found.fresh, ...found.updated])
  if (tooLong !== undefined) {
    return failPoll(state, 0, `too large: an entry of ${tooLong} bytes; at most ${maxStoredLength} are kept`, context)
  }
  const count = found.fresh.length + found.updated.length
  const { serverProfile, ...parsed } = recordParsed(
    state,
    answer,
    "feed",
    count > 0,
    context,
    describeOutcome(found, feed, leftOut)
  )
  const isFirst = state.seen.length === 0
  const next: ResourceState = {
    ...parsed,
    ...serverProfileOf({
      ...serverProfile,
      ...noKills,
      leftOutUntil: isPush ? leftOutUntil : leftOut === undefined ? undefined : leftOut.notAfter ?? 0,
      truncatedAt: isPush || isTruncated && !isFirst ? truncatedAt : isTruncated ? context.now : undefined
    }),
    header: rememberHeader(
      state.header,
      isPush ? withKnownHubLinks(state.header, feed.header) : withHeaderLinks(feed.header, answer)
    ),
    seen: found.memory.seen,
    slices: isPush ? state.slices : slices === undefined ? new Uint8Array() : packFingerprints(slices),
    idPolicy: found.memory.idPolicy,
    bozoRank: found.memory.bozoRank,
    generatedIds: found.generatedIds || skipped > 0 && state.generatedIds,
    entriesSinceMaintenance: state.entriesSinceMaintenance + count
  }
  return {
    _tag: "Changed",
    change: {
      state: next,
      entries: found.fresh,
      updated: found.updated,
      announce: announcementOf(found),
      ...wholeFeedOf(state, answer)
    }
  }
}

/** The outcome for the status, with the limit of a document that is not read as a whole. */
const describeOutcome = ({ outcome }: NewEntries, { repairs }: RawFeed, leftOut: LeftOut | undefined): string =>
  leftOut !== undefined
    ? `${outcome}: the newest ones, because the document has ${leftOut.count} more`
    : repairs.includes(tooManyElements)
    ? `${outcome}: the first ones, because the document has too many elements`
    : outcome

/** The whole feed, for subscriptions on the WebSub face. A feed that is too long to be stored is not sent to these subscriptions. */
const wholeFeedOf = ({ hasHubSubscribers }: ResourceState, answer: Fetched): { readonly wholeFeed?: Document } =>
  hasHubSubscribers === undefined || answer.body.length > maxStoredLength
    ? {}
    : { wholeFeed: { contentType: answer.headers["content-type"] ?? "application/xml", body: answer.body } }

/** Bytes of the first entry that is too long to be stored. Entries of an ordinary document are not measured. */
const findTooLongEntry = (answer: Fetched, entries: ReadonlyArray<Entry>): number | undefined =>
  answer.body.length * maxGrowth <= maxStoredLength ? undefined : findTooLong(entries, maxStoredLength)

const announcementOf = ({ notified }: NewEntries): Announcement | undefined =>
  notified.length === 0 ? undefined : { _tag: "Entries", ids: notified.map(({ id }) => id).toReversed() }
