import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type Recovered, type RecoveryStart, Redelivery } from "#domain/ports/Redelivery.ts"
import { retryConflicts, run } from "./Query.ts"
import { resend } from "./Resend.ts"
import { readAfter } from "./SequencedNotifications.ts"
import { selectUndelivered } from "./UndeliveredRows.ts"
import { instant } from "./Values.ts"

export const layer = Layer.effect(
  Redelivery,
  SqlClient.SqlClient.useSync((sql) =>
    Redelivery.of({
      undelivered: selectUndelivered(sql),
      recover: recover(sql),
      readAfter: readAfter(sql),
      resend: resend(sql)
    })
  )
)

/** The lock of the subscription orders recoveries against a split, which moves sequences. */
const lockSql = `
  select r.partition from subscriptions u join resources r on r.id = u.resource_id where u.id = $1::int8 for no key update of u`

/** Recovered notifications wait anew: their time of waiting and their attempts begin now. */
const recoverSql = `
  with wanted as (
    select d.id, n.id is not null as stored from deliveries d left join notifications n on n.id = d.notification_id
    where d.subscription_id = $1::int8 and d.state = 1 and d.sequence >= $2::int8
      and ($3::float8 is null or coalesce(n.created_at, d.created_at) >= ${instant("$3::float8")})
    order by d.sequence limit $5::int4
  ),
  recovered as (
    update deliveries d set state = 0, attempt = 0, requested_wait = null, due_at = ${instant("$4::float8")},
      created_at = ${instant("$4::float8")}
    from wanted w where d.id = w.id and w.stored returning 1
  ),
  hurried as (
    update deliveries d set requested_wait = null, due_at = ${instant("$4::float8")}
    where d.subscription_id = $1::int8 and d.state = 0 and d.attempt > 0
  )
  select (select count(*)::int4 from wanted) as wanted, (select count(*)::int4 from recovered) as recovered`

const recover = (sql: SqlClient.SqlClient) =>
  Effect.fn("Redelivery.recover")((subscriptionId: number, since: RecoveryStart | undefined, limit: number) =>
    run(retryConflicts(sql.withTransaction(recoverLocked(sql, subscriptionId, since, limit))))
  )

const recoverLocked = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, subscriptionId: number, since: RecoveryStart = { sequence: 1 }, limit: number) {
    const id = BigInt(subscriptionId)
    const [locked] = yield* sql.unsafe<{ partition: number }>(lockSql, [id])
    if (locked === undefined) return undefined
    const [row] = yield* sql.unsafe<{ wanted: number; recovered: number }>(recoverSql, [
      id,
      BigInt("sequence" in since ? since.sequence : 1),
      "recordedAt" in since ? since.recordedAt : null,
      yield* Clock.currentTimeMillis,
      limit
    ])
    const { recovered = 0, wanted = 0 } = row ?? {}
    return {
      partition: locked.partition,
      recovered,
      lost: wanted - recovered,
      isFinished: wanted < limit
    } satisfies Recovered
  }
)
