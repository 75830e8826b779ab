import type { PgTypes } from "@effect/sql-pg"
import type { Entry } from "#domain/feed/Entry.ts"
import { hashString } from "#domain/Fingerprint.ts"
import type { PollWrite } from "#domain/ports/ResourceStore.ts"
import { isLive, stateColumns, stateValues } from "./Conditions.ts"
import { bodiesOf, documentOf, statusToSend } from "./NotificationContent.ts"
import { encodeRows, namesOf, type ParameterColumn, parameterColumn, unnestOf } from "./ParameterRows.ts"
import { assignmentsOf, columnsOf, stateParameters, valuesOf } from "./ResourceColumns.ts"
import { continueRun } from "./SequenceRunColumns.ts"
import { column, instant } from "./Values.ts"
import type { WrittenDelivery } from "./WrittenDeliveries.ts"

/** A poll write with the JSON of its entries and updated entries, rendered once. */
export interface PreparedWrite {
  readonly write: PollWrite
  /** Undefined for more than `maxPieceBytes`: such entries are rendered and written piece by piece. */
  readonly bodies: ReadonlyArray<string> | undefined
  /** Approximate bytes of entries and documents. */
  readonly bytes: number
}

/**
 * Bytes of entries in one statement, roughly.
 *
 * A statement has several copies in memory: as parameters, as messages, and in the database. The embedded database never returns memory.
 */
export const maxPieceBytes = 4 * 1024 * 1024

export const prepareWrite = (write: PollWrite): PreparedWrite => {
  let bodies: Array<string> | undefined = []
  let bytes = 0
  for (const body of bodiesOf(write)) {
    bytes += body.length
    if (bytes > maxPieceBytes) bodies = undefined
    bodies?.push(body)
  }
  const documents = (documentOf(write)?.body.byteLength ?? 0) + (write.wholeFeed?.body.byteLength ?? 0)
  return { write, bodies, bytes: bytes + documents }
}

const announcements = { Entries: 0, Document: 1, Failure: 2 } as const

const toJson = (value: unknown): string | undefined => value === undefined ? undefined : JSON.stringify(value)

/** A row per write: the next state of the resource, and its announcement. */
const writeColumns: ReadonlyArray<ParameterColumn<PollWrite>> = [
  parameterColumn("id", "int8", column.ids, ({ state }) => state.id),
  ...stateParameters(columnsOf(), ({ state }: PollWrite) => state),
  parameterColumn("content_type", "text", column.texts, (write) => documentOf(write)?.contentType),
  parameterColumn("document", "bytea", column.bytes, (write) => documentOf(write)?.body),
  parameterColumn("announce", "int4", column.integers, ({ announce }) => announce && announcements[announce._tag]),
  parameterColumn("status", "text", column.texts, (write) => write.announce && JSON.stringify(statusToSend(write))),
  parameterColumn("sent_header", "text", column.texts, ({ announce, state }) => announce && toJson(state.header)),
  parameterColumn("whole_type", "text", column.texts, ({ wholeFeed }) => wholeFeed?.contentType),
  parameterColumn("whole", "bytea", column.bytes, ({ wholeFeed }) => wholeFeed?.body)
]

interface WrittenEntry {
  readonly resourceId: number
  readonly entry: Entry
  readonly body: string
}

const entryColumns: ReadonlyArray<ParameterColumn<WrittenEntry>> = [
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
interface StoredPieceRow {
  readonly seq: bigint
  readonly hash: bigint
}

const pieceColumns: ReadonlyArray<ParameterColumn<StoredPieceRow & { readonly resourceId: number }>> = [
  parameterColumn("resource_id", "int8", column.ids, ({ resourceId }) => resourceId),
  parameterColumn("seq", "int8", column.ids, ({ seq }) => Number(seq)),
  parameterColumn("hash", "int8", column.hashes, ({ hash }) => hash)
]

interface AnnouncedEntry {
  readonly resourceId: number
  readonly entryId: string
}

const announcedColumns: ReadonlyArray<ParameterColumn<AnnouncedEntry>> = [
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
  writes: ReadonlyArray<PreparedWrite>,
  now: number,
  stored: ReadonlyArray<StoredPieceRow> = []
): ReadonlyArray<number | PgTypes.Parameter> => [
  now,
  ...encodeRows(writeColumns, writes.map(({ write }) => write)),
  ...encodeRows(entryColumns, entryRowsOf(writes, "entries")),
  ...encodeRows(entryColumns, entryRowsOf(writes, "updated")),
  ...encodeRows(announcedColumns, announcedRowsOf(writes)),
  ...encodeRows(pieceColumns, stored.map((row) => ({ ...row, resourceId: writes[0]?.write.state.id ?? 0 })))
]

// The number of the first parameter of each group; $1 is now.
const firstWrite = 2
const firstEntry = firstWrite + writeColumns.length
const firstUpdated = firstEntry + entryColumns.length
const firstAnnounced = firstUpdated + entryColumns.length
const firstStored = firstAnnounced + announcedColumns.length

const now = instant("$1::float8")

const insertEntries = (first: number, joined: string): string =>
  `insert into entries (resource_id, hash, published, first_seen, body)
  select i.resource_id, i.hash, ${instant("i.published")}, ${now}, i.body
  from ${unnestOf(entryColumns, first)} with ordinality i(${
    namesOf(entryColumns)
  }, position)${joined} order by i.position
  on conflict (resource_id, hash) do nothing`

const updateEntries = (first: number): string =>
  `update entries o set body = i.body, published = ${instant("i.published")}
  from ${unnestOf(entryColumns, first)} i(${namesOf(entryColumns)})
  where o.resource_id = i.resource_id and o.hash = i.hash and o.body is distinct from i.body`

/** Statements for a piece of the entries of one large write, before `recordSql`. A deleted resource gets no entries. */
export const pieceSql = {
  entries: `with stored as (
    select resource_id from resource_state where resource_id = any($2::int8[]) for key share
  )
  ${insertEntries(2, " join stored on stored.resource_id = i.resource_id")} returning seq, hash`,
  updated: `with written as (select ${now}) ${updateEntries(2)} returning o.seq, o.hash`
}

/** A piece of the entries of a large write: their kind, and the parameters of the statement. */
export interface WritePiece {
  readonly kind: keyof typeof pieceSql
  readonly parameters: ReadonlyArray<number | PgTypes.Parameter>
}

export function* piecesOf({ state, ...write }: PollWrite, now: number): Generator<WritePiece> {
  for (const kind of ["entries", "updated"] as const) {
    let rows: Array<WrittenEntry> = []
    let bytes = 0
    for (const entry of write[kind]) {
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

/**
 * Everything that some changed polls write, as one statement and so one transaction.
 *
 * The last parameters are entries that earlier statements have written, see `pieceSql`.
 *
 *   p       the writes                               before     the stored states, locked: another owner waits here
 *   q       the writes with the stored states        e, x       new entries, and changed entries
 *   s0-s2   the next states of the resources         announced  the announced entries that e and x have written
 *   n       numbered notifications, with the whole   s, d0      subscriptions to notify, numbered per account
 *           feed where the hub face needs the feed   a, l       credits and the ledger
 *   d       the outbox
 *
 * Resources are locked in order of id, subscriptions behind their resource, accounts last and in order of id: no deadlock.
 */
export const recordSql = `
with p as (
  select * from ${unnestOf(writeColumns, firstWrite)} as t(${namesOf(writeColumns)})
),
before as (
  select t.resource_id, t.fingerprint, t.in_error, t.sequence from resource_state t where t.resource_id in (select id from p)
  order by t.resource_id for no key update
),
q as (
  select p.*, b.fingerprint as old_fingerprint, b.in_error as was_in_error, b.sequence as last_sequence
  from p join before b on b.resource_id = p.id
),
s0 as (
  update schedule s set ${assignmentsOf("schedule", "q")} from q where s.resource_id = q.id
),
s1 as (
  update resources r set ${assignmentsOf("resources", "q")} from q
  where r.id = q.id and (${columnsOf("resources").map(({ name }) => `r.${name}`).join(", ")})
    is distinct from (${valuesOf("resources", "q")})
),
e as (
  ${insertEntries(firstEntry, " join q on q.id = i.resource_id")} returning resource_id, seq, hash
),
x as (
  ${updateEntries(firstUpdated)} returning o.resource_id, o.seq, o.hash
),
announced as (
  select i.resource_id, array_agg(z.seq order by i.position) as seqs, array_agg(z.hash order by i.position) as hashes
  from ${unnestOf(announcedColumns, firstAnnounced)} with ordinality i(${namesOf(announcedColumns)}, position)
  join (
    select * from e union all select * from x
    union all select * from ${unnestOf(pieceColumns, firstStored)} y(${namesOf(pieceColumns)})
  ) z on z.resource_id = i.resource_id and z.hash = i.hash
  group by i.resource_id
),
n as (
  insert into notifications (resource_id, sequence, kind, status, header, entry_seqs, content_type, document, created_at)
  select q.id, q.last_sequence + 1, q.announce, q.status, q.sent_header, announced.seqs,
    case when q.announce = 1 then q.content_type when h.hub then q.whole_type end,
    case when q.announce = 1 then q.document when h.hub then q.whole end, ${now}
  from q left join announced on announced.resource_id = q.id cross join lateral (
    select q.announce = 0 and q.whole is not null and exists (
      select from subscriptions u where u.resource_id = q.id and u.face = 1 and ${isLive("u")}
    ) as hub
  ) h
  where q.announce = 0 and announced.seqs is not null
    or q.announce = 1 and not coalesce(q.old_fingerprint = q.fingerprint, false)
    or q.announce = 2 and not (q.was_in_error and q.in_error)
  returning id, resource_id, sequence, document is not null as whole
),
s2 as (
  update resource_state t set ${assignmentsOf("resource_state", "q")},
    content_type = case when q.document is null then t.content_type else q.content_type end,
    document = coalesce(q.document, t.document), sequence = coalesce(n.sequence, t.sequence)
  from q left join n on n.resource_id = q.id where t.resource_id = q.id
),
s as (
  update subscriptions u set next_sequence = u.next_sequence + 1, ${continueRun("u.next_sequence - n.sequence")} from n
  where u.resource_id = n.resource_id and ${isLive("u")} and (u.face = 0 or n.whole)
  returning u.id, u.account_id, u.state, u.next_sequence - 1 as sequence, n.id as notification_id, n.resource_id
),
d0 as (select s.*, row_number() over (partition by s.account_id order by s.notification_id, s.id) as place from s),
c as (select account_id, count(*) as spent from d0 group by account_id),
k as (select id from accounts where id in (select account_id from c) order by id for no key update),
a as (
  update accounts o set credits = o.credits - c.spent from c join k on k.id = c.account_id where o.id = k.id
  returning o.id, o.credits + c.spent as balance, c.spent
),
l as (
  insert into credit_ledger (account_id, kind, bucket, delta)
  select id, 0, date_trunc('hour', ${now}, 'UTC'), -spent from a order by id
  on conflict (account_id, bucket, kind) do update set delta = credit_ledger.delta + excluded.delta
),
d as (
  insert into deliveries (notification_id, subscription_id, sequence, partition, credits, due_at, created_at, ${stateColumns})
  select d0.notification_id, d0.id, d0.sequence, r.partition, a.balance - d0.place, ${now}, ${now},
    ${stateValues("d0.state")}
  from d0 join a on a.id = d0.account_id join resources r on r.id = d0.resource_id order by d0.notification_id, d0.id
  returning id, notification_id, subscription_id, sequence, credits, state
)
select d.id::float8 as id, d.subscription_id::float8 as subscription, d.sequence::float8 as sequence, d.credits::float8 as credits,
  n.id::float8 as notification, n.resource_id::float8 as resource, n.whole,
  case when row_number() over (partition by n.id order by d.id) = 1 then announced.hashes end as hashes
from d join n on n.id = d.notification_id left join announced on announced.resource_id = n.resource_id
where d.state = 0 order by d.id`

/** A delivery that the statement has written. */
export interface RecordedRow extends WrittenDelivery {
  readonly resource: number
  /** True when the notification has a document. */
  readonly whole: boolean
  /** Hashes of the announced entries; only in the first row of a notification. */
  readonly hashes: ReadonlyArray<bigint> | null
}
