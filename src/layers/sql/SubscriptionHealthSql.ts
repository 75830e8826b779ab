import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Failing } from "#domain/delivery/Retry.ts"
import type { ResumedSubscription } from "#domain/ports/BounceStore.ts"
import { SubscriptionHealth } from "#domain/ports/SubscriptionHealth.ts"
import { isOneOf } from "./Conditions.ts"
import { batched } from "./Batched.ts"
import { sqlWithGenericPlans } from "./GenericPlans.ts"
import { retryConflicts, run } from "./Query.ts"
import { column, instant } from "./Values.ts"

export const layer = Layer.effect(
  SubscriptionHealth,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const saveFailing = makeSaveFailing(yield* sqlWithGenericPlans)
    return SubscriptionHealth.of({
      saveFailing: (id, failing) => Effect.asVoid(saveFailing({ id, failing })),
      pause: pause(sql),
      resume: resume(sql)
    })
  })
)

const makeSaveFailing = (sql: SqlClient.SqlClient) =>
  batched<{ readonly id: number; readonly failing: Failing | undefined }, true>({
    maxInputs: 500,
    run: Effect.fnUntraced(function*(changes) {
      yield* run(retryConflicts(sql.unsafe(
        `update subscriptions u set failing_since = ${instant("p.since")}, failing_announced = p.announced
        from unnest($1::int8[], $2::float8[], $3::int4[]) p(id, since, announced)
        where u.id = p.id and ${isOneOf("u.id", "$1")}`,
        [
          column.ids(changes.map(({ id }) => id)),
          column.numbers(changes.map(({ failing }) => failing?.since)),
          column.integers(changes.map(({ failing }) => failing?.announced ?? 0))
        ]
      )))
      return changes.map(() => true)
    })
  })

const pause = (sql: SqlClient.SqlClient) =>
  Effect.fn("SubscriptionHealth.pause")(function*(subscriptionId: number) {
    const rows = yield* run(sql.unsafe(
      `update subscriptions set state = 2, on_trial = false where id = $1::int8 and state = 1 returning 1`,
      [BigInt(subscriptionId)]
    ))
    return rows.length > 0
  })

/** The waits begin anew: the attempts of the time before the pause would end the schedule at the first failure. */
const resume = (sql: SqlClient.SqlClient) =>
  Effect.fn("SubscriptionHealth.resume")(function*(subscriptionId: number) {
    const now = yield* Clock.currentTimeMillis
    const [resumed] = yield* run(retryConflicts(sql.unsafe<ResumedSubscription>(
      `with resumed as (
        update subscriptions set state = 1, on_trial = false,
          failing_since = case when failing_since is not null then ${instant("$2::float8")} end,
          failing_announced = case when failing_since is not null then 1 else 0 end
        where id = $1::int8 and state in (1, 2) returning id, resource_id
      ), bounced as (
        delete from bounces where subscription_id in (select id from resumed)
      ), due as (
        update deliveries set attempt = 0, requested_wait = null, due_at = ${instant("$2::float8")},
          created_at = ${instant("$2::float8")}
        where subscription_id in (select id from resumed) and state = 0
      )
      select u.id::float8 as id, u.resource_id::float8 as "resourceId", r.partition
      from resumed u join resources r on r.id = u.resource_id`,
      [BigInt(subscriptionId), now]
    )))
    return resumed
  })
