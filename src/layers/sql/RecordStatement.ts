import type { PgTypes } from "@effect/sql-pg"
import { ofString } from "#domain/Fingerprint.ts"
import type { PollWrite } from "#domain/ports/ResourceStore.ts"
import { bodiesOf, documentOf, notificationOf } from "./NotificationContent.ts"
import { kinds, told } from "./ResourceRows.ts"
import { column, instant } from "./Values.ts"

/**
 * Everything that some changed polls write, as one statement, which is one transaction.
 *
 *   p      the changes, a row each                 before  their state until now, locked: a second owner waits here
 *   e, x   new and changed entries, as written     n       notifications, numbered: of what was written, or what is not repeated,
 *                                                          with the whole feed where the hub face wants it
 *   d0     one row a subscription, numbered        a, l    credits and their ledger, accounts locked in order of id
 *   d      the outbox
 *
 * Resources are locked in order of id, subscriptions only behind their resource, accounts last and in order: no deadlock.
 */
export const recordSql = `
with p as (
  select * from unnest($2::int8[], $3::float8[], $4::float8[], $5::int4[], $6::int4[], $7::int4[], $8::int4[], $9::text[], $10::float8[],
    $11::float8[], $12::text[], $13::text[], $14::int8[], $15::bool[], $16::int4[], $17::bytea[], $18::bytea[], $19::text[], $20::text[],
    $21::bool[], $22::float8[], $23::text[], $24::bytea[], $25::int4[], $26::text[], $27::text[], $38::float8[], $39::float8[], $40::float8[], $41::float8[],
    $42::text[], $43::bytea[], $44::text[])
  as t(id, next_fetch, last_fetch, period, code, failures, kind, http, last_parse, last_full, etag, last_modified, signature, in_error,
    entries_since, seen, slices, header, id_policy, generated_ids, bozo_rank, content_type, document, announce, status, sent_header,
    velocity, popularity, porn_rank, last_maintenance_at, whole_type, whole, learned)
),
before as (
  select t.resource_id, t.fingerprint, t.in_error, t.sequence from resource_state t where t.resource_id in (select id from p)
  order by t.resource_id for no key update
),
q as (select p.*, b.fingerprint as old_signature, b.in_error as was_in_error, b.sequence as last_sequence from p join before b on b.resource_id = p.id),
w1 as (
  update schedule s set next_fetch = ${instant("q.next_fetch")}, last_fetch = ${
  instant("q.last_fetch")
}, period = q.period,
    http_code = q.code, failures = q.failures from q where s.resource_id = q.id
),
w3 as (
  update resources r set kind = q.kind, header = q.header, id_policy = q.id_policy, generated_ids = q.generated_ids, bozo_rank = q.bozo_rank, velocity = q.velocity,
    popularity = q.popularity, porn_rank = q.porn_rank, last_maintenance_at = ${instant("q.last_maintenance_at")}
  from q where r.id = q.id and (r.kind, r.header, r.id_policy, r.generated_ids, r.bozo_rank, r.velocity, r.popularity, r.porn_rank, r.last_maintenance_at)
    is distinct from (q.kind::int2, q.header, q.id_policy, q.generated_ids, q.bozo_rank, q.velocity, q.popularity, q.porn_rank, ${
  instant("q.last_maintenance_at")
})
),
e as (
  insert into entries (resource_id, hash, published, first_seen, body)
  select i.resource_id, i.hash, ${instant("i.published")}, ${instant("$1::float8")}, i.body
  from unnest($28::int8[], $29::int8[], $30::float8[], $31::text[]) with ordinality i(resource_id, hash, published, body, position)
  join q on q.id = i.resource_id order by i.position
  on conflict (resource_id, hash) do nothing returning resource_id, seq, hash
),
x as (
  update entries o set body = i.body, published = ${instant("i.published")}
  from unnest($32::int8[], $33::int8[], $34::float8[], $35::text[]) i(resource_id, hash, published, body)
  where o.resource_id = i.resource_id and o.hash = i.hash and o.body is distinct from i.body
  returning o.resource_id, o.seq, o.hash
),
told as (
  select i.resource_id, array_agg(z.seq order by i.position) as seqs, array_agg(z.hash order by i.position) as hashes
  from unnest($36::int8[], $37::int8[]) with ordinality i(resource_id, hash, position)
  join (select * from e union all select * from x) z on z.resource_id = i.resource_id and z.hash = i.hash
  group by i.resource_id
),
n as (
  insert into notifications (resource_id, sequence, kind, status, header, entry_seqs, content_type, document, created_at)
  select q.id, q.last_sequence + 1, q.announce, q.status, q.sent_header, told.seqs,
    case when q.announce = 1 then q.content_type when h.hub then q.whole_type end,
    case when q.announce = 1 then q.document when h.hub then q.whole end, ${instant("$1::float8")}
  from q left join told on told.resource_id = q.id cross join lateral (
    select q.announce = 0 and q.whole is not null and exists (
      select from subscriptions u where u.resource_id = q.id and u.face = 1 and ${told("u")}
    ) as hub
  ) h
  where q.announce = 0 and told.seqs is not null
    or q.announce = 1 and not coalesce(q.old_signature = q.signature, false)
    or q.announce = 2 and not (q.was_in_error and q.in_error)
  returning id, resource_id, sequence, document is not null as whole
),
w2 as (
  update resource_state t set http_message = q.http, last_parse = ${instant("q.last_parse")}, last_full = ${
  instant("q.last_full")
}, etag = q.etag, last_modified = q.last_modified, server_profile = q.learned, fingerprint = q.signature, in_error = q.in_error,
    entries_since_maintenance = q.entries_since, seen = q.seen, slices = q.slices,
    content_type = case when q.document is null then t.content_type else q.content_type end,
    document = coalesce(q.document, t.document), sequence = coalesce(n.sequence, t.sequence)
  from q left join n on n.resource_id = q.id where t.resource_id = q.id
),
s as (
  update subscriptions u set next_sequence = u.next_sequence + 1 from n where u.resource_id = n.resource_id and ${
  told("u")
}
    and (u.face = 0 or n.whole)
  returning u.id, u.account_id, u.next_sequence - 1 as sequence, n.id as notification_id, n.resource_id
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
  select id, 0, date_trunc('hour', ${instant("$1::float8")}, 'UTC'), -spent from a order by id
  on conflict (account_id, bucket, kind) do update set delta = credit_ledger.delta + excluded.delta
),
d as (
  insert into deliveries (notification_id, subscription_id, sequence, partition, credits, due_at, created_at)
  select d0.notification_id, d0.id, d0.sequence, r.partition, a.balance - d0.place, ${instant("$1::float8")}, ${
  instant("$1::float8")
}
  from d0 join a on a.id = d0.account_id join resources r on r.id = d0.resource_id order by d0.notification_id, d0.id
  returning id, notification_id, subscription_id, sequence, credits
)
select d.id::float8 as id, d.subscription_id::float8 as subscription, d.sequence::float8 as sequence, d.credits::float8 as credits,
  n.id::float8 as notification, n.resource_id::float8 as resource, n.whole,
  case when row_number() over (partition by n.id order by d.id) = 1 then told.hashes end as hashes
from d join n on n.id = d.notification_id left join told on told.resource_id = n.resource_id
order by d.id`

export interface RecordedRow {
  readonly id: number
  readonly subscription: number
  readonly sequence: number
  readonly credits: number
  readonly notification: number
  readonly resource: number
  /** A document was kept with the notification. */
  readonly whole: boolean
  /** Of the entries that are told; on the first row of a notification only. */
  readonly hashes: ReadonlyArray<bigint> | null
}

/** A change with the JSON of its entries and updated ones, made once, and about how many bytes it sends. */
export interface Prepared {
  readonly change: PollWrite
  readonly bodies: ReadonlyArray<string>
  readonly bytes: number
}

export const prepare = (change: PollWrite): Prepared => {
  const bodies = bodiesOf(change)
  return {
    change,
    bodies,
    bytes: bodies.reduce(
      (sum, body) => sum + body.length,
      (documentOf(change)?.body.byteLength ?? 0) + (change.whole?.body.byteLength ?? 0)
    )
  }
}

const announcements = { Entries: 0, Document: 1, Failure: 2 } as const

/** The parameters of `recordSql`; no two changes may be of the same resource. */
export const recordParameters = (
  prepared: ReadonlyArray<Prepared>,
  now: number
): ReadonlyArray<number | PgTypes.Parameter> => {
  const changes = prepared.map(({ change }) => change)
  const states = changes.map(({ state }) => state)
  const documents = changes.map(documentOf)
  const sent = changes.map((change) =>
    change.announce === undefined ? undefined : notificationOf(change, { _tag: "Failure" }, 0, now)
  )
  return [
    now,
    column.ids(states.map(({ id }) => id)),
    column.numbers(states.map(({ nextFetch }) => nextFetch)),
    column.numbers(states.map(({ lastFetch }) => lastFetch)),
    column.integers(states.map(({ period }) => period)),
    column.integers(states.map(({ code }) => code)),
    column.integers(states.map(({ failures }) => failures)),
    column.integers(states.map(({ kind }) => kinds.indexOf(kind))),
    column.texts(states.map(({ http }) => http)),
    column.numbers(states.map(({ lastParse }) => lastParse)),
    column.numbers(states.map(({ lastUnconditionalFetch }) => lastUnconditionalFetch)),
    column.texts(states.map(({ etag }) => etag)),
    column.texts(states.map(({ lastModified }) => lastModified)),
    column.hashes(states.map(({ signature }) => signature ?? null)),
    column.booleans(states.map(({ inError }) => inError)),
    column.integers(states.map(({ entriesSinceMaintenance }) => entriesSinceMaintenance)),
    column.bytes(states.map(({ seen }) => seen)),
    column.bytes(states.map(({ slices }) => slices)),
    column.texts(states.map(({ header }) => json(header))),
    column.texts(states.map(({ idPolicy }) => json(idPolicy))),
    column.booleans(states.map(({ generatedIds }) => generatedIds)),
    column.numbers(states.map(({ bozoRank }) => bozoRank)),
    column.texts(documents.map((document) => document?.contentType)),
    column.bytes(documents.map((document) => document?.body)),
    column.integers(changes.map(({ announce }) => announce === undefined ? null : announcements[announce._tag])),
    column.texts(sent.map((notification) => json(notification?.status))),
    column.texts(sent.map((notification) => json(notification?.header))),
    ...entryColumns(prepared, "entries"),
    ...entryColumns(prepared, "updated"),
    ...toldColumns(changes),
    column.numbers(states.map(({ velocity }) => velocity)),
    column.numbers(states.map(({ popularity }) => popularity)),
    column.numbers(states.map(({ pornRank }) => pornRank)),
    column.numbers(states.map(({ lastMaintenanceAt }) => lastMaintenanceAt)),
    column.texts(changes.map(({ whole }) => whole?.contentType)),
    column.bytes(changes.map(({ whole }) => whole?.body)),
    column.texts(states.map(({ serverProfile }) => json(serverProfile)))
  ]
}

const json = (value: unknown): string | null => value === undefined ? null : JSON.stringify(value)

const entryColumns = (prepared: ReadonlyArray<Prepared>, which: "entries" | "updated") => {
  const rows = prepared.flatMap(({ bodies, change }) => {
    const start = which === "entries" ? 0 : change.entries.length
    return change[which].map((entry, i) => ({ id: change.state.id, entry, body: bodies[start + i] ?? "" }))
  })
  return [
    column.ids(rows.map(({ id }) => id)),
    column.hashes(rows.map(({ entry }) => ofString(entry.id))),
    column.dates(rows.map(({ entry }) => entry.published)),
    column.texts(rows.map(({ body }) => body))
  ]
}

const toldColumns = (changes: ReadonlyArray<PollWrite>) => {
  const rows = changes.flatMap(({ announce, state }) =>
    announce?._tag === "Entries" ? [...new Set(announce.ids)].map((entryId) => ({ id: state.id, entryId })) : []
  )
  return [column.ids(rows.map(({ id }) => id)), column.hashes(rows.map(({ entryId }) => ofString(entryId)))]
}
