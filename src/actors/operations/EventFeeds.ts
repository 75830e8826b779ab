import { Effect, Layer, Schedule } from "effect"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { superviseLoop } from "#actors/runtime/Supervision.ts"
import { EventLog } from "#domain/ports/EventLog.ts"

/** Owners that are woken at once. */
const concurrency = 8

/** Wakes the watched resources of new events. A resource without its wake-up finds them within five minutes. */
export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const events = yield* EventLog
  const partitions = yield* Partitions
  const wakeNext = Effect.flatMap(
    events.watched,
    (watched) =>
      Effect.forEach(watched, ({ partition, resourceId }) => partitions.ping(partition, resourceId), {
        concurrency,
        discard: true
      })
  )
  yield* superviseLoop("events", wakeNext, Schedule.forever)
}))
