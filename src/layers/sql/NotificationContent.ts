import { Effect } from "effect"
import type { Entry } from "#domain/feed/Entry.ts"
import { findTooLong } from "#domain/feed/EntryLength.ts"
import type { News, Notification } from "#domain/delivery/Notification.ts"
import { maxStoredLength, type PollWrite } from "#domain/ports/ResourceStore.ts"
import { StoreError } from "#domain/ports/StoreError.ts"
import { statusOf } from "#domain/poll/Resource.ts"

/**
 * News of a poll write for its subscribers; undefined without news.
 * `isWritten` tells whether the store had to write an entry, `isWholeKept` whether the notification stores the whole feed.
 */
export const newsOfWrite = (
  write: PollWrite,
  isWritten: (entryId: string) => boolean,
  isWholeKept: boolean
): News | undefined => {
  const { announce, wholeFeed } = write
  if (announce?._tag !== "Entries") return announce
  const byId = new Map([...write.entries, ...write.updated].map((entry) => [entry.id, entry]))
  const entries = [...new Set(announce.ids)].flatMap((id): ReadonlyArray<Entry> => {
    const entry = byId.get(id)
    return entry === undefined || !isWritten(id) ? [] : [entry]
  })
  if (entries.length === 0) return undefined
  return { _tag: "Entries", entries, ...(isWholeKept && wholeFeed !== undefined ? { wholeFeed } : {}) }
}

/** The status of a notification: the topic is added for each subscriber. */
export const statusToSend = ({ state }: Pick<PollWrite, "state">): Notification["status"] => {
  const { feed: _, ...status } = statusOf(state, "")
  return status
}

export const notificationOfWrite = (
  write: Pick<PollWrite, "state">,
  news: News,
  id: number,
  createdAt: number
): Notification => {
  const { header, id: resourceId } = write.state
  const notification = { id, resourceId, createdAt, status: statusToSend(write), news }
  return news._tag === "Document" || header === undefined ? notification : { ...notification, header }
}

/** The document that `EntryStore.document` returns after this write; undefined when the write leaves the stored one. */
export const documentOf = ({ announce, document }: PollWrite) =>
  announce?._tag === "Document" ? announce.document : document

/** Rejects a write that is too large to be read back, because the protocol limits the bytes of a row. */
export const checkLength = (write: PollWrite): Effect.Effect<void, StoreError> => {
  const documentLength = Math.max(documentOf(write)?.body.byteLength ?? 0, write.wholeFeed?.body.byteLength ?? 0)
  if (documentLength > maxStoredLength) return rejectLength(`The document of ${write.state.url}`, documentLength)
  const entryLength = findTooLong([...write.entries, ...write.updated], maxStoredLength)
  return entryLength === undefined ? Effect.void : rejectLength(`An entry of ${write.state.url}`, entryLength)
}

const rejectLength = (subject: string, length: number) =>
  Effect.fail(
    new StoreError({
      reason: {
        _tag: "Defect",
        message: `${subject} has ${length} bytes; at most ${maxStoredLength} can be stored.`
      }
    })
  )
