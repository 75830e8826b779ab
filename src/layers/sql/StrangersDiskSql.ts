import { Clock, type Duration, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs/promises"
import { DiskRoom } from "#domain/ports/DiskRoom.ts"
import { Settings } from "#domain/ports/Settings.ts"
import type { StoreError } from "#domain/ports/StoreError.ts"
import { dayMs, minuteMs } from "#domain/Time.ts"
import { run } from "./Query.ts"
import { instant } from "./Values.ts"

const mebibyte = 1024 * 1024

/** Default of `WINDHOVER_STRANGERS_MB`: at most 10 GiB, and a tenth of a known disk. */
const defaultMaxBytes = 10 * 1024 * mebibyte
const shareOfDisk = 1 / 10

/** From this share of the maximum on, partitions are counted anew, because deletions are not counted. */
const recountedShare = 3 / 4

/** Resources that one statement of a recount reads. */
const resourcesPerStatement = 200

export interface StrangersDiskOptions {
  /** Interval between two writes of the counted bytes, and two looks at the sum of all runners. */
  readonly interval: Duration.Input
  /** Age of a count near the maximum, from which it is repeated. */
  readonly minAgeMs: number
}

/**
 * Bytes that the database stores for resources without a subscription of an account.
 *
 * Written bytes are added to the sum of their partition. Each partition is counted anew once a day, and every minute near the maximum.
 */
export const layerWith = ({ interval, minAgeMs }: StrangersDiskOptions) =>
  Layer.effect(
    DiskRoom,
    Effect.gen(function*() {
      const disk = yield* DiskRoom
      const sql = yield* SqlClient.SqlClient
      const maxBytes = yield* readMaximum
      const count: StrangersCount = { written: new Map(), stored: 0 }
      let hasRoom = true

      const look = Effect.gen(function*() {
        yield* writeCounts(sql, count)
        count.stored = yield* readSum(sql)
        yield* recountOldest(sql, count.stored >= maxBytes * recountedShare ? minAgeMs : dayMs)
        const isFree = count.stored < maxBytes
        if (isFree === hasRoom) return
        hasRoom = isFree
        yield* isFree
          ? Effect.logInfo("Resources of strangers have room on the disk again: the open hub polls them.")
          : Effect.logWarning(
            "Resources that only strangers watch fill WINDHOVER_STRANGERS_MB. The open hub accepts no new subscription, and does not poll them until their retention has deleted content. Raise the setting, or close the open hub."
          )
      })
      const looks = yield* look.pipe(
        Effect.catchTag("StoreError", ({ message }) =>
          Effect.annotateLogs(Effect.logDebug("Bytes of strangers are not counted yet; retrying."), {
            reason: message
          })),
        Effect.repeat(Schedule.spaced(interval)),
        Effect.forkDetach
      )
      // A stop does not wait for a look: the interruption of a statement takes seconds while the database is silent.
      yield* Effect.addFinalizer(() =>
        Effect.sync(() =>
          looks.interruptUnsafe()
        )
      )
      yield* Effect.addFinalizer(() => Effect.ignore(writeCounts(sql, count)))
      return {
        forStrangers: () => disk.forStrangers() && count.stored + writtenBytes(count) < maxBytes,
        countStrangers: (partition, bytes) => {
          count.written.set(partition, (count.written.get(partition) ?? 0) + bytes)
        }
      }
    })
  )

export const layer = layerWith({ interval: "5 seconds", minAgeMs: minuteMs })

interface StrangersCount {
  /** Bytes by partition that the database does not know yet. */
  readonly written: Map<number, number>
  /** Last known sum of all partitions. */
  stored: number
}

const writtenBytes = ({ written }: StrangersCount): number => {
  let sum = 0
  for (const bytes of written.values()) sum += bytes
  return sum
}

const readMaximum = Effect.gen(function*() {
  const { databaseUrl, dataDir, strangersMegabytes } = yield* Settings
  if (strangersMegabytes !== undefined) return strangersMegabytes * mebibyte
  if (databaseUrl !== undefined) return defaultMaxBytes
  return yield* Effect.tryPromise(() => fs.statfs(dataDir)).pipe(
    Effect.map(({ blocks, bsize }) => Math.min(blocks * bsize * shareOfDisk, defaultMaxBytes)),
    Effect.orElseSucceed(() => defaultMaxBytes)
  )
})

/** Adds the written bytes to the database. They count as written until the database has them. */
const writeCounts = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, count: StrangersCount) {
  const written = [...count.written]
  if (written.length === 0) return
  yield* run(sql.unsafe(
    `insert into strangers_bytes (partition, bytes)
    select * from unnest($1::int2[], $2::float8[])
    on conflict (partition) do update set bytes = strangers_bytes.bytes + excluded.bytes`,
    [written.map(([partition]) => partition), written.map(([, bytes]) => bytes)]
  ))
  for (const [partition, bytes] of written) {
    count.stored += bytes
    const left = (count.written.get(partition) ?? 0) - bytes
    if (left > 0) count.written.set(partition, left)
    else count.written.delete(partition)
  }
})

const readSum = (sql: SqlClient.SqlClient): Effect.Effect<number, StoreError> =>
  Effect.map(
    run(sql.unsafe<{ bytes: number }>(`select coalesce(sum(bytes), 0)::float8 as bytes from strangers_bytes`)),
    ([row]) => row?.bytes ?? 0
  )

/** Counts the partition anew whose last count is the oldest, if it is older than `maxAgeMs`. */
const recountOldest = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, maxAgeMs: number) {
  const now = yield* Clock.currentTimeMillis
  const [oldest] = yield* run(sql.unsafe<{ partition: number }>(
    `update strangers_bytes set counted_at = ${instant("$1::float8")} where partition = (
      select partition from strangers_bytes where counted_at is null or counted_at < ${instant("$2::float8")}
      order by counted_at nulls first limit 1 for update skip locked
    ) returning partition`,
    [now, now - maxAgeMs]
  ))
  if (oldest === undefined) return
  const { partition } = oldest
  const [before] = yield* run(sql.unsafe<{ bytes: number }>(
    `select bytes from strangers_bytes where partition = $1::int2`,
    [partition]
  ))
  let bytes = 0
  for (let after: number | undefined = 0; after !== undefined;) {
    const rows: ReadonlyArray<{ readonly id: number; readonly bytes: number }> = yield* countResources(
      sql,
      partition,
      after
    )
    bytes += rows.reduce((sum, row) => sum + row.bytes, 0)
    after = rows.length < resourcesPerStatement ? undefined : rows.at(-1)?.id
  }
  // Bytes that were written meanwhile stay counted.
  yield* run(sql.unsafe(
    `update strangers_bytes set bytes = greatest(bytes - $2::float8 + $3::float8, 0) where partition = $1::int2`,
    [partition, before?.bytes ?? 0, bytes]
  ))
})

/** Bytes of some resources without a subscription of an account. The lengths of stored values are known without reading the values. */
const countResources = (sql: SqlClient.SqlClient, partition: number, after: number) =>
  run(sql.unsafe<{ id: number; bytes: number }>(
    `select r.id::float8 as id, (
      coalesce((select sum(octet_length(e.body)) from entries e where e.resource_id = r.id), 0)
      + coalesce((select sum(coalesce(octet_length(n.document), 0) + octet_length(n.status) + coalesce(octet_length(n.header), 0))
        from notifications n where n.resource_id = r.id), 0)
      + coalesce((select octet_length(t.document) from resource_state t where t.resource_id = r.id), 0)
    )::float8 as bytes from resources r
    where r.partition = $1::int2 and r.id > $2::int8
      and not exists (select from subscriptions u where u.resource_id = r.id and u.account_id <> 0)
    order by r.id limit ${resourcesPerStatement}`,
    [partition, BigInt(after)]
  ))
