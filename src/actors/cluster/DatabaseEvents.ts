import { Effect, Exit, Layer, Schedule } from "effect"
import { superviseLoop } from "#actors/runtime/Supervision.ts"
import { DiskRoom } from "#domain/ports/DiskRoom.ts"
import { EventLog } from "#domain/ports/EventLog.ts"
import { WriteFailure } from "#domain/ports/StoreError.ts"
import { WriteProbe } from "#domain/ports/WriteProbe.ts"

const sentences = {
  reserve: "The free disk is below WINDHOVER_DISK_RESERVE_MB. The open hub accepts no new subscription meanwhile. "
    + "Free some disk.",
  full: "The disk of the database is full. Notifications wait until the database writes again. Free some disk.",
  "read-only": "The database accepts no writes. Notifications wait until the database writes again. Look at its server."
}

/** Publishes an event when the database has no room any more, at most one for each reason until there is room again. */
export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const events = yield* EventLog
  const diskRoom = yield* DiskRoom
  const writeFailure = yield* WriteFailure
  const probe = yield* WriteProbe
  let before: ReadonlySet<keyof typeof sentences> = new Set()

  /** A failed statement is a suspicion. A failed write of a few pages confirms the suspicion. */
  const findFailure = Effect.gen(function*() {
    const { reason } = writeFailure
    if (reason === undefined || before.has(reason)) return reason
    return Exit.isFailure(yield* Effect.exit(probe.attempt)) ? reason : undefined
  })
  const look = Effect.gen(function*() {
    const failure = yield* findFailure
    const reasons = new Set([
      ...(diskRoom.forStrangers() ? [] : ["reserve" as const]),
      ...(failure === undefined ? [] : [failure])
    ])
    const added = [...reasons].filter((reason) => !before.has(reason))
    before = reasons
    yield* Effect.forEach(
      added,
      (reason) => events.publish({ type: "database.full", reason, message: sentences[reason] }),
      { discard: true }
    )
  })
  yield* superviseLoop("events of the database", look, Schedule.spaced("5 seconds"))
}))
