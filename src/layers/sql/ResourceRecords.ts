import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { hashString } from "#domain/Fingerprint.ts"
import type { Delivery } from "#domain/delivery/Notification.ts"
import { DiskRoom } from "#domain/ports/DiskRoom.ts"
import { Precedence } from "#domain/ports/Precedence.ts"
import type { PollWrite } from "#domain/ports/ResourceStore.ts"
import { collectYoungGarbage } from "#layers/GarbageCollection.ts"
import { batched, type Spacing } from "./Batched.ts"
import { checkLength, newsOfWrite, notificationOfWrite } from "./NotificationContent.ts"
import { retryConflicts, run } from "./Query.ts"
import { makeResourceBytes } from "./ResourceBytes.ts"
import {
  maxStatementBytes,
  piecesOf,
  type PreparedWrite,
  prepareWrite,
  recordParameters,
  shapeOf,
  type WritePiece
} from "./RecordParameters.ts"
import { pieceSql, type RecordedRow, recordSql } from "./RecordStatement.ts"
import { unsigned } from "./Values.ts"
import { toDeliveries } from "./WrittenDeliveries.ts"

/** After a write of so many bytes, the copies of its parameters are collected: five for each document. */
const collectFromBytes = 1024 * 1024

/**
 * Times between two statements for scheduled polls. At 50 changed polls a second, most have a statement of their own; at 280, one statement
 * for 28 costs a third less per poll than one for seven.
 */
const pollSpacing: Spacing = { msPerInput: 10, maxMs: 100 }

/** For pings, pushes, and subscribers that wait for a document: no wait worth mentioning below 250 a second. */
const urgentSpacing: Spacing = { msPerInput: 4, maxMs: 25 }

/**
 * Records changed polls, up to 64 in one statement, and returns their deliveries.
 *
 * Writes of strangers and large writes of accounts have batches of their own: the callers of a batch wait for its slowest write. Each
 * statement of strangers waits for its turn behind the accounts.
 */
export const makeRecord = Effect.fnUntraced(function*(sql: SqlClient.SqlClient) {
  const recordBatch = yield* makeRecordBatch(sql)
  const ofAccounts = recordBatch(2)
  const largeOfAccounts = recordBatch(1)
  const ofStrangers = recordBatch(1, (yield* Precedence).strangersTurn)
  return (write: PollWrite) =>
    Effect.suspend(() => {
      const prepared = prepareWrite(write)
      const batch = write.state.strangersOnly === true
        ? ofStrangers
        : prepared.bytes > maxStatementBytes
        ? largeOfAccounts
        : ofAccounts
      return Effect.andThen(checkLength(write), batch(prepared))
    })
})

/** Returns a function that makes a batch with a maximum of running statements. */
const makeRecordBatch = Effect.fnUntraced(function*(sql: SqlClient.SqlClient) {
  const { count, trim } = yield* makeResourceBytes(sql)
  const { countStrangers } = yield* DiskRoom
  return (concurrency: number, turn: Effect.Effect<void> = Effect.void) =>
    batched<PreparedWrite, ReadonlyArray<Delivery>>({
      concurrency,
      spacing: ({ write }) => write.mayWait === true ? pollSpacing : urgentSpacing,
      maxInputs: 64,
      run: Effect.fnUntraced(function*(writes) {
        const deliveries = new Map<PreparedWrite, ReadonlyArray<Delivery>>()
        for (const round of roundsOf(writes)) {
          yield* turn
          const recorded = yield* recordRound(sql, round, turn)
          if (round.some(({ bytes }) => bytes >= collectFromBytes)) collectYoungGarbage()
          round.forEach((write, i) => deliveries.set(write, recorded[i] ?? []))
          for (const { bytes, write: { state } } of round) {
            if (state.strangersOnly === true && bytes > 0) countStrangers?.(state.partition, bytes)
          }
        }
        for (const id of count(writes.map(({ bytes, write }) => ({ id: write.state.id, bytes })))) {
          yield* Effect.catch(
            trim(id),
            (error) =>
              Effect.logWarning("A resource keeps more bytes than its limit until its next large document.").pipe(
                Effect.annotateLogs({ resource: id, reason: error.message })
              )
          )
        }
        return writes.map((write) => deliveries.get(write) ?? [])
      })
    })
})

const recordRound = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  writes: ReadonlyArray<PreparedWrite>,
  turn: Effect.Effect<void>
) {
  const now = yield* Clock.currentTimeMillis
  const shape = shapeOf(writes)
  const [first] = writes
  const rows = first !== undefined && first.bodies === undefined
    ? yield* recordLarge(sql, first, now, turn)
    : yield* run(retryConflicts(sql.unsafe<RecordedRow>(recordSql[shape], recordParameters(shape, writes, now))))
  const byResource = Map.groupBy(rows, ({ resource }) => resource)
  return writes.map(({ write }) => deliveriesOf(write, byResource.get(write.state.id) ?? [], now))
})

/**
 * Writes the entries in pieces, and then the rest.
 *
 * Announced entries need one transaction: after a crash in between, they would count as known. The entries in front of the first announced
 * one need none, so that further statements have their turn between two pieces. The order of storing stays.
 */
const recordLarge = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  prepared: PreparedWrite,
  now: number,
  turn: Effect.Effect<void>
) {
  const { write } = prepared
  const stored: Array<{ readonly seq: bigint; readonly hash: bigint }> = []
  const writeRest = Effect.suspend(() =>
    sql.unsafe<RecordedRow>(recordSql.full, recordParameters("full", [prepared], now, stored))
  )
  const announced = new Set(write.announce?._tag === "Entries" ? write.announce.ids : [])
  const first = write.entries.findIndex(({ id }) => announced.has(id))
  const ahead = new Set(write.entries.slice(0, first < 0 ? undefined : first).map(({ id }) => id))
  for (const piece of piecesOf(write, now, (id) => ahead.has(id) || announced.size === 0)) {
    yield* turn
    yield* run(retryConflicts(writePiece(sql, piece)))
  }
  if (announced.size === 0) return yield* run(retryConflicts(writeRest))
  const writeAll = Effect.gen(function*() {
    stored.length = 0
    yield* sql.unsafe(
      `select 1 from resource_state where resource_id = $1::int8 for no key update`,
      [BigInt(write.state.id)]
    )
    for (const piece of piecesOf(write, now, (id) => !ahead.has(id))) stored.push(...yield* writePiece(sql, piece))
    return yield* writeRest
  })
  yield* turn
  return yield* run(retryConflicts(sql.withTransaction(writeAll)))
})

const writePiece = (sql: SqlClient.SqlClient, { kind, parameters }: WritePiece) =>
  sql.unsafe<{ seq: bigint; hash: bigint }>(pieceSql[kind], parameters)

/**
 * Splits writes into statements: each has a resource at most once, and about `maxStatementBytes`. A write in pieces has a round of its own.
 * Writes of one resource stay in order.
 */
const roundsOf = (writes: ReadonlyArray<PreparedWrite>): ReadonlyArray<ReadonlyArray<PreparedWrite>> => {
  const rounds: Array<{ readonly writes: Array<PreparedWrite>; bytes: number }> = []
  const lastRound = new Map<number, number>()
  for (const prepared of writes) {
    let at = (lastRound.get(prepared.write.state.id) ?? -1) + 1
    for (
      let full = rounds[at];
      full !== undefined && full.bytes + prepared.bytes > maxStatementBytes;
      full = rounds[at]
    ) at++
    const round = rounds[at] ??= { writes: [], bytes: 0 }
    round.writes.push(prepared)
    round.bytes += prepared.bytes
    lastRound.set(prepared.write.state.id, at)
  }
  return rounds.map((round) => round.writes)
}

/** The deliveries of a write share one notification with the entries that the statement has written. */
const deliveriesOf = (write: PollWrite, rows: ReadonlyArray<RecordedRow>, now: number): ReadonlyArray<Delivery> => {
  const [first] = rows
  if (first === undefined) return []
  const written = new Set(first.hashes?.map(unsigned))
  const news = newsOfWrite(write, (id) => written.has(hashString(id)), first.whole)
  if (news === undefined) return []
  const notification = notificationOfWrite(write, news, first.notification, now)
  return toDeliveries(rows, notification, now)
}
