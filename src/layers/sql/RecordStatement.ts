import { maxVersions } from "#domain/poll/DocumentVersion.ts"
import { fetchRecordBytes, maxFetchRecords } from "#domain/poll/FetchRecord.ts"
import { isLive, isOneOf, stateColumns, stateValues } from "./Conditions.ts"
import { namesOf, subscriptOf, subscriptsOf, unnestOf } from "./ParameterRows.ts"
import { announcedColumns, entryColumns, pieceColumns, type RecordShape, writeColumns } from "./RecordParameters.ts"
import { assignmentsOf, columnsOf, valuesOf } from "./ResourceColumns.ts"
import { continueRun } from "./SequenceRunColumns.ts"
import { instant } from "./Values.ts"
import type { WrittenDelivery } from "./WrittenDeliveries.ts"

const now = instant("$1::float8")

/** Number of the first parameter of the writes, behind `now`. */
const firstWrite = 2

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

const isWritten = (id: string): string => isOneOf(id, "$2")

/** The packed fetches of a resource with the one of this write in front. A repeated write adds none. */
const addFetch = `case when q.fetch_record is null or substring(t.fetches for ${fetchRecordBytes}) = q.fetch_record
  then t.fetches else substring(q.fetch_record || t.fetches for ${fetchRecordBytes * maxFetchRecords}) end`

/** A repeated write stores no version again. */
const isNewVersion = "q.keeps_version and not coalesce(q.old_fingerprint = q.fingerprint, false)"

/** Columns of large values, which are read where the statement stores them. */
const largeColumns = ["document", "whole"]

const largeValue = (name: "document" | "whole"): string =>
  subscriptOf(writeColumns.full, firstWrite, name, "q.position")

const keepVersions = `v as (
  insert into document_versions (resource_id, content_type, document, created_at)
  select q.id, q.content_type, ${largeValue("document")}, ${now} from q where ${isNewVersion}
),
v0 as (
  delete from document_versions o using q where ${isNewVersion} and o.resource_id = q.id and o.id <= (
    select id from document_versions w where w.resource_id = q.id order by id desc offset ${maxVersions - 1} limit 1
  )
),`

/** The parts of the statement that differ between the shapes. */
const partsOf = (shape: RecordShape) => {
  const firstEntry = firstWrite + writeColumns[shape].length
  const firstAnnounced = firstEntry + entryColumns.length
  const firstUpdated = firstAnnounced + announcedColumns.length
  const firstStored = firstUpdated + entryColumns.length
  const common = { firstEntry, firstAnnounced }
  if (shape === "brief") {
    return {
      ...common,
      apart: [],
      updated: "",
      written: "e",
      contentColumns: "",
      content: "",
      hub: "",
      isNewDocument: "",
      hasDocument: "false",
      storeDocument: "",
      versions: "",
      isRecipient: "u.face = 0"
    }
  }
  return {
    ...common,
    apart: largeColumns,
    updated: `x as (${updateEntries(firstUpdated)} returning o.resource_id, o.seq, o.hash),`,
    written: `(
      select * from e union all select * from x
      union all select * from ${unnestOf(pieceColumns, firstStored)} y(${namesOf(pieceColumns)})
    )`,
    contentColumns: ", content_type, document",
    content: `,
      case when q.announce = 1 then q.content_type when h.hub then q.whole_type end,
      case when q.announce = 1 then ${largeValue("document")} when h.hub then ${largeValue("whole")} end`,
    hub: `cross join lateral (
      select q.announce = 0 and ${largeValue("whole")} is not null and exists (
        select from subscriptions u where u.resource_id = q.id and u.face = 1 and ${isLive("u")}
      ) as hub
    ) h`,
    isNewDocument: "or q.announce = 1 and not coalesce(q.old_fingerprint = q.fingerprint, false)",
    hasDocument: "document is not null",
    storeDocument: `content_type = case when ${
      largeValue("document")
    } is null then t.content_type else q.content_type end,
      document = coalesce(${largeValue("document")}, t.document),`,
    versions: keepVersions,
    isRecipient: "(u.face = 0 or n.whole)"
  }
}

/**
 * Everything that some changed polls write, as one statement and so one transaction.
 *
 * The last parameters of the full shape are entries that earlier statements have written, see `pieceSql`.
 *
 *   q       the writes with the stored states,       announced  the announced entries that e and x have written
 *           locked: another owner waits here         n          numbered notifications, with the whole feed where the
 *   s0-s2   the next states of the resources                    hub face needs the feed
 *   e, x    new entries, and changed entries         s, d0      subscriptions to notify, numbered per account
 *   d       the outbox                               a, b, l    charged accounts, their balances before, and the ledger
 *
 * Resources are locked in order of id, subscriptions behind their resource, accounts last and in order of id: no deadlock.
 *
 * All runners charge the same accounts. An update of a row that has changed since the start of the statement would prepare the whole
 * statement once more, and so would `for update`. An upsert takes the newest row as it is. It never inserts: the locked subscriptions keep
 * their accounts from being deleted.
 */
const makeRecordSql = (shape: RecordShape): string => {
  const part = partsOf(shape)
  return `
with q as (
  select p.*, t.fingerprint as old_fingerprint, t.in_error as was_in_error, t.sequence as last_sequence
  from ${
    subscriptsOf(writeColumns[shape], firstWrite, part.apart)
  } p join resource_state t on t.resource_id = p.id and ${isWritten("t.resource_id")}
  order by p.id for no key update of t
),
s0 as (
  update schedule s set ${assignmentsOf("schedule", "q")} from q
  where s.resource_id = q.id and ${isWritten("s.resource_id")}
),
s1 as (
  update resources r set ${assignmentsOf("resources", "q")} from q
  where r.id = q.id and ${isWritten("r.id")} and (${columnsOf("resources").map(({ name }) => `r.${name}`).join(", ")})
    is distinct from (${valuesOf("resources", "q")})
),
e as (
  ${insertEntries(part.firstEntry, " join q on q.id = i.resource_id")} returning resource_id, seq, hash
),
${part.updated}
announced as (
  select i.resource_id, array_agg(z.seq order by i.position) as seqs, array_agg(z.hash order by i.position) as hashes
  from ${unnestOf(announcedColumns, part.firstAnnounced)} with ordinality i(${namesOf(announcedColumns)}, position)
  join ${part.written} z on z.resource_id = i.resource_id and z.hash = i.hash
  group by i.resource_id
),
n as (
  insert into notifications (resource_id, sequence, kind, status, header, entry_seqs, created_at${part.contentColumns})
  select q.id, q.last_sequence + 1, q.announce, q.status, q.sent_header, announced.seqs, ${now}${part.content}
  from q left join announced on announced.resource_id = q.id ${part.hub}
  where q.announce = 0 and announced.seqs is not null ${part.isNewDocument}
    or q.announce = 2 and not (q.was_in_error and q.in_error)
  returning id, resource_id, sequence, ${part.hasDocument} as whole
),
s2 as (
  update resource_state t set ${assignmentsOf("resource_state", "q")},
    ${part.storeDocument} sequence = coalesce(n.sequence, t.sequence), fetches = ${addFetch}
  from q left join n on n.resource_id = q.id where t.resource_id = q.id and ${isWritten("t.resource_id")}
),
${part.versions}
s as (
  update subscriptions u set next_sequence = u.next_sequence + 1, ${continueRun("u.next_sequence - n.sequence")}
  from n join q on q.id = n.resource_id
  where u.resource_id = n.resource_id and ${isLive("u")} and ${part.isRecipient}
  returning u.id, u.account_id, u.state, u.next_sequence - 1 as sequence, n.id as notification_id, q.partition
),
d0 as (select s.*, row_number() over (partition by s.account_id order by s.notification_id, s.id) as place from s),
c as (select account_id, count(*) as spent from d0 group by account_id),
a as (
  insert into accounts (id, login, password_hash, created_at, credits) overriding system value
  select o.id, o.login, o.password_hash, o.created_at, c.spent from c join accounts o on o.id = c.account_id order by o.id
  on conflict (id) do update set credits = accounts.credits - excluded.credits
  returning id, credits
),
b as (select a.id, a.credits + c.spent as balance, c.spent from a join c on c.account_id = a.id),
l as (
  insert into credit_ledger (account_id, kind, bucket, delta)
  select id, 0, date_trunc('hour', ${now}, 'UTC'), -spent from b order by id
  on conflict (account_id, bucket, kind) do update set delta = credit_ledger.delta + excluded.delta
),
d as (
  insert into deliveries (notification_id, subscription_id, sequence, partition, credits, due_at, created_at, ${stateColumns})
  select d0.notification_id, d0.id, d0.sequence, d0.partition, b.balance - d0.place, ${now}, ${now},
    ${stateValues("d0.state")}
  from d0 join b on b.id = d0.account_id order by d0.notification_id, d0.id
  returning id, notification_id, subscription_id, sequence, credits, state
)
select d.id::float8 as id, d.subscription_id::float8 as subscription, d.sequence::float8 as sequence, d.credits::float8 as credits,
  n.id::float8 as notification, n.resource_id::float8 as resource, n.whole,
  case when row_number() over (partition by n.id order by d.id) = 1 then announced.hashes end as hashes
from d join n on n.id = d.notification_id left join announced on announced.resource_id = n.resource_id
where d.state = 0 order by d.id`
}

export const recordSql: { readonly [shape in RecordShape]: string } = {
  brief: makeRecordSql("brief"),
  full: makeRecordSql("full")
}

/** A delivery that the statement has written. */
export interface RecordedRow extends WrittenDelivery {
  readonly resource: number
  /** True when the notification has a document. */
  readonly whole: boolean
  /** Hashes of the announced entries; only in the first row of a notification. */
  readonly hashes: ReadonlyArray<bigint> | null
}
