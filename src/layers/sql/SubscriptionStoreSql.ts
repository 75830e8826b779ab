import { Clock, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { anonymous } from "#domain/Account.ts"
import {
  type ListQuery,
  type NewSubscription,
  type SubscriptionItem,
  SubscriptionStore
} from "#domain/ports/SubscriptionStore.ts"
import { StoreError } from "#domain/ports/StoreError.ts"
import { initialPeriodSeconds } from "#domain/poll/Resource.ts"
import { matchAll, type Search } from "#domain/Search.ts"
import type { Channel, Face, SignatureMethod, Subscription, SubscriptionState } from "#domain/Subscription.ts"
import { batched } from "./Batched.ts"
import { bounceColumns, type BounceRow, bouncesOf, trialColumns, trialOf, type TrialRow } from "./BounceRows.ts"
import { formatCode, formats } from "./Formats.ts"
import {
  live,
  profileColumns,
  profileOf,
  type ProfileRow,
  resourceOf,
  type ResourceRow,
  resourceTables,
  selectResources
} from "./ResourceRows.ts"
import { asksForParts, fitting, type Likeness } from "./SubscriptionSearch.ts"
import { column, filled, instant, legalText, millis } from "./Values.ts"
import { run } from "./Query.ts"

/** Stored numbers: append only. */
const channels: ReadonlyArray<Channel> = ["webhook", "xmpp", "null"]
const faces: ReadonlyArray<Face> = ["api", "hub"]
const states: ReadonlyArray<SubscriptionState> = ["pending", "active", "paused"]
const signatures: ReadonlyArray<SignatureMethod> = ["sha1", "sha256", "sha384", "sha512"]

interface SubscriptionRow {
  readonly id: number
  readonly account: number
  readonly resource: number
  readonly topic: string
  readonly channel: number
  readonly endpoint: string
  readonly host: string
  readonly format: number | null
  readonly secret: string | null
  readonly signature: number | null
  readonly face: number
  readonly state: number
  readonly lease_until: number | null
  readonly created_at: number
}

const columns =
  `u.id::float8 as id, u.account_id as account, u.resource_id::float8 as resource, u.topic, u.channel, u.endpoint, u.host,
  u.format, u.secret, u.signature_method as signature, u.face, u.state, ${millis("u.lease_until")} as lease_until, ${
    millis("u.created_at")
  } as created_at`

type Query = Pick<ListQuery, "accountId" | "search">

/** So many are looked through at first for a number of different resources. */
const manySubscriptions = 2_000

const key = "substring(sha256(convert_to($1, 'UTF8')) for 16)"

export const layer = Layer.effect(
  SubscriptionStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const resourceId = Effect.fnUntraced(function*(canonical: string) {
      const [row] = yield* sql.unsafe<{ id: number }>(
        `select id::float8 as id from resources where key = ${key} and url = $1`,
        [canonical]
      )
      return row?.id
    })

    const createResource = Effect.fnUntraced(function*(wanted: NewSubscription, now: number) {
      const { canonical, host } = wanted.topic
      const existing = yield* resourceId(canonical)
      if (existing !== undefined) return existing
      yield* sql.unsafe(
        `with r as (
        insert into resources (key, url, host, partition, kind, created_at)
        values (${key}, $1, $2, $3::int2, 0, ${instant("$4::float8")}) on conflict (key) do nothing returning id
      ), s as (
        insert into schedule (resource_id, next_fetch, period) select id, ${instant("$4::float8")}, $5::int4 from r
      )
      insert into resource_state (resource_id) select id from r`,
        [canonical, host, wanted.partition, now, initialPeriodSeconds]
      )
      return (yield* resourceId(canonical)) ?? 0
    })

    const upsert = Effect.fnUntraced(function*(wanted: NewSubscription, resourceId: number, now: number) {
      const [row] = yield* sql.unsafe<SubscriptionRow & { readonly created: boolean }>(
        `insert into subscriptions as u (account_id, resource_id, topic, channel, endpoint, host, format, secret, face, state, lease_until, created_at, signature_method)
      values ($1::int4, $2::int8, $3, $4::int2, $5, $6, $7::int2, $8::text, $9::int2, $10::int2, ${
          instant("$11::float8")
        }, ${instant("$12::float8")}, $13::int2)
      on conflict (resource_id, account_id, endpoint, face) do update set topic = excluded.topic, channel = excluded.channel,
        host = excluded.host, format = excluded.format, secret = excluded.secret, signature_method = excluded.signature_method, state = excluded.state, lease_until = excluded.lease_until
      where not (excluded.state = 0 and u.state = 1 and coalesce(u.lease_until, 'infinity') > ${instant("$12::float8")})
      returning ${columns}, (xmax = 0) as created`,
        [
          wanted.accountId,
          BigInt(resourceId),
          wanted.topic.given,
          channels.indexOf(wanted.channel),
          wanted.endpoint,
          wanted.host,
          formatCode(wanted),
          wanted.secret === undefined ? null : legalText(wanted.secret),
          faces.indexOf(wanted.face),
          states.indexOf(wanted.state),
          wanted.leaseUntil ?? null,
          now,
          wanted.signature === undefined ? null : signatures.indexOf(wanted.signature)
        ]
      )
      return row ?? (yield* standing(wanted, resourceId))
    })

    /** What the upsert left as it is; locked by it, and so there. */
    const standing = Effect.fnUntraced(function*(wanted: NewSubscription, resourceId: number) {
      const [row] = yield* sql.unsafe<SubscriptionRow>(
        `select ${columns} from subscriptions u
        where u.resource_id = $1::int8 and u.account_id = $2::int4 and u.endpoint = $3 and u.face = $4::int2`,
        [BigInt(resourceId), wanted.accountId, wanted.endpoint, faces.indexOf(wanted.face)]
      )
      return row && { ...row, created: false }
    })

    const resources = Effect.fnUntraced(function*(ids: ReadonlyArray<number>, now: number) {
      const rows = yield* sql.unsafe<ResourceRow>(`${selectResources} where r.id = any($2::int8[])`, [
        now,
        column.ids(filled(ids, ids[0] ?? 0))
      ])
      return new Map(rows.map((row) => [row.id, resourceOf(row)]))
    })

    const subscribe = Effect.fn("SubscriptionStore.subscribe")(function*(wanted: NewSubscription) {
      const now = yield* Clock.currentTimeMillis
      const { resource, row } = yield* run(sql.withTransaction(Effect.gen(function*() {
        const resourceId = yield* createResource(wanted, now)
        const row = yield* upsert(wanted, resourceId, now)
        if (row?.created === false && wanted.channel === "xmpp") {
          yield* sql.unsafe(
            `with known as (delete from bounces where subscription_id = $1::int8)
            update subscriptions set on_trial = false where id = $1::int8 and on_trial`,
            [BigInt(row.id)]
          )
        }
        return { row, resource: (yield* resources([resourceId], now)).get(resourceId) }
      })))
      if (row === undefined || resource === undefined) {
        return yield* new StoreError({
          reason: { _tag: "Defect", message: "A subscription was written and is not there." }
        })
      }
      return { subscription: subscriptionOf(row), resource, created: row.created }
    })

    /** The subscription first: a fan-out that is under way then finds it gone, or is done and its deliveries are deleted with the others. */
    const removeWhere = (id: number, condition: "true" | "state = 0") =>
      run(sql.withTransaction(Effect.gen(function*() {
        const removed = yield* sql.unsafe(
          `delete from subscriptions where id = $1::int8 and ${condition} returning id`,
          [BigInt(id)]
        )
        if (removed.length === 0) return false
        yield* sql.unsafe(`delete from deliveries where subscription_id = $1::int8`, [BigInt(id)])
        return true
      })))

    const remove = Effect.fn("SubscriptionStore.remove")((id: number) => removeWhere(id, "true"))

    const removePending = Effect.fn("SubscriptionStore.removePending")((id: number) => removeWhere(id, "state = 0"))

    const removeEnded = Effect.fn("SubscriptionStore.removeEnded")(function*(limit: number) {
      const now = yield* Clock.currentTimeMillis
      return yield* run(sql.withTransaction(Effect.gen(function*() {
        const ended = yield* sql.unsafe<{ id: number; resourceId: number; partition: number }>(
          `with ended as (
          delete from subscriptions where id = any(array(
            select id from subscriptions where lease_until <= ${instant("$1::float8")} order by id limit $2::int4
          )) and lease_until <= ${instant("$1::float8")} returning id, resource_id
        )
        select e.id::float8 as id, e.resource_id::float8 as "resourceId", r.partition from ended e join resources r on r.id = e.resource_id`,
          [now, limit]
        )
        if (ended.length > 0) {
          yield* sql.unsafe(`delete from deliveries where subscription_id = any($1::int8[])`, [
            column.ids(ended.map(({ id }) => id))
          ])
        }
        return ended
      })))
    })

    /** Hosts of one site begin alike when they are read from behind; "/" comes after "." in the order of bytes. */
    const countOfSite = Effect.fn("SubscriptionStore.countOfSite")(function*(site: string, limit: number) {
      const now = yield* Clock.currentTimeMillis
      const backwards = [...site].toReversed().join("")
      const [row] = yield* run(sql.unsafe<{ count: number }>(
        `select count(*)::float8 as count from (
          select from subscriptions u where u.account_id = ${anonymous.account.id} and ${live("u")}
            and (reverse(rtrim(u.host, '.')) || '.') collate "C" >= $2 and (reverse(rtrim(u.host, '.')) || '.') collate "C" < $3
          limit $4::int4
        ) counted`,
        [now, `${backwards}.`, `${backwards}/`, limit]
      ))
      return row?.count ?? 0
    })

    const find = Effect.fn("SubscriptionStore.find")(function*(wanted: NewSubscription) {
      const rows = yield* run(sql.unsafe<SubscriptionRow>(
        `select ${columns} from subscriptions u join resources r on r.id = u.resource_id
        where r.key = ${key} and r.url = $1 and u.account_id = $2::int4 and u.endpoint = $3 and u.face = $4::int2`,
        [wanted.topic.canonical, wanted.accountId, wanted.endpoint, faces.indexOf(wanted.face)]
      ))
      return Option.map(Option.fromNullishOr(rows[0]), subscriptionOf)
    })

    const load = batched({
      spacing: 5,
      max: 1_000,
      run: Effect.fnUntraced(function*(ids: ReadonlyArray<number>) {
        const rows = yield* run(
          sql.unsafe<SubscriptionRow & TrialRow>(
            `select ${columns}, ${trialColumns("u", "b")}
          from subscriptions u left join bounces b on u.on_trial and b.subscription_id = u.id where u.id = any($1::int8[])`,
            [column.ids(ids)]
          )
        )
        const byId = new Map(
          rows.map((row) => {
            const trial = trialOf(row)
            return [row.id, trial === undefined ? subscriptionOf(row) : { ...subscriptionOf(row), trial }]
          })
        )
        return ids.map((id) => Option.fromNullishOr(byId.get(id)))
      })
    })

    const ofTopic = Effect.fn("SubscriptionStore.ofTopic")(function*(accountId: number, url: string) {
      if (url.includes("\u0000")) return [] // the database would refuse the question
      const rows = yield* run(sql.unsafe<SubscriptionRow>(
        `select ${columns} from subscriptions u join resources r on r.id = u.resource_id
      where r.key = ${key} and r.url = $1 and u.account_id = $2::int4 order by u.id`,
        [url, accountId]
      ))
      return rows.map(subscriptionOf)
    })

    /** Planned with its values: what is rare is looked up, what is common is met on the way through the account. */
    const fittingIds = Effect.fnUntraced(function*(query: Query, likeness: Likeness, offset: number, limit: number) {
      const parameters: Array<unknown> = []
      const fit = fitting(query.accountId, query.search ?? matchAll, likeness, parameters)
      const rows = yield* run(
        sql.unsafe<{ id: number }>(
          `select u.id::float8 as id from ${fit} order by u.id offset ${offset} limit ${limit}`,
          parameters
        ).unprepared
      )
      return rows.map(({ id }) => id)
    })

    /** A page, and whether it had to be filled with what is similar; a page past the last one is empty, and no reason to look for that. */
    const pageIds = Effect.fnUntraced(function*(query: Query, offset: number, limit: number) {
      const ids = yield* fittingIds(query, "exact", offset, limit)
      const found = ids.length > 0 || !asksForParts(query.search ?? matchAll) ||
        offset > 0 && (yield* fittingIds(query, "exact", 0, limit)).length > 0
      return found
        ? { ids, likeness: "exact" as const }
        : { ids: yield* fittingIds(query, "similar", offset, limit), likeness: "similar" as const }
    })

    const count = Effect.fnUntraced(function*(query: Query, likeness: Likeness) {
      const parameters: Array<unknown> = []
      const fit = fitting(query.accountId, query.search ?? matchAll, likeness, parameters)
      const [row] = yield* run(
        sql.unsafe<{ total: number }>(`select count(*)::float8 as total from ${fit}`, parameters).unprepared
      )
      return row?.total ?? 0
    })

    /** The oldest subscriptions suffice to see that there are too many resources; else all are looked through. */
    const feeds = Effect.fn("SubscriptionStore.feeds")(function*(accountId: number, search: Search, limit: number) {
      const query = { accountId, search }
      const { likeness } = yield* pageIds(query, 0, limit)
      const oldest = Effect.fnUntraced(function*(bound: string) {
        const parameters: Array<unknown> = []
        const fit = fitting(accountId, search, likeness, parameters)
        const rows = yield* run(
          sql.unsafe<SubscriptionRow>(
            `select ${columns} from subscriptions u where u.id = any(array(
            select min(id) from (select u.id, u.resource_id from ${fit} order by u.id ${bound}) u
            group by resource_id order by min(id) limit ${limit}
          )) order by u.id`,
            parameters
          ).unprepared
        )
        return rows.map(subscriptionOf)
      })
      const first = yield* oldest(`limit ${manySubscriptions}`)
      return first.length < limit ? yield* oldest("") : first
    })

    /** What is searched for, ids first: a late page need not join what it skips. Without a search both are one statement. */
    const list = Effect.fn("SubscriptionStore.list")(
      function*({ accountId, byPage, counted = false, page, search }: ListQuery) {
        const offset = (page - 1) * byPage
        if (search === undefined) {
          const rows = yield* run(sql.unsafe<ListedRow>(
            selectListed(`account_id = $1::int4 order by id offset $2::int8 limit $3::int8`, counted),
            [accountId, BigInt(offset), BigInt(byPage)]
          ))
          return { items: rows.map(listedOf), total: counted ? yield* count({ accountId }, "exact") : undefined }
        }
        const query = { accountId, search }
        const { ids, likeness } = yield* pageIds(query, offset, byPage)
        const rows = yield* run(sql.unsafe<ListedRow>(selectListed("id = any($1::int8[])", counted), [column.ids(ids)]))
        return { items: rows.map(listedOf), total: counted ? yield* count(query, likeness) : undefined }
      }
    )

    return SubscriptionStore.of({
      subscribe,
      remove,
      removePending,
      removeExpired: removeEnded,
      countOnSite: countOfSite,
      find,
      load,
      findByTopic: ofTopic,
      feeds,
      list
    })
  })
)

interface ListedRow extends SubscriptionRow, ProfileRow, BounceRow {
  /** Null where they were not counted. */
  readonly waiting: number | null
  readonly dropped: number
}

/**
 * The subscriptions that a condition selects, oldest first, with their resources.
 *
 * The limit makes a look-up of what is joined: a plan that is kept knows neither how many there are, nor how few are asked for.
 */
const selectListed = (condition: string, counted: boolean): string => `
select ${columns}, r.*${counted ? counts : uncounted}
from (select * from subscriptions where ${condition}) u
cross join lateral (select ${profileColumns} from ${resourceTables} where r.id = u.resource_id limit 1) r
${counted ? "left join bounces b on b.subscription_id = u.id" : ""} order by u.id`

const counts = `, ${bounceColumns("b")},
  (select count(*) from deliveries d where d.subscription_id = u.id and d.state = 0)::float8 as waiting,
  (select count(*) from deliveries d where d.subscription_id = u.id and d.state = 1)::float8 as dropped`

const uncounted = ", null::int4 as bounces, null::float8 as waiting"

const listedOf = (row: ListedRow): SubscriptionItem => {
  const { dropped, waiting } = row
  const bounces = bouncesOf(row)
  return {
    subscription: subscriptionOf(row),
    resource: profileOf(row.resource, row),
    ...(waiting !== null && { deliveries: { waiting, dropped } }),
    ...(bounces !== undefined && { bounces })
  }
}

const subscriptionOf = (row: SubscriptionRow): Subscription => {
  const signature = row.signature === null ? undefined : signatures[row.signature]
  return {
    id: row.id,
    accountId: row.account,
    resourceId: row.resource,
    topic: row.topic,
    channel: channels[row.channel] ?? "webhook",
    endpoint: row.endpoint,
    host: row.host,
    ...(row.format === null ? {} : formats[row.format]),
    ...(row.secret === null ? {} : { secret: row.secret }),
    ...(signature === undefined ? {} : { signature }),
    face: faces[row.face] ?? "api",
    state: states[row.state] ?? "paused",
    ...(row.lease_until === null ? {} : { leaseUntil: row.lease_until }),
    createdAt: row.created_at
  }
}
