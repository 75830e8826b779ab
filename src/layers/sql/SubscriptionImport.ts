import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { maxLabels } from "#domain/Labels.ts"
import { initialPeriodSeconds } from "#domain/poll/Resource.ts"
import type { ImportedSubscription, NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import { retries } from "#domain/delivery/Retry.ts"
import { isLive } from "./Conditions.ts"
import { encodeRows, namesOf, type ParameterColumn, parameterColumn, unnestOf } from "./ParameterRows.ts"
import { retryConflicts, run } from "./Query.ts"
import type { Box } from "./SecretBox.ts"
import {
  channels,
  formatCode,
  secretPurpose,
  states,
  subscriptionOf,
  type SubscriptionRow,
  subscriptionSelect
} from "./SubscriptionRows.ts"
import { checkMaximum, lockAccount } from "./SubscriptionMaximum.ts"
import { column, instant, urlKey } from "./Values.ts"

/** A wanted subscription with its sealed values and, from the second statement on, its resource. */
interface WantedRow {
  readonly wanted: NewSubscription
  readonly secret: Uint8Array | null
  readonly headers: Uint8Array | null
  resourceId: number
}

const resourceColumns: ReadonlyArray<ParameterColumn<NewSubscription>> = [
  parameterColumn("url", "text", column.texts, ({ topic }) => topic.canonical),
  parameterColumn("host", "text", column.texts, ({ topic }) => topic.host),
  parameterColumn("partition", "int4", column.integers, ({ partition }) => partition),
  parameterColumn("period", "int4", column.integers, ({ periodSeconds }) => periodSeconds ?? initialPeriodSeconds),
  parameterColumn("due", "float8", column.numbers, ({ firstFetchAt }) => firstFetchAt)
]

/** In the order of the keys, so that concurrent imports wait for each other instead of a deadlock. `$1` is now. */
const createResourcesSql = `
  with wanted as (
    select distinct on (key) p.*, ${urlKey("p.url")} as key
    from ${unnestOf(resourceColumns, 2)} p(${namesOf(resourceColumns)}) order by key
  ), r as (
    insert into resources (key, url, host, partition, kind, created_at)
    select key, url, host, partition::int2, 0, ${instant("$1::float8")} from wanted order by key
    on conflict (key) do nothing returning id, key
  ), s as (
    insert into schedule (resource_id, next_fetch, period, partition)
    select r.id, ${
  instant("coalesce(w.due, $1::float8)")
}, w.period, w.partition::int2 from r join wanted w on w.key = r.key
  ), t as (
    insert into resource_state (resource_id) select id from r
  )
  select id::float8 as id from r`

/** Locks the resources against their deletion. */
const findResourcesSql = `
  select id::float8 as id, url from resources
  where key = any(array(select ${urlKey("p.url")} from unnest($1::text[]) p(url))) and url = any($1::text[])
  order by id for key share`

const subscriptionColumns: ReadonlyArray<ParameterColumn<WantedRow>> = [
  parameterColumn("resource_id", "int8", column.ids, ({ resourceId }) => resourceId),
  parameterColumn("topic", "text", column.texts, ({ wanted }) => wanted.topic.given),
  parameterColumn("channel", "int4", column.integers, ({ wanted }) => channels.indexOf(wanted.channel)),
  parameterColumn("endpoint", "text", column.texts, ({ wanted }) => wanted.endpoint),
  parameterColumn("host", "text", column.texts, ({ wanted }) => wanted.host),
  parameterColumn("format", "int4", column.integers, ({ wanted }) => formatCode(wanted)),
  parameterColumn("secret", "bytea", column.bytes, ({ secret }) => secret),
  parameterColumn("headers", "bytea", column.bytes, ({ headers }) => headers),
  parameterColumn("state", "int4", column.integers, ({ wanted }) => states.indexOf(wanted.state)),
  parameterColumn("lease", "float8", column.numbers, ({ wanted }) => wanted.leaseUntil),
  parameterColumn(
    "retry",
    "int4",
    column.integers,
    ({ wanted: { retry } }) => retry === undefined ? null : retries.indexOf(retry)
  ),
  parameterColumn("labels", "text", column.texts, ({ wanted }) => JSON.stringify(wanted.labels ?? []))
]

const listOfJson = (json: string): string =>
  `array(select l.value from jsonb_array_elements_text(${json}::jsonb) with ordinality l(value, at) order by l.at)`

/** `$1` is now, `$2` the account. Returns the changed rows only. */
const upsertSql = `
  insert into subscriptions as u (account_id, resource_id, topic, channel, endpoint, host, format, secret, headers, face, state, lease_until,
    created_at, retry, labels)
  select $2::int4, p.resource_id, p.topic, p.channel::int2, p.endpoint, p.host, p.format::int2, p.secret, p.headers, 0, p.state::int2,
    ${instant("p.lease")}, ${instant("$1::float8")}, p.retry::int2, ${listOfJson("p.labels")}
  from ${unnestOf(subscriptionColumns, 3)} with ordinality p(${
  namesOf(subscriptionColumns)
}, position) order by p.position
  on conflict (resource_id, account_id, endpoint, face) do update set
    state = case when u.state = 0 then excluded.state else u.state end,
    lease_until = excluded.lease_until,
    labels = (u.labels || array(
      select l.value from unnest(excluded.labels) with ordinality l(value, at) where l.value <> all(u.labels) order by l.at
    ))[:${maxLabels}]
  where u.state = 0 or u.lease_until is not null
    or not excluded.labels <@ u.labels and cardinality(u.labels) < ${maxLabels}
  returning u.id::float8 as id, (xmax = 0) as created`

const selectSql = `
  select ${subscriptionSelect} from unnest($2::int8[], $3::text[]) p(resource_id, endpoint)
  join subscriptions u on u.resource_id = p.resource_id and u.account_id = $1::int4 and u.endpoint = p.endpoint and u.face = 0`

export const subscribeAll = (sql: SqlClient.SqlClient, box: Box) =>
  Effect.fn("SubscriptionStore.subscribeAll")(function*(wanted: ReadonlyArray<NewSubscription>) {
    const [first] = wanted
    if (first === undefined) return []
    const now = yield* Clock.currentTimeMillis
    const rows = wanted.map((one): WantedRow => ({
      wanted: one,
      secret: one.secret === undefined ? null : box.seal(one.secret, secretPurpose("secret", one)),
      headers: one.headers === undefined ? null : box.seal(JSON.stringify(one.headers), secretPurpose("headers", one)),
      resourceId: 0
    }))
    return yield* run(retryConflicts(sql.withTransaction(write(sql, box, first, rows, now))))
  })

const write = Effect.fnUntraced(
  function*(
    sql: SqlClient.SqlClient,
    box: Box,
    { accountId, maxOfAccount }: NewSubscription,
    rows: ReadonlyArray<WantedRow>,
    now: number
  ) {
    yield* lockAccount(sql, accountId, maxOfAccount)
    const createdResources = yield* createResources(sql, rows, now)
    const upserted = yield* sql.unsafe<{ id: number; created: boolean }>(upsertSql, [
      now,
      accountId,
      ...encodeRows(subscriptionColumns, rows)
    ])
    if (upserted.some(({ created }) => created)) yield* checkMaximum(sql, accountId, maxOfAccount)
    const watched = rows.filter(({ wanted }) => wanted.state === "active").map(({ resourceId }) => resourceId)
    yield* sql.unsafe(
      `update resources set unwatched_since = null where id = any(array(
        select id from resources where id = any($1::int8[]) and unwatched_since is not null order by id for no key update
      ))`,
      [column.ids(watched)]
    )
    const stored = yield* sql.unsafe<SubscriptionRow>(selectSql, [
      accountId,
      column.ids(rows.map(({ resourceId }) => resourceId)),
      column.texts(rows.map(({ wanted }) => wanted.endpoint))
    ])
    const byName = new Map(stored.map((row) => [`${row.resource} ${row.endpoint}`, row]))
    const createdById = new Map(upserted.map(({ created, id }) => [id, created]))
    return rows.flatMap(({ resourceId, wanted }): ReadonlyArray<ImportedSubscription> => {
      const row = byName.get(`${resourceId} ${wanted.endpoint}`)
      if (row === undefined) return [] // impossible within the transaction
      const created = createdById.get(row.id)
      return [{
        subscription: subscriptionOf(box)(row),
        created: created === true,
        changed: created === false,
        createdResource: createdResources.has(resourceId)
      }]
    })
  }
)

/** Creates the resources that are new, and notes the resource of each row. Returns the ids of the new ones. */
const createResources = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, rows: ReadonlyArray<WantedRow>, now: number) {
    const created = yield* sql.unsafe<{ id: number }>(createResourcesSql, [
      now,
      ...encodeRows(resourceColumns, rows.map(({ wanted }) => wanted))
    ])
    const found = yield* sql.unsafe<{ id: number; url: string }>(findResourcesSql, [
      column.texts(rows.map(({ wanted }) => wanted.topic.canonical))
    ])
    const idByUrl = new Map(found.map(({ id, url }) => [url, id]))
    for (const row of rows) row.resourceId = idByUrl.get(row.wanted.topic.canonical) ?? 0
    return new Set(created.map(({ id }) => id))
  }
)

export const findUnwatched = (sql: SqlClient.SqlClient) =>
  Effect.fn("SubscriptionStore.findUnwatched")(function*(urls: ReadonlyArray<string>) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* run(sql.unsafe<{ url: string }>(
      `select r.url from resources r join schedule s on s.resource_id = r.id
      where r.key = any(array(select ${urlKey("p.url")} from unnest($2::text[]) p(url))) and r.url = any($2::text[])
        and s.last_fetch is not null
        and not exists (select from subscriptions u where u.resource_id = r.id and ${isLive("u")})`,
      [now, column.texts(urls)]
    ))
    return new Set(rows.map(({ url }) => url))
  })
