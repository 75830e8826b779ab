import type { Entry } from "#domain/feed/Entry.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { Document, News, Notification } from "#domain/delivery/Notification.ts"
import type { Status } from "#domain/poll/Status.ts"
import { copyOf, millis } from "./Values.ts"

export interface NotificationRow {
  readonly id: number
  readonly resource: number
  readonly kind: number
  readonly status: string
  readonly header: string | null
  readonly content_type: string | null
  readonly document: Uint8Array | null
  readonly created: number
  readonly bodies: ReadonlyArray<string> | null
}

/** A notification `n` with its entries, as select expressions. */
export const notificationColumns = `
  n.id::float8 as id, n.resource_id::float8 as resource, n.kind, n.status, n.header, n.content_type, n.document, ${
  millis("n.created_at")
} as created,
  (select array_agg(e.body order by array_position(n.entry_seqs, e.seq)) from entries e
    where e.resource_id = n.resource_id and e.seq = any(n.entry_seqs)) as bodies`

export const notificationOf = (row: NotificationRow): Notification => ({
  id: row.id,
  resourceId: row.resource,
  createdAt: row.created,
  status: JSON.parse(row.status) as Omit<Status, "feed">,
  ...(row.header === null ? {} : { header: JSON.parse(row.header) as FeedHeader }),
  news: newsOf(row)
})

const newsOf = (row: NotificationRow): News => {
  switch (row.kind) {
    case 0:
      return {
        _tag: "Entries",
        entries: (row.bodies ?? []).map((body) => JSON.parse(body) as Entry),
        ...(row.document === null ? {} : { whole: documentOf(row) })
      }
    case 1:
      return { _tag: "Document", document: documentOf(row) }
    default:
      return { _tag: "Failure" }
  }
}

const documentOf = (row: NotificationRow): Document => ({
  contentType: row.content_type ?? "application/octet-stream",
  body: copyOf(row.document ?? new Uint8Array())
})
