import { Effect } from "effect"
import type { Entry } from "#domain/feed/Entry.ts"
import type { News, Notification } from "#domain/delivery/Notification.ts"
import { maxStoredLength, type PollWrite } from "#domain/ports/ResourceStore.ts"
import { StoreError } from "#domain/ports/StoreError.ts"
import { statusOf } from "#domain/poll/Resource.ts"

/**
 * What is told of a change whose entries `written` were new or different to the store; undefined when nothing is left.
 * `whole`: the feed itself was kept with it.
 */
export const newsOf = (change: PollWrite, written: (id: string) => boolean, whole: boolean): News | undefined => {
  const announce = change.announce
  if (announce?._tag !== "Entries") return announce
  const byId = new Map([...change.entries, ...change.updated].map((entry) => [entry.id, entry]))
  const entries = [...new Set(announce.ids)].flatMap((id): ReadonlyArray<Entry> => {
    const entry = byId.get(id)
    return entry === undefined || !written(id) ? [] : [entry]
  })
  if (entries.length === 0) return undefined
  return { _tag: "Entries", entries, ...(whole && change.whole !== undefined ? { whole: change.whole } : {}) }
}

export const notificationOf = (change: PollWrite, news: News, id: number, createdAt: number): Notification => {
  const { feed: _, ...status } = statusOf(change.state, "")
  const bare = { id, resourceId: change.state.id, createdAt, status, news }
  return news._tag === "Document" || change.state.header === undefined ? bare : { ...bare, header: change.state.header }
}

/** The bytes that `EntryStore.document` gives after this change, when it brings some. */
export const documentOf = (change: PollWrite) =>
  change.announce?._tag === "Document" ? change.announce.document : change.document

/** The entries, then the updated ones, as JSON. */
export const bodiesOf = (change: PollWrite): ReadonlyArray<string> =>
  [...change.entries, ...change.updated].map((entry) => JSON.stringify(entry))

/** Fails a change that no engine could give back, since a row has its limits on the wire; `bodies` are those of `bodiesOf`. */
export const checkLength = (change: PollWrite, bodies: ReadonlyArray<string>): Effect.Effect<void, StoreError> => {
  const body = Math.max(documentOf(change)?.body.byteLength ?? 0, change.whole?.body.byteLength ?? 0)
  if (body > maxStoredLength) return tooLarge(`The document of ${change.state.url}`, body)
  for (const json of bodies) {
    const length = Buffer.byteLength(json)
    if (length > maxStoredLength) return tooLarge(`An entry of ${change.state.url}`, length)
  }
  return Effect.void
}

const tooLarge = (what: string, length: number) =>
  Effect.fail(
    new StoreError({
      reason: { _tag: "Defect", message: `${what} has ${length} bytes; at most ${maxStoredLength} can be stored.` }
    })
  )
