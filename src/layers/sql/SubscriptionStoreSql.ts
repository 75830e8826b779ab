import { Clock, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { anonymous } from "#domain/Account.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { batched } from "./Batched.ts"
import { trialColumns, trialOf, type TrialRow } from "./BounceRows.ts"
import { listBriefly } from "./BriefList.ts"
import { isLive } from "./Conditions.ts"
import { sqlWithGenericPlans } from "./GenericPlans.ts"
import { run } from "./Query.ts"
import { type Box, SecretBox } from "./SecretBox.ts"
import { exportPage } from "./SubscriptionExport.ts"
import { findUnwatched, subscribeAll } from "./SubscriptionImport.ts"
import { list, selectFeeds } from "./SubscriptionLists.ts"
import { faces, subscriptionOf, type SubscriptionRow, subscriptionSelect } from "./SubscriptionRows.ts"
import { rotateSecret } from "./SubscriptionSecrets.ts"
import {
  discard,
  remove,
  removeExpired,
  removePending,
  saveNetwork,
  setLabels,
  subscribe
} from "./SubscriptionWrites.ts"
import { column, urlKey } from "./Values.ts"

export const layer = Layer.effect(
  SubscriptionStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const genericSql = yield* sqlWithGenericPlans
    const box = yield* SecretBox
    return SubscriptionStore.of({
      subscribe: subscribe(sql, box),
      subscribeAll: subscribeAll(sql, box),
      findUnwatched: findUnwatched(sql),
      exportPage: exportPage(sql, box),
      rotateSecret: rotateSecret(sql, box),
      remove: remove(sql),
      discard: discard(sql),
      removePending: removePending(sql),
      removeExpired: removeExpired(sql),
      setLabels: setLabels(sql),
      saveNetwork: saveNetwork(sql),
      countOnSite: countOnSite(sql),
      countInNetwork: countInNetwork(sql),
      countOfAccount: countOfAccount(sql),
      find: find(genericSql, box),
      load: makeLoad(genericSql, box),
      findByTopic: findByTopic(genericSql, box),
      feeds: selectFeeds(sql, box),
      list: list(sql, genericSql, box),
      listBriefly: listBriefly(sql, genericSql, box)
    })
  })
)

/** Reversed hosts of one site have the same beginning. In byte order "/" follows ".", so that both bounds enclose the site. */
const countOnSite = (sql: SqlClient.SqlClient) =>
  Effect.fn("SubscriptionStore.countOnSite")(function*(site: string, limit: number) {
    const now = yield* Clock.currentTimeMillis
    const reversed = [...site].toReversed().join("")
    const [row] = yield* run(sql.unsafe<{ count: number }>(
      `select count(*)::float8 as count from (
        select from subscriptions u where u.account_id = ${anonymous.account.id} and ${isLive("u")}
          and (reverse(rtrim(u.host, '.')) || '.') collate "C" >= $2 and (reverse(rtrim(u.host, '.')) || '.') collate "C" < $3
        limit $4::int4
      ) counted`,
      [now, `${reversed}.`, `${reversed}/`, limit]
    ))
    return row?.count ?? 0
  })

const countOfAccount = (sql: SqlClient.SqlClient) =>
  Effect.fn("SubscriptionStore.countOfAccount")(function*(accountId: number, limit: number) {
    const [row] = yield* run(sql.unsafe<{ count: number }>(
      `select count(*)::float8 as count from (
        select from subscriptions where account_id = $1::int4 limit $2::int4
      ) counted`,
      [accountId, limit]
    ))
    return row?.count ?? 0
  })

const countInNetwork = (sql: SqlClient.SqlClient) =>
  Effect.fn("SubscriptionStore.countInNetwork")(function*(network: string, limit: number) {
    const now = yield* Clock.currentTimeMillis
    const [row] = yield* run(sql.unsafe<{ count: number }>(
      `select count(*)::float8 as count from (
        select from subscriptions u where u.network = $2 and u.account_id = ${anonymous.account.id} and ${isLive("u")}
        limit $3::int4
      ) counted`,
      [now, network, limit]
    ))
    return row?.count ?? 0
  })

const find = (sql: SqlClient.SqlClient, box: Box) =>
  Effect.fn("SubscriptionStore.find")(function*(wanted: NewSubscription) {
    const rows = yield* run(sql.unsafe<SubscriptionRow>(
      `select ${subscriptionSelect} from subscriptions u join resources r on r.id = u.resource_id
      where r.key = ${urlKey("$1")} and r.url = $1
        and u.account_id = $2::int4 and u.endpoint = $3 and u.face = $4::int2`,
      [wanted.topic.canonical, wanted.accountId, wanted.endpoint, faces.indexOf(wanted.face)]
    ))
    return Option.map(Option.fromNullishOr(rows[0]), subscriptionOf(box))
  })

const makeLoad = (sql: SqlClient.SqlClient, box: Box) =>
  batched({
    maxInputs: 1_000,
    run: Effect.fnUntraced(function*(ids: ReadonlyArray<number>) {
      const rows = yield* run(sql.unsafe<SubscriptionRow & TrialRow>(
        `select ${subscriptionSelect}, ${trialColumns("u", "b")}
        from subscriptions u left join bounces b on u.on_trial and b.subscription_id = u.id where u.id = any($1::int8[])`,
        [column.ids(ids)]
      ))
      const byId = new Map(
        rows.map((row) => {
          const trial = trialOf(row)
          const subscription = subscriptionOf(box)(row)
          return [row.id, trial === undefined ? subscription : { ...subscription, trial }]
        })
      )
      yield* logUnreadable([...byId.values()])
      return ids.map((id) => Option.fromNullishOr(byId.get(id)))
    })
  })

/** Subscriptions that one record names, at most. */
const maxNamed = 10

/** One record per batch, because a lost key concerns all secrets together. */
const logUnreadable = Effect.fnUntraced(function*(subscriptions: ReadonlyArray<Subscription>) {
  const unreadable = subscriptions.filter((subscription) => subscription.unreadable !== undefined)
  if (unreadable.length === 0) return
  yield* Effect.logError("Stored secrets of subscriptions cannot be decrypted; their deliveries fail.").pipe(
    Effect.annotateLogs({
      count: unreadable.length,
      subscriptions: unreadable.slice(0, maxNamed).map(({ id }) => id).join(", "),
      reason: unreadable[0]?.unreadable
    })
  )
})

const findByTopic = (sql: SqlClient.SqlClient, box: Box) =>
  Effect.fn("SubscriptionStore.findByTopic")(function*(accountId: number, url: string) {
    if (url.includes("\u0000")) return [] // the server would reject the statement
    const rows = yield* run(sql.unsafe<SubscriptionRow>(
      `select ${subscriptionSelect} from subscriptions u join resources r on r.id = u.resource_id
      where r.key = ${urlKey("$1")} and r.url = $1 and u.account_id = $2::int4 order by u.id`,
      [url, accountId]
    ))
    return rows.map(subscriptionOf(box))
  })
