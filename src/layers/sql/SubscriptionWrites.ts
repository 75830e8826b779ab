import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { ExpiredSubscription, NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import { retries } from "#domain/delivery/Retry.ts"
import type { Labels } from "#domain/Labels.ts"
import { StoreError } from "#domain/ports/StoreError.ts"
import { initialPeriodSeconds } from "#domain/poll/Resource.ts"
import { run } from "./Query.ts"
import { resourceOf, type ResourceRow, selectResources } from "./ResourceRows.ts"
import type { Box } from "./SecretBox.ts"
import {
  channels,
  faces,
  formatCode,
  methods,
  secretPurpose,
  states,
  subscriptionOf,
  type SubscriptionRow,
  subscriptionSelect
} from "./SubscriptionRows.ts"
import { checkMaximum, lockAccount } from "./SubscriptionMaximum.ts"
import { previousAfterSubscribe } from "./SubscriptionSecrets.ts"
import { markWatched, settleUnwatched, unmarkWatched } from "./UnwatchedResources.ts"
import { column, instant, padValues, urlKey } from "./Values.ts"

export const subscribe = (sql: SqlClient.SqlClient, box: Box) =>
  Effect.fn("SubscriptionStore.subscribe")(function*(wanted: NewSubscription) {
    const now = yield* Clock.currentTimeMillis
    const { resource, row } = yield* run(sql.withTransaction(Effect.gen(function*() {
      yield* lockAccount(sql, wanted.accountId, wanted.maxOfAccount)
      const resourceId = yield* createResource(sql, wanted, now)
      const row = yield* upsert(sql, box, wanted, resourceId, now)
      if (row?.created === true) yield* checkMaximum(sql, wanted.accountId, wanted.maxOfAccount)
      if (wanted.state === "active") yield* markWatched(sql, resourceId)
      if (row?.created === false && wanted.channel === "xmpp") yield* forgetBounces(sql, row.id)
      return { row, resource: yield* selectResource(sql, resourceId, now) }
    })))
    if (row === undefined || resource === undefined) {
      return yield* new StoreError({
        reason: { _tag: "Defect", message: "A subscription was written and is not there." }
      })
    }
    return { subscription: subscriptionOf(box)(row), resource: resourceOf(resource), created: row.created }
  })

/** Locks the resource against its deletion, and returns its id. */
const findResourceId = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, canonical: string) {
  const [row] = yield* sql.unsafe<{ id: number }>(
    `select id::float8 as id from resources where key = ${urlKey("$1")} and url = $1 for key share`,
    [canonical]
  )
  return row?.id
})

/** Returns the id of the resource, which is new or stored already. */
const createResource = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, wanted: NewSubscription, now: number) {
  const { canonical, host } = wanted.topic
  const stored = yield* findResourceId(sql, canonical)
  if (stored !== undefined) return stored
  yield* sql.unsafe(
    `with r as (
      insert into resources (key, url, host, partition, kind, created_at)
      values (${urlKey("$1")}, $1, $2, $3::int2, 0, ${instant("$4::float8")}) on conflict (key) do nothing returning id
    ), s as (
      insert into schedule (resource_id, next_fetch, period, partition) select id, ${
      instant("$4::float8")
    }, $5::int4, $3::int2 from r
    )
    insert into resource_state (resource_id) select id from r`,
    [canonical, host, wanted.partition, now, wanted.periodSeconds ?? initialPeriodSeconds]
  )
  return (yield* findResourceId(sql, canonical)) ?? 0
})

const upsertSql = `
  insert into subscriptions as u (account_id, resource_id, topic, channel, endpoint, host, format, secret, face, state, lease_until, created_at, signature_method, network, retry,
    previous_secret, previous_secret_until, headers, labels, asker)
  values ($1::int4, $2::int8, $3, $4::int2, $5, $6, $7::int2, $8::bytea, $9::int2, $10::int2,
  ${instant("$11::float8")}, ${instant("$12::float8")}, $13::int2, $14::text, $15::int2,
  $16::bytea, ${instant("$17::float8")}, $18::bytea, coalesce($19::text[], '{}'), $20::text)
  on conflict (resource_id, account_id, endpoint, face) do update set topic = excluded.topic, channel = excluded.channel,
    host = excluded.host, format = excluded.format, secret = excluded.secret, signature_method = excluded.signature_method,
    state = excluded.state, lease_until = excluded.lease_until, network = excluded.network, asker = excluded.asker, retry = excluded.retry,
    previous_secret = excluded.previous_secret, previous_secret_until = excluded.previous_secret_until,
    headers = coalesce(excluded.headers, u.headers), labels = coalesce($19::text[], u.labels),
    failing_since = case when u.state = 2 then null else u.failing_since end,
    failing_announced = case when u.state = 2 then 0 else u.failing_announced end
  where not (excluded.state = 0 and u.state = 1 and coalesce(u.lease_until, 'infinity') > ${instant("$12::float8")})
  returning ${subscriptionSelect}, (xmax = 0) as created`

const upsert = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, box: Box, wanted: NewSubscription, resourceId: number, now: number) {
    const previous = yield* previousAfterSubscribe(sql, box, wanted, resourceId, now)
    const { headers, labels } = wanted
    const [row] = yield* sql.unsafe<SubscriptionRow & { readonly created: boolean }>(upsertSql, [
      wanted.accountId,
      BigInt(resourceId),
      wanted.topic.given,
      channels.indexOf(wanted.channel),
      wanted.endpoint,
      wanted.host,
      formatCode(wanted),
      wanted.secret === undefined ? null : box.seal(wanted.secret, secretPurpose("secret", wanted)),
      faces.indexOf(wanted.face),
      states.indexOf(wanted.state),
      wanted.leaseUntil ?? null,
      now,
      wanted.signature === undefined ? null : methods.indexOf(wanted.signature),
      wanted.network ?? null,
      wanted.retry === undefined ? null : retries.indexOf(wanted.retry),
      previous.sealed,
      previous.until,
      headers === undefined ? null : box.seal(JSON.stringify(headers), secretPurpose("headers", wanted)),
      labels === undefined ? null : column.texts(labels),
      wanted.asker ?? null
    ])
    return row ?? (yield* selectUnchanged(sql, wanted, resourceId))
  }
)

/** The active subscription that the upsert left unchanged. The upsert has locked its row. */
const selectUnchanged = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, wanted: NewSubscription, resourceId: number) {
    const [row] = yield* sql.unsafe<SubscriptionRow>(
      `select ${subscriptionSelect} from subscriptions u
      where u.resource_id = $1::int8 and u.account_id = $2::int4 and u.endpoint = $3 and u.face = $4::int2`,
      [BigInt(resourceId), wanted.accountId, wanted.endpoint, faces.indexOf(wanted.face)]
    )
    return row && { ...row, created: false }
  }
)

const forgetBounces = (sql: SqlClient.SqlClient, subscriptionId: number) =>
  sql.unsafe(
    `with known as (delete from bounces where subscription_id = $1::int8)
    update subscriptions set on_trial = false where id = $1::int8 and on_trial`,
    [BigInt(subscriptionId)]
  )

const selectResource = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, id: number, now: number) {
  const [row] = yield* sql.unsafe<ResourceRow>(`${selectResources} where r.id = any($2::int8[])`, [
    now,
    column.ids(padValues([id], id))
  ])
  return row
})

/** Deletes the subscription first: a concurrent fan-out then finds no subscription, or is done, and its deliveries are deleted too. */
const removeWhere = (sql: SqlClient.SqlClient, id: number, condition: "true" | "state = 0", isDiscarded = false) =>
  run(sql.withTransaction(Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const [removed] = yield* sql.unsafe<{ resourceId: number; createdAt: string }>(
      `delete from subscriptions where id = $1::int8 and ${condition}
      returning resource_id::float8 as "resourceId", created_at::text as "createdAt"`,
      [BigInt(id)]
    )
    if (removed === undefined) return false
    yield* sql.unsafe(`delete from deliveries where subscription_id = $1::int8`, [BigInt(id)])
    yield* sql.unsafe(`delete from delivery_log where subscription_id = $1::int8`, [BigInt(id)])
    if (isDiscarded) yield* unmarkWatched(sql, removed.resourceId, removed.createdAt)
    yield* settleUnwatched(sql, [removed.resourceId], now)
    return true
  })))

export const setLabels = (sql: SqlClient.SqlClient) =>
  Effect.fn("SubscriptionStore.setLabels")(function*(id: number, labels: Labels) {
    const rows = yield* run(
      sql.unsafe(`update subscriptions set labels = $2::text[] where id = $1::int8 returning 1`, [
        BigInt(id),
        column.texts(labels)
      ])
    )
    return rows.length > 0
  })

export const saveNetwork = (sql: SqlClient.SqlClient) =>
  Effect.fn("SubscriptionStore.saveNetwork")(function*(id: number, network: string) {
    yield* run(sql.unsafe(`update subscriptions set network = $2 where id = $1::int8`, [BigInt(id), network]))
  })

export const remove = (sql: SqlClient.SqlClient) =>
  Effect.fn("SubscriptionStore.remove")((id: number) => removeWhere(sql, id, "true"))

export const removePending = (sql: SqlClient.SqlClient) =>
  Effect.fn("SubscriptionStore.removePending")((id: number) => removeWhere(sql, id, "state = 0"))

export const discard = (sql: SqlClient.SqlClient) =>
  Effect.fn("SubscriptionStore.discard")((id: number) => removeWhere(sql, id, "true", true))

export const removeExpired = (sql: SqlClient.SqlClient) =>
  Effect.fn("SubscriptionStore.removeExpired")(function*(limit: number) {
    const now = yield* Clock.currentTimeMillis
    return yield* run(sql.withTransaction(Effect.gen(function*() {
      const ended = yield* sql.unsafe<ExpiredSubscription>(
        `with ended as (
          delete from subscriptions where id = any(array(
            select id from subscriptions where lease_until <= ${instant("$1::float8")} order by id limit $2::int4
          )) and lease_until <= ${instant("$1::float8")} returning id, account_id, resource_id, topic, endpoint
        )
        select e.id::float8 as id, e.account_id as "accountId", e.resource_id::float8 as "resourceId", e.topic, e.endpoint, r.partition
        from ended e join resources r on r.id = e.resource_id`,
        [now, limit]
      )
      if (ended.length > 0) {
        const ids = column.ids(ended.map(({ id }) => id))
        yield* sql.unsafe(`delete from deliveries where subscription_id = any($1::int8[])`, [ids])
        yield* sql.unsafe(`delete from delivery_log where subscription_id = any($1::int8[])`, [ids])
        yield* settleUnwatched(sql, ended.map(({ resourceId }) => resourceId), now)
      }
      return ended
    })))
  })
