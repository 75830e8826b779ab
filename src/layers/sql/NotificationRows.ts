import type { Document, News, Notification } from "#domain/delivery/Notification.ts"
import { decodeEntry, decodeHeader, decodeStatus } from "./StoredJson.ts"
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

/** Columns of a `NotificationRow` from notifications `n`, with the bodies of its entries. */
export const notificationSelect = `
  n.id::float8 as id, n.resource_id::float8 as resource, n.kind, n.status, n.header, n.content_type, n.document,
  ${millis("n.created_at")} as created,
  (select array_agg(e.body order by array_position(n.entry_seqs, e.seq)) from entries e
    where e.resource_id = n.resource_id and e.seq = any(n.entry_seqs)) as bodies`

export const notificationOf = (row: NotificationRow): Notification => ({
  id: row.id,
  resourceId: row.resource,
  createdAt: row.created,
  status: decodeStatus(row.status),
  ...(row.header === null ? {} : { header: decodeHeader(row.header) }),
  news: newsOfRow(row)
})

const newsOfRow = (row: NotificationRow): News => {
  switch (row.kind) {
    case 0:
      return {
        _tag: "Entries",
        entries: (row.bodies ?? []).map(decodeEntry),
        ...(row.document === null ? {} : { wholeFeed: documentOfRow(row) })
      }
    case 1:
      return { _tag: "Document", document: documentOfRow(row) }
    default:
      return { _tag: "Failure" }
  }
}

const documentOfRow = (row: NotificationRow): Document => ({
  contentType: row.content_type ?? "application/octet-stream",
  body: copyOf(row.document ?? new Uint8Array())
})
