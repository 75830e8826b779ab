import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { StoreError } from "#domain/ports/StoreError.ts"
import { tooManySentence } from "#domain/SubscriptionMaximum.ts"

/** Advisory locks of this class, by account. "SUBS" in ASCII. */
const lockClass = 0x53_55_42_53

/**
 * Begins a transaction that may create subscriptions: it waits for others of an account with a maximum, so that no count is outdated.
 *
 * The embedded database runs one transaction after the other anyway.
 */
export const lockAccount = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, accountId: number, maximum: number | undefined) {
    if (maximum === undefined) return
    yield* sql.unsafe(`select pg_advisory_xact_lock(${lockClass}, $1::int4)::text`, [accountId])
  }
)

/** Ends a transaction that has created subscriptions. Fails with `TooMany` if the account has more than its maximum. */
export const checkMaximum = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, accountId: number, maximum: number | undefined) {
    if (maximum === undefined) return
    const [row] = yield* sql.unsafe<{ count: number }>(
      `select count(*)::float8 as count from (
        select from subscriptions where account_id = $1::int4 limit $2::int4::int8 + 1
      ) counted`,
      [accountId, maximum]
    )
    if ((row?.count ?? 0) <= maximum) return
    return yield* new StoreError({ reason: { _tag: "TooMany", message: tooManySentence(maximum) } })
  }
)
