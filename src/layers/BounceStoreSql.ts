import { Clock, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { afterBounce, type Bounce } from "#domain/Bounce.ts"
import { placeInLog } from "#domain/Delivery.ts"
import { BounceStore, type Resumed } from "#domain/ports/BounceStore.ts"
import { bounceColumns, type BounceRow, bouncesOf } from "./sql/BounceRows.ts"
import { instant, legalText } from "./sql/Values.ts"
import { ask } from "./SqlFailure.ts"

export const layer = Layer.effect(
  BounceStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    /** One after the other: the row of the subscription is locked while they are counted. */
    const record = Effect.fn("BounceStore.record")(function*(bounce: Bounce) {
      const now = yield* Clock.currentTimeMillis
      const id = BigInt(bounce.subscriptionId)
      return yield* ask(sql.withTransaction(Effect.gen(function*() {
        const [known] = yield* sql.unsafe<BounceRow>(
          `select ${bounceColumns("b")} from subscriptions u left join bounces b on b.subscription_id = u.id
          where u.id = $1::int8 and $2::int8 < u.next_sequence for update of u`,
          [id, BigInt(bounce.sequence)]
        )
        if (known === undefined) return Option.none()
        const bounces = afterBounce(bouncesOf(known), bounce, now)
        if (bounces === undefined) return Option.none()
        const message = legalText(bounces.message)
        yield* sql.unsafe(
          `insert into bounces (subscription_id, count, since, sequence, last_at, message, trials)
          values ($1::int8, $2::int4, ${instant("$3::float8")}, $4::int8, ${instant("$5::float8")}, $6, $7::int4)
          on conflict (subscription_id) do update set count = excluded.count, since = excluded.since,
            sequence = excluded.sequence, last_at = excluded.last_at, message = excluded.message, trials = excluded.trials`,
          [id, bounces.count, bounces.since, BigInt(bounces.sequence), bounces.lastAt, message, bounces.trials]
        )
        yield* sql.unsafe(
          `insert into delivery_log (subscription_id, place, sequence, attempt, tried_at, code, message)
          values ($1::int8, $2::int4, $3::int8, 0, ${instant("$4::float8")}, 0, $5)
          on conflict (subscription_id, place) do update set sequence = excluded.sequence, attempt = 0,
            tried_at = excluded.tried_at, code = 0, message = excluded.message, latency = null, next_try = null`,
          [id, placeInLog(bounce.sequence, 0), BigInt(bounce.sequence), now, message]
        )
        return Option.some(bounces)
      })))
    })

    const pause = Effect.fn("BounceStore.pause")((subscriptionId: number, trialAt: number) =>
      Effect.map(
        ask(sql.unsafe(
          `with paused as (
            update subscriptions set state = 2 where id = $1::int8 and state = 1 returning id
          ), due as (
            update bounces set trial_at = ${instant("$2::float8")} where subscription_id in (select id from paused)
          )
          select id from paused`,
          [BigInt(subscriptionId), trialAt]
        )),
        (rows) => rows.length > 0
      )
    )

    /** Those that a query finds, as long as they are paused; `change` is what becomes of what came back. */
    const activate = (paused: string, change: string, values: ReadonlyArray<unknown>) =>
      ask(sql.unsafe<Resumed>(
        `with resumed as (
          update subscriptions set state = 1 where id = any(array(${paused})) and state = 2 returning id, resource_id
        ), changed as (
          ${change} where subscription_id in (select id from resumed)
        )
        select u.id::float8 as id, u.resource_id::float8 as "resourceId", r.partition
        from resumed u join resources r on r.id = u.resource_id order by u.id`,
        values
      ))

    const resumeAll = (wanted: string, values: ReadonlyArray<unknown>) =>
      activate(
        `select id from subscriptions where ${wanted} and channel = 1 and state = 2 order by id limit $1::int4`,
        "delete from bounces",
        values
      )

    /** By the hash of the endpoint, which is what the index has. */
    const resume = Effect.fn("BounceStore.resume")((jid: string, limit: number) =>
      resumeAll("hashtextextended(endpoint, 0) = hashtextextended($2, 0) and endpoint = $2", [limit, legalText(jid)])
    )

    const resumeDomain = Effect.fn("BounceStore.resumeDomain")((accountId: number, domain: string, limit: number) =>
      resumeAll("account_id = $2::int4 and host = $3", [limit, accountId, legalText(domain)])
    )

    const startTrials = Effect.fn("BounceStore.startTrials")(function*(limit: number) {
      return yield* activate(
        `select subscription_id from bounces where trial_at <= ${
          instant("$2::float8")
        } order by trial_at limit $1::int4`,
        "update bounces set trials = trials + 1, trial_at = null",
        [limit, yield* Clock.currentTimeMillis]
      )
    })

    const endTrial = Effect.fn("BounceStore.endTrial")((subscriptionId: number, sequence: number) =>
      Effect.asVoid(ask(
        sql.unsafe(`delete from bounces where subscription_id = $1::int8 and sequence < $2::int8`, [
          BigInt(subscriptionId),
          BigInt(sequence)
        ])
      ))
    )

    return BounceStore.of({ record, pause, resume, resumeDomain, startTrials, endTrial })
  })
)
