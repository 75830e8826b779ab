import { Clock, Effect, Result } from "effect"
import type { SqlClient } from "effect/sql"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { run } from "./Query.ts"
import type { Box } from "./SecretBox.ts"
import { faces, secretPurpose } from "./SubscriptionRows.ts"
import { instant, millis } from "./Values.ts"

/** The columns of the previous secret; nulls without one. */
interface PreviousSecret {
  readonly sealed: Uint8Array | null
  /** Epoch ms. */
  readonly until: number | null
}

const none: PreviousSecret = { sealed: null, until: null }

interface SecretRow {
  readonly secret: Uint8Array | null
  readonly previous: Uint8Array | null
  readonly until: number | null
}

const secretSelect = `u.secret, u.previous_secret as previous, ${millis("u.previous_secret_until")} as until`

type Owner = Parameters<typeof secretPurpose>[1]

/**
 * The previous secret of a subscription that gets `secret`.
 *
 * The same secret again, as in a renewal, leaves a running rotation as it is. Another one begins a rotation of `graceMs`, or ends the
 * running one.
 */
const rotate = (
  box: Box,
  owner: Owner,
  row: SecretRow,
  secret: string,
  graceMs: number,
  now: number
): PreviousSecret => {
  if (row.secret === null) return none
  const before = box.open(row.secret, secretPurpose("secret", owner))
  if (Result.isFailure(before)) return none
  if (before.success === secret) return { sealed: row.previous, until: row.until }
  return graceMs === 0
    ? none
    : { sealed: box.seal(before.success, secretPurpose("previous_secret", owner)), until: now + graceMs }
}

/** The previous secret after a subscribe, within its transaction. Locks a stored row, so that two subscribes rotate one after the other. */
export const previousAfterSubscribe = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, box: Box, wanted: NewSubscription, resourceId: number, now: number) {
    if (wanted.secret === undefined) return none
    const [row] = yield* sql.unsafe<SecretRow>(
      `select ${secretSelect} from subscriptions u
      where u.resource_id = $1::int8 and u.account_id = $2::int4 and u.endpoint = $3 and u.face = $4::int2 for update`,
      [BigInt(resourceId), wanted.accountId, wanted.endpoint, faces.indexOf(wanted.face)]
    )
    return row === undefined
      ? none
      : rotate(box, wanted, row, wanted.secret, (wanted.secretGraceSeconds ?? 0) * 1000, now)
  }
)

/** Replaces the secret of a subscription. Returns the end of the rotation, epoch ms. */
export const rotateSecret = (sql: SqlClient.SqlClient, box: Box) =>
  Effect.fn("SubscriptionStore.rotateSecret")(function*(subscription: Subscription, secret: string, graceMs: number) {
    const now = yield* Clock.currentTimeMillis
    const id = BigInt(subscription.id)
    return yield* run(sql.withTransaction(Effect.gen(function*() {
      const [row] = yield* sql.unsafe<SecretRow>(
        `select ${secretSelect} from subscriptions u where u.id = $1::int8 for update`,
        [id]
      )
      if (row === undefined) return undefined
      const { sealed, until } = rotate(box, subscription, row, secret, graceMs, now)
      yield* sql.unsafe(
        `update subscriptions set secret = $2::bytea, previous_secret = $3::bytea,
          previous_secret_until = ${instant("$4::float8")} where id = $1::int8`,
        [id, box.seal(secret, secretPurpose("secret", subscription)), sealed, until]
      )
      return { ...(until !== null && { previousUntil: until }) }
    })))
  })
