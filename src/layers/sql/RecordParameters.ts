import type { PgTypes } from "@effect/sql-pg"
import type { Entry } from "#domain/feed/Entry.ts"
import { approximateLength } from "#domain/feed/EntryLength.ts"
import { hashString } from "#domain/Fingerprint.ts"
import { keepsVersion } from "#domain/poll/DocumentVersion.ts"
import { fetchRecordOf, packFetchRecord } from "#domain/poll/FetchRecord.ts"
import type { PollWrite } from "#domain/ports/ResourceStore.ts"
import { documentOf, statusToSend } from "./NotificationContent.ts"
import { encodeRows, type ParameterColumn, parameterColumn } from "./ParameterRows.ts"
import { columnsOf, stateParameters } from "./ResourceColumns.ts"
import { column } from "./Values.ts"

/** A poll write with the JSON of its entries and updated entries, rendered once. */
export interface PreparedWrite {
  readonly write: PollWrite
  /** Undefined only for more `bytes` than `maxStatementBytes`: such entries are rendered and written piece by piece. */
  readonly bodies: ReadonlyArray<string> | undefined
  /** Approximate bytes of entries and documents. */
  readonly bytes: number
}

/**
 * Bytes of entries in one statement, roughly.
 *
 * A statement has several copies in memory: as parameters, as messages, and in the database. The embedded database never returns memory.
 */
export const maxStatementBytes = 4 * 1024 * 1024

/** Bytes of a piece of a larger write. All other statements wait for the embedded database meanwhile. */
const maxPieceBytes = 512 * 1024

export const prepareWrite = (write: PollWrite): PreparedWrite => {
  const { entries, updated, wholeFeed } = write
  const documents = (documentOf(write)?.body.byteLength ?? 0) + (wholeFeed?.body.byteLength ?? 0)
  const approximate = sum(entries, approximateLength) + sum(updated, approximateLength)
  const bodies = approximate > maxStatementBytes
    ? undefined
    : [...entries, ...updated].map((entry) => JSON.stringify(entry))
  const bytes = bodies === undefined ? approximate : sum(bodies, ({ length }) => length)
  return { write, bodies: bytes > maxStatementBytes ? undefined : bodies, bytes: bytes + documents }
}

const sum = <A>(values: ReadonlyArray<A>, sizeOf: (value: A) => number): number =>
  values.reduce((total, value) => total + sizeOf(value), 0)

/** `brief`: a statement without documents, changed entries and pieces. Nearly all writes need no more, and each part costs time unused. */
export type RecordShape = "brief" | "full"

export const shapeOf = (writes: ReadonlyArray<PreparedWrite>): RecordShape => writes.every(isBrief) ? "brief" : "full"

const isBrief = ({ bodies, write }: PreparedWrite): boolean =>
  bodies !== undefined && write.updated.length === 0 && write.wholeFeed === undefined && documentOf(write) === undefined

const announcements = { Entries: 0, Document: 1, Failure: 2 } as const

const toJson = (value: unknown): string | undefined => value === undefined ? undefined : JSON.stringify(value)

/** A row per write: the next state of the resource, and its announcement. */
const stateAndAnnouncement: ReadonlyArray<ParameterColumn<PollWrite>> = [
  parameterColumn("id", "int8", column.ids, ({ state }) => state.id),
  parameterColumn("partition", "int4", column.integers, ({ state }) => state.partition),
  ...stateParameters(columnsOf(), ({ state }: PollWrite) => state),
  parameterColumn("announce", "int4", column.integers, ({ announce }) => announce && announcements[announce._tag]),
  parameterColumn("status", "text", column.texts, (write) => write.announce && JSON.stringify(statusToSend(write))),
  parameterColumn("sent_header", "text", column.texts, ({ announce, state }) => announce && toJson(state.header)),
  parameterColumn("fetch_record", "bytea", column.bytes, (write) => {
    const fetch = fetchRecordOf(write)
    return fetch && packFetchRecord(fetch)
  })
]

const documents: ReadonlyArray<ParameterColumn<PollWrite>> = [
  parameterColumn("content_type", "text", column.texts, (write) => documentOf(write)?.contentType),
  parameterColumn("document", "bytea", column.bytes, (write) => documentOf(write)?.body),
  parameterColumn("whole_type", "text", column.texts, ({ wholeFeed }) => wholeFeed?.contentType),
  parameterColumn("whole", "bytea", column.bytes, ({ wholeFeed }) => wholeFeed?.body),
  parameterColumn("keeps_version", "bool", (values) => column.booleans(values), keepsVersion)
]

export const writeColumns = {
  brief: stateAndAnnouncement,
  full: [...stateAndAnnouncement, ...documents]
} as const satisfies Record<RecordShape, unknown>

export interface WrittenEntry {
  readonly resourceId: number
  readonly entry: Entry
  readonly body: string
}

export const entryColumns: ReadonlyArray<ParameterColumn<WrittenEntry>> = [
  parameterColumn("resource_id", "int8", column.ids, ({ resourceId }) => resourceId),
  parameterColumn("hash", "int8", column.hashes, ({ entry }) => hashString(entry.id)),
  parameterColumn("published", "float8", column.dates, ({ entry }) => entry.published),
  parameterColumn("body", "text", column.texts, ({ body }) => body)
]

const entryRowsOf = (writes: ReadonlyArray<PreparedWrite>, kind: "entries" | "updated"): ReadonlyArray<WrittenEntry> =>
  writes.flatMap(({ bodies, write }) => {
    const start = kind === "entries" ? 0 : write.entries.length
    return bodies === undefined
      ? []
      : write[kind].map((entry, i) => ({ resourceId: write.state.id, entry, body: bodies[start + i] ?? "" }))
  })

/** An entry that an earlier statement has written. */
export interface StoredPieceRow {
  readonly seq: bigint
  readonly hash: bigint
}

export const pieceColumns: ReadonlyArray<ParameterColumn<StoredPieceRow & { readonly resourceId: number }>> = [
  parameterColumn("resource_id", "int8", column.ids, ({ resourceId }) => resourceId),
  parameterColumn("seq", "int8", column.ids, ({ seq }) => Number(seq)),
  parameterColumn("hash", "int8", column.hashes, ({ hash }) => hash)
]

interface AnnouncedEntry {
  readonly resourceId: number
  readonly entryId: string
}

export const announcedColumns: ReadonlyArray<ParameterColumn<AnnouncedEntry>> = [
  parameterColumn("resource_id", "int8", column.ids, ({ resourceId }) => resourceId),
  parameterColumn("hash", "int8", column.hashes, ({ entryId }) => hashString(entryId))
]

/** In the order of the announcement. */
const announcedRowsOf = (writes: ReadonlyArray<PreparedWrite>): ReadonlyArray<AnnouncedEntry> =>
  writes.flatMap(({ write: { announce, state } }) =>
    announce?._tag === "Entries" ? [...new Set(announce.ids)].map((entryId) => ({ resourceId: state.id, entryId })) : []
  )

/** The parameters of `recordSql`. Two writes of one resource need two statements. */
export const recordParameters = (
  shape: RecordShape,
  writes: ReadonlyArray<PreparedWrite>,
  now: number,
  stored: ReadonlyArray<StoredPieceRow> = []
): ReadonlyArray<number | PgTypes.Parameter> => {
  const common = [
    now,
    ...encodeRows(writeColumns[shape], writes.map(({ write }) => write)),
    ...encodeRows(entryColumns, entryRowsOf(writes, "entries")),
    ...encodeRows(announcedColumns, announcedRowsOf(writes))
  ]
  return shape === "brief" ? common : [
    ...common,
    ...encodeRows(entryColumns, entryRowsOf(writes, "updated")),
    ...encodeRows(pieceColumns, stored.map((row) => ({ ...row, resourceId: writes[0]?.write.state.id ?? 0 })))
  ]
}

/** A piece of the entries of a large write: their kind, and the parameters of the statement. */
export interface WritePiece {
  readonly kind: "entries" | "updated"
  readonly parameters: ReadonlyArray<number | PgTypes.Parameter>
}

/** The pieces of a large write, of the entries whose ids `isWanted` selects. */
export function* piecesOf(
  { state, ...write }: PollWrite,
  now: number,
  isWanted: (id: string) => boolean
): Generator<WritePiece> {
  for (const kind of ["entries", "updated"] as const) {
    let rows: Array<WrittenEntry> = []
    let bytes = 0
    for (const entry of write[kind]) {
      if (!isWanted(entry.id)) continue
      const body = JSON.stringify(entry)
      if (bytes + body.length > maxPieceBytes && rows.length > 0) {
        yield { kind, parameters: [now, ...encodeRows(entryColumns, rows)] }
        rows = []
        bytes = 0
      }
      rows.push({ resourceId: state.id, entry, body })
      bytes += body.length
    }
    if (rows.length > 0) yield { kind, parameters: [now, ...encodeRows(entryColumns, rows)] }
  }
}
