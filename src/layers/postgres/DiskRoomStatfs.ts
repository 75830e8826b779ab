import { Effect, Layer, Schedule } from "effect"
import * as fs from "node:fs/promises"
import { DiskRoom } from "#domain/ports/DiskRoom.ts"
import { Settings } from "#domain/ports/Settings.ts"

/** Interval between two looks at the free disk. */
const interval = "5 seconds"

/**
 * Looks at the free disk of the embedded database regularly. The disk of a PostgreSQL server is out of sight, and counts as free.
 *
 * A failed look changes nothing: the database itself reports a directory that is gone.
 */
export const layer = Layer.effect(
  DiskRoom,
  Effect.gen(function*() {
    const { databaseUrl, dataDir, diskReserveMegabytes } = yield* Settings
    let hasRoom = true
    if (databaseUrl !== undefined) return { forStrangers: () => true }
    const look = Effect.gen(function*() {
      const { bavail, bsize } = yield* Effect.tryPromise(() => fs.statfs(dataDir))
      const isFree = bavail * bsize >= diskReserveMegabytes * 1024 * 1024
      if (isFree === hasRoom) return
      hasRoom = isFree
      yield* isFree
        ? Effect.logInfo("The disk has room again: the open hub accepts subscriptions, and polls their resources.")
        : Effect.logWarning(
          "The free disk is below WINDHOVER_DISK_RESERVE_MB. The open hub accepts no new subscription, and polls only resources of accounts. Free some disk."
        )
    })
    yield* Effect.ignore(look)
    yield* Effect.forkScoped(Effect.repeat(Effect.ignore(look), Schedule.spaced(interval)))
    return { forStrangers: () => hasRoom }
  })
)
