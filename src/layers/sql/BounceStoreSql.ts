import { Clock, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { afterBounce, type Bounce, farTrial, type Trial } from "#domain/delivery/Bounce.ts"
import { placeInLog } from "#domain/delivery/Delivery.ts"
import { BounceStore, type Resumed } from "#domain/ports/BounceStore.ts"
import { bounceColumns, type BounceRow, bouncesOf } from "./BounceRows.ts"
import { instant, legalText } from "./Values.ts"
import { run } from "./Query.ts"

export const layer = Layer.effect(
  BounceStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    /** One after the other: the row of the subscription is locked while they are counted. */
    const record = Effect.fn("BounceStore.record")(function*(bounce: Bounce) {
      const now = yield* Clock.currentTimeMillis
      const id = BigInt(bounce.subscriptionId)
      return yield* run(sql.withTransaction(Effect.gen(function*() {
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
        run(sql.unsafe(
          `with paused as (
            update subscriptions set state = 2, on_trial = false where id = $1::int8 and state = 1 returning id
          ), due as (
            update bounces set trial_at = ${instant("$2::float8")}, tried_sequence = null, tried_until = null
            where subscription_id in (select id from paused)
          )
          select id from paused`,
          [BigInt(subscriptionId), trialAt]
        )),
        (rows) => rows.length > 0
      )
    )

    /** Those that a query finds, as long as they are `halted`; `change` is what becomes of what came back. */
    const activate = (
      { change, found, halted, onTrial }: Activation,
      values: ReadonlyArray<unknown>
    ) =>
      run(sql.unsafe<Resumed>(
        `with resumed as (
          update subscriptions set state = 1, on_trial = ${onTrial} where id = any(array(${found})) and ${halted}
          returning id, resource_id
        ), changed as (
          ${change} where subscription_id in (select id from resumed)
        )
        select u.id::float8 as id, u.resource_id::float8 as "resourceId", r.partition
        from resumed u join resources r on r.id = u.resource_id order by u.id`,
        values
      ))

    const resumeAll = (wanted: string, values: ReadonlyArray<unknown>) =>
      activate({
        found: `select id from subscriptions where ${wanted} and channel = 1 and ${halted} order by id limit $1::int4`,
        halted,
        onTrial: false,
        change: "delete from bounces"
      }, values)

    /** By the hash of the endpoint, which is what the index has. */
    const resume = Effect.fn("BounceStore.resume")((jid: string, limit: number) =>
      resumeAll("hashtextextended(endpoint, 0) = hashtextextended($2, 0) and endpoint = $2", [limit, legalText(jid)])
    )

    const resumeDomain = Effect.fn("BounceStore.resumeDomain")((accountId: number, domain: string, limit: number) =>
      resumeAll("account_id = $2::int4 and host = $3", [limit, accountId, legalText(domain)])
    )

    const startTrials = Effect.fn("BounceStore.startTrials")(function*(limit: number) {
      const now = yield* Clock.currentTimeMillis
      return yield* activate(
        {
          found: `select subscription_id from bounces where trial_at <= ${instant("$2::float8")} or trial_at > ${
            instant("$3::float8")
          } order by trial_at limit $1::int4`,
          halted: "state = 2",
          onTrial: true,
          change: "update bounces set trials = trials + 1, trial_at = null"
        },
        [limit, now, now + farTrial]
      )
    })

    const trialSent = Effect.fn("BounceStore.trialSent")(
      (subscriptionId: number, { sequence, until }: NonNullable<Trial["sent"]>) =>
        Effect.asVoid(run(sql.unsafe(
          `update bounces b set tried_sequence = $2::int8, tried_until = ${instant("$3::float8")}
          from subscriptions u where u.id = $1::int8 and u.on_trial and b.subscription_id = u.id`,
          [BigInt(subscriptionId), BigInt(sequence), until]
        )))
    )

    const endTrial = Effect.fn("BounceStore.endTrial")((subscriptionId: number, sequence: number) =>
      Effect.asVoid(run(sql.unsafe(
        `with arrived as (
          delete from bounces b using subscriptions u
          where u.id = $1::int8 and u.on_trial and b.subscription_id = u.id and b.sequence < $2::int8
          returning b.subscription_id
        ), other as (
          update bounces set tried_sequence = null, tried_until = null where subscription_id = $1::int8 and sequence >= $2::int8
        )
        update subscriptions set on_trial = false where id in (select subscription_id from arrived)`,
        [BigInt(subscriptionId), BigInt(sequence)]
      )))
    )

    return BounceStore.of({ record, pause, resume, resumeDomain, startTrials, trialSent, endTrial })
  })
)

/** Something is held back from it; the words of the indexes. */
const halted = "(state = 2 or on_trial)"

interface Activation {
  /** A query that gives ids of subscriptions. */
  readonly found: string
  readonly halted: string
  readonly onTrial: boolean
  /** An update of `bounces`, or a deletion. */
  readonly change: string
}
