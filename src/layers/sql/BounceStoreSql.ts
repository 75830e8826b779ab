import { Clock, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { addBounce, type Bounce, type BounceHistory, maxTrialDelayMs, type Trial } from "#domain/delivery/Bounce.ts"
import { BounceStore, type ResumedSubscription } from "#domain/ports/BounceStore.ts"
import { bounceColumns, type BounceRow, bouncesOf } from "./BounceRows.ts"
import { insertFailures, resultOfFailure } from "./DeliveryLogRows.ts"
import { instant, legalText } from "./Values.ts"
import { run } from "./Query.ts"

export const layer = Layer.effect(
  BounceStore,
  SqlClient.SqlClient.useSync((sql) =>
    BounceStore.of({
      record: record(sql),
      pause: pause(sql),
      resume: resume(sql),
      resumeDomain: resumeDomain(sql),
      startTrials: startTrials(sql),
      recordTrial: recordTrial(sql),
      endTrial: endTrial(sql)
    })
  )
)

/** Counts bounces one by one, because the row of the subscription stays locked. */
const record = (sql: SqlClient.SqlClient) =>
  Effect.fn("BounceStore.record")(function*(bounce: Bounce) {
    const now = yield* Clock.currentTimeMillis
    return yield* run(sql.withTransaction(Effect.gen(function*() {
      const [row] = yield* sql.unsafe<BounceRow>(
        `select ${bounceColumns("b")} from subscriptions u left join bounces b on b.subscription_id = u.id
        where u.id = $1::int8 and $2::int8 < u.next_sequence for update of u`,
        [BigInt(bounce.subscriptionId), BigInt(bounce.sequence)]
      )
      if (row === undefined) return Option.none()
      const bounces = addBounce(bouncesOf(row), bounce, now)
      if (bounces === undefined) return Option.none()
      yield* saveBounces(sql, bounce.subscriptionId, bounces)
      yield* logBounce(sql, bounce, bounces.message, now)
      return Option.some(bounces)
    })))
  })

const saveBounces = (sql: SqlClient.SqlClient, subscriptionId: number, bounces: BounceHistory) =>
  sql.unsafe(
    `insert into bounces (subscription_id, count, since, sequence, last_at, message, trials)
    values ($1::int8, $2::int4, ${instant("$3::float8")}, $4::int8, ${instant("$5::float8")}, $6, $7::int4)
    on conflict (subscription_id) do update set count = excluded.count, since = excluded.since,
      sequence = excluded.sequence, last_at = excluded.last_at, message = excluded.message, trials = excluded.trials`,
    [
      BigInt(subscriptionId),
      bounces.count,
      bounces.since,
      BigInt(bounces.sequence),
      bounces.lastAt,
      legalText(bounces.message),
      bounces.trials
    ]
  )

const logBounce = (sql: SqlClient.SqlClient, { sequence, subscriptionId }: Bounce, message: string, now: number) =>
  sql.unsafe(
    `with failed as (
      select $1::int8 as subscription_id, $2::int8 as sequence, null::int8 as notification_id, false as is_part, null::int8 as credits,
        0 as attempt, $4::int4 as result, $5::text as message, null as answer, null::int4 as latency, null::int4 as bytes,
        null::timestamptz as next_try
    )
    ${insertFailures("$3::float8")}`,
    [
      BigInt(subscriptionId),
      BigInt(sequence),
      now,
      resultOfFailure({ code: 0, reason: "bounced" }),
      legalText(message)
    ]
  )

const pause = (sql: SqlClient.SqlClient) =>
  Effect.fn("BounceStore.pause")((subscriptionId: number, trialAt: number) =>
    Effect.map(
      run(sql.unsafe(
        `with paused as (
          update subscriptions set state = 2, on_trial = false where id = $1::int8 and state = 1 returning id
        ), due as (
          update bounces set trial_at = ${instant("$2::float8")}, trial_sequence = null, trial_until = null
          where subscription_id in (select id from paused)
        )
        select id from paused`,
        [BigInt(subscriptionId), trialAt]
      )),
      (rows) => rows.length > 0
    )
  )

/** Subscriptions that are paused or on trial, in the words of their partial indexes. */
const halted = "(state = 2 or on_trial)"

interface Activation {
  /** A query that returns ids of subscriptions. */
  readonly select: string
  /** Checked again on the selected rows. */
  readonly condition: string
  readonly onTrial: boolean
  /** An update or delete of `bounces`, without its condition. */
  readonly change: string
}

/** Activates subscriptions and changes their bounces. */
const activate = (
  sql: SqlClient.SqlClient,
  { change, condition, onTrial, select }: Activation,
  values: ReadonlyArray<unknown>
) =>
  run(sql.unsafe<ResumedSubscription>(
    `with resumed as (
      update subscriptions set state = 1, on_trial = ${onTrial} where id = any(array(${select})) and ${condition}
      returning id, resource_id
    ), changed as (
      ${change} where subscription_id in (select id from resumed)
    )
    select u.id::float8 as id, u.resource_id::float8 as "resourceId", r.partition
    from resumed u join resources r on r.id = u.resource_id order by u.id`,
    values
  ))

const resumeWhere = (sql: SqlClient.SqlClient, condition: string, values: ReadonlyArray<unknown>) =>
  activate(sql, {
    select: `select id from subscriptions where ${condition} and channel = 1 and ${halted} order by id limit $1::int4`,
    condition: halted,
    onTrial: false,
    change: "delete from bounces"
  }, values)

/** Compares the hash of the endpoint too, because the index holds the hash. */
const resume = (sql: SqlClient.SqlClient) =>
  Effect.fn("BounceStore.resume")((jid: string, limit: number) =>
    resumeWhere(sql, "hashtextextended(endpoint, 0) = hashtextextended($2, 0) and endpoint = $2", [
      limit,
      legalText(jid)
    ])
  )

const resumeDomain = (sql: SqlClient.SqlClient) =>
  Effect.fn("BounceStore.resumeDomain")((accountId: number, domain: string, limit: number) =>
    resumeWhere(sql, "account_id = $2::int4 and host = $3", [limit, accountId, legalText(domain)])
  )

const startTrials = (sql: SqlClient.SqlClient) =>
  Effect.fn("BounceStore.startTrials")(function*(limit: number) {
    const now = yield* Clock.currentTimeMillis
    return yield* activate(
      sql,
      {
        select: `select subscription_id from bounces where trial_at <= ${instant("$2::float8")}
          or trial_at > ${instant("$3::float8")} order by trial_at limit $1::int4`,
        condition: "state = 2",
        onTrial: true,
        change: "update bounces set trials = trials + 1, trial_at = null"
      },
      [limit, now, now + maxTrialDelayMs]
    )
  })

const recordTrial = (sql: SqlClient.SqlClient) =>
  Effect.fn("BounceStore.recordTrial")(
    (subscriptionId: number, { sequence, until }: NonNullable<Trial["sent"]>) =>
      Effect.asVoid(run(sql.unsafe(
        `update bounces b set trial_sequence = $2::int8, trial_until = ${instant("$3::float8")}
        from subscriptions u where u.id = $1::int8 and u.on_trial and b.subscription_id = u.id`,
        [BigInt(subscriptionId), BigInt(sequence), until]
      )))
  )

/** Ends the trial when a notification after the last bounce arrived; otherwise the next notification goes out on trial. */
const endTrial = (sql: SqlClient.SqlClient) =>
  Effect.fn("BounceStore.endTrial")((subscriptionId: number, sequence: number) =>
    Effect.asVoid(run(sql.unsafe(
      `with arrived as (
        delete from bounces b using subscriptions u
        where u.id = $1::int8 and u.on_trial and b.subscription_id = u.id and b.sequence < $2::int8
        returning b.subscription_id
      ), other as (
        update bounces set trial_sequence = null, trial_until = null where subscription_id = $1::int8 and sequence >= $2::int8
      )
      update subscriptions set on_trial = false where id in (select subscription_id from arrived)`,
      [BigInt(subscriptionId), BigInt(sequence)]
    )))
  )
