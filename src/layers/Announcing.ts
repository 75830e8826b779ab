import { Effect } from "effect"
import type { Entry } from "#domain/Entry.ts"
import type { News, Notification } from "#domain/Notification.ts"
import { type Change, maxStoredLength } from "#domain/ports/ResourceStore.ts"
import { StoreError } from "#domain/ports/StoreError.ts"
import { statusOf } from "#domain/Resource.ts"

/** What is told of a change whose entries `written` were new or different to the store; undefined when nothing is left. */
export const newsOf = (change: Change, written: (id: string) => boolean): News | undefined => {
  const announce = change.announce
  if (announce?._tag !== "Entries") return announce
  const byId = new Map([...change.entries, ...change.updated].map((entry) => [entry.id, entry]))
  const entries = announce.ids.flatMap((id): ReadonlyArray<Entry> => {
    const entry = byId.get(id)
    return entry === undefined || !written(id) ? [] : [entry]
  })
  return entries.length === 0 ? undefined : { _tag: "Entries", entries }
}

export const notificationOf = (change: Change, news: News, id: number, createdAt: number): Notification => {
  const { feed: _, ...status } = statusOf(change.state, "")
  const bare = { id, resourceId: change.state.id, createdAt, status, news }
  return news._tag === "Document" || change.state.header === undefined ? bare : { ...bare, header: change.state.header }
}

/** The bytes that `EntryStore.document` gives after this change, when it brings some. */
export const documentOf = (change: Change) =>
  change.announce?._tag === "Document" ? change.announce.document : change.document

/** Fails a change that no engine could give back: a row has its limits on the wire. */
export const checkLength = (change: Change): Effect.Effect<void, StoreError> => {
  const body = documentOf(change)?.body.byteLength ?? 0
  if (body > maxStoredLength) return tooLarge(`The document of ${change.state.url}`, body)
  for (const entry of [...change.entries, ...change.updated]) {
    const length = lengthOf(entry)
    if (length > maxStoredLength) return tooLarge(`An entry of ${change.state.url}`, length)
  }
  return Effect.void
}

const lengthOf = (entry: Entry): number => Buffer.byteLength(JSON.stringify(entry))

const tooLarge = (what: string, length: number) =>
  Effect.fail(
    new StoreError({
      reason: "defect",
      message: `${what} has ${length} bytes; at most ${maxStoredLength} can be stored.`
    })
  )
