import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import {
  type ClaimedVerification,
  isShareFull,
  maxWaitingVerifications,
  quotaKeyOf,
  type Verification,
  type VerificationLane,
  type VerificationOrigin,
  VerificationQueue
} from "#domain/ports/VerificationQueue.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import { type Box, SecretBox } from "./SecretBox.ts"
import { claim, queues, requestPurpose, reserve } from "./VerificationClaims.ts"
import { instant } from "./Values.ts"
import { run } from "./Query.ts"

interface CountRow {
  readonly queue: number
  readonly site: number
  readonly asker: number
  readonly network: number
  readonly pair: number
  /** Whether the last request about the same topic and callback is equal; null: there is none. */
  readonly repeated: boolean | null
}

export const layer = Layer.effect(
  VerificationQueue,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const box = yield* SecretBox
    return VerificationQueue.of({
      add: add(sql, box),
      contains: contains(sql),
      claim: claim(sql, box),
      settle: settle(sql),
      deny: deny(sql, box),
      reserve: reserve(sql)
    })
  })
)

const add = (sql: SqlClient.SqlClient, box: Box) =>
  Effect.fn("VerificationQueue.add")(function*(
    request: Verification,
    queue: VerificationLane,
    { asker, network, target }: VerificationOrigin
  ) {
    const now = yield* Clock.currentTimeMillis
    const key = verificationKey(request.subscription)
    const site = quotaKeyOf(queue, request.subscription)
    const json = JSON.stringify(request)
    const digest = box.digest(json)
    return yield* run(Effect.gen(function*() {
      const [waiting] = yield* sql.unsafe<CountRow>(
        `select (select count(*)::float8 from verifications where queue = $1::int2) as queue,
          (select count(*)::float8 from verifications where site = $2) as site,
          (select count(*)::float8 from verifications where queue = $1::int2 and network = $5) as network,
          (select count(*)::float8 from verifications where queue = $1::int2 and network = $5 and asker = $6) as asker,
          (select count(*)::float8 from verifications where key = $3::bytea) as pair,
          (select digest = $4::bytea and not claimed from verifications where key = $3::bytea order by id desc limit 1) as repeated`,
        [queues.indexOf(queue), site, key, digest, network, asker]
      )
      const max = maxWaitingVerifications[queue]
      if (waiting?.repeated === true) return "added" as const
      if (waiting !== undefined && waiting.queue >= max.perLane) return "lane-full" as const
      if (waiting !== undefined && (waiting.site >= max.perQuota || waiting.pair >= max.perSubscription)) {
        return "site-full" as const
      }
      if (waiting !== undefined && isShareFull(queue, { ...waiting, lane: waiting.queue })) return "asker-full" as const
      yield* sql.unsafe(
        `insert into verifications (key, queue, site, request, digest, due_at, asker, network, target)
        values ($1::bytea, $2::int2, $3, $4::bytea, $5::bytea, ${instant("$6::float8")}, $7, $8, $9)`,
        [key, queues.indexOf(queue), site, box.seal(json, requestPurpose(key)), digest, now, asker, network, target]
      )
      return "added" as const
    }))
  })

const contains = (sql: SqlClient.SqlClient) =>
  Effect.fn("VerificationQueue.contains")(function*(wanted: NewSubscription) {
    const rows = yield* run(
      sql.unsafe(`select from verifications where key = $1::bytea limit 1`, [verificationKey(wanted)])
    )
    return rows.length > 0
  })

const settle = (sql: SqlClient.SqlClient) =>
  Effect.fn("VerificationQueue.settle")(function*({ id }: ClaimedVerification) {
    yield* run(sql.unsafe(`delete from verifications where id = $1::int8`, [BigInt(id)]))
  })

/** Replaces a request by its denial. With a later request about the same topic and callback it only deletes the request. */
const deny = (sql: SqlClient.SqlClient, box: Box) =>
  Effect.fn("VerificationQueue.deny")(function*({ id, verification }: ClaimedVerification, reason: string) {
    const denial: Verification = { mode: "denied", subscription: verification.subscription, reason }
    const json = JSON.stringify(denial)
    const sealed = box.seal(json, requestPurpose(verificationKey(denial.subscription)))
    yield* run(sql.unsafe(
      `with gone as (
        delete from verifications v where id = $1::int8
          and exists (select from verifications later where later.key = v.key and later.id > v.id) returning id
      )
      update verifications set request = $2::bytea, digest = $4::bytea, claimed = false, due_at = ${
        instant("$3::float8")
      }
      where id = $1::int8 and not exists (select from gone)`,
      [BigInt(id), sealed, yield* Clock.currentTimeMillis, box.digest(json)]
    ))
  })

const verificationKey = ({ accountId, endpoint, face, topic }: NewSubscription): Buffer =>
  createHash("sha256").update(JSON.stringify([accountId, face, topic.canonical, endpoint])).digest()
