import { Effect, Exit, Schedule, Semaphore } from "effect"
import type { SqlClient } from "effect/sql"
import type { ResourceProfile, UnchangedPoll } from "#domain/poll/Resource.ts"
import { repeatInBackground } from "./Background.ts"
import { chunksOf } from "./Batched.ts"
import { commitsLater } from "./Conditions.ts"
import { encodeRows, namesOf, type ParameterColumn, parameterColumn, unnestOf } from "./ParameterRows.ts"
import { retryConflicts, run } from "./Query.ts"
import { assignmentsOf, columnsOf, stateParameters } from "./ResourceColumns.ts"
import { column, instant } from "./Values.ts"

/** Unchanged polls are written every 1.5 s, or as soon as 2,048 are waiting. */
const writeInterval = "1500 millis"
const maxTouches = 2_048

/** Keeps unchanged polls in memory and writes these in bulk, also when the scope closes. */
export const makeTouches = Effect.fnUntraced(function*(sql: SqlClient.SqlClient) {
  let touched = new Map<number, UnchangedPoll>()
  let writing: ReadonlyMap<number, UnchangedPoll> = new Map()

  const touchOf = (id: number) => touched.get(id) ?? writing.get(id)

  /** The resource with its unwritten poll, when that is newer than the stored row. */
  const withTouch = <R extends ResourceProfile>(resource: R): R => {
    const polled = touchOf(resource.id)
    return polled === undefined || (resource.lastFetch ?? 0) > polled.lastFetch ? resource : { ...resource, ...polled }
  }

  const restore = (unwritten: ReadonlyMap<number, UnchangedPoll>) => {
    for (const [id, polled] of unwritten) if (!touched.has(id)) touched.set(id, polled)
    writing = new Map()
  }
  const write = Effect.suspend(() => {
    const rows = [...touched.values()].toSorted((a, b) => a.id - b.id)
    writing = touched
    touched = new Map() // a cleared map would keep its former content alive for a while
    return Effect.forEach(
      chunksOf(rows, maxTouches),
      (chunk) => run(retryConflicts(sql.unsafe(touchSql, encodeRows(touchColumns, chunk)))),
      { discard: true }
    ).pipe(
      Effect.onExit((exit) => Effect.sync(() => restore(Exit.isSuccess(exit) ? new Map() : writing)))
    )
  })
  const semaphore = yield* Semaphore.make(1)
  const flush = semaphore.withPermits(1)(write)
  yield* repeatInBackground(flush, Schedule.spaced(writeInterval), "Unchanged polls are not written yet; retrying")
  yield* Effect.addFinalizer(() => Effect.ignore(flush))

  const touch = (polled: UnchangedPoll) =>
    Effect.suspend(() => {
      touched.set(polled.id, polled)
      return touched.size === maxTouches ? Effect.ignore(flush) : Effect.void
    })
  return { touch, touchOf, withTouch, flush }
})

const touchColumns: ReadonlyArray<ParameterColumn<UnchangedPoll>> = [
  parameterColumn("id", "int8", column.ids, ({ id }) => id),
  ...stateParameters(columnsOf("schedule"), (polled: UnchangedPoll) => polled)
]

/**
 * A poll that is older than the stored one changes nothing, because another owner polled meanwhile.
 * If it is older by more than a day, a clock was ahead, and the poll counts.
 */
const touchSql = `
  update schedule s set ${assignmentsOf("schedule", "p")}
  from ${unnestOf(touchColumns, 1)} p(${namesOf(touchColumns)})
  where s.resource_id = p.id and s.resource_id = any($1::int8[]) and ${commitsLater} and (s.last_fetch is null or s.last_fetch <= ${
  instant("p.last_fetch")
}
    or s.last_fetch > ${instant("p.last_fetch")} + interval '1 day')`
