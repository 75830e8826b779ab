import { Effect, Option, type Path, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { Settings, type SettingsValues } from "#domain/ports/Settings.ts"
import { backupError } from "#layers/backup/BackupError.ts"
import * as Move from "#layers/backup/Move.ts"
import type * as Source from "#layers/backup/Source.ts"
import * as SettingsLayer from "#layers/Settings.ts"
import { Administration } from "./Administration.ts"
import * as AdministrationSocket from "./AdministrationSocket.ts"
import { printError } from "./Output.ts"
import { makeRowProgress } from "./RowProgress.ts"

const isUrl = (text: string) => /^postgres(ql)?:/.test(text)

/** The two places: the settings name one, and `--to` the other. Without `--to`, the embedded database moves to the server of the settings. */
const findPlaces = (
  { databaseUrl, dataDir }: Pick<SettingsValues, "databaseUrl" | "dataDir">,
  to: string | undefined
) => {
  const embedded: Source.Place = { _tag: "Embedded", dataDir }
  const server: Source.Place | undefined = databaseUrl === undefined ? undefined : { _tag: "Server", url: databaseUrl }
  if (to === undefined) return server === undefined ? undefined : { from: embedded, to: server }
  if (!isUrl(to)) {
    return server === undefined
      ? undefined
      : { from: server, to: { _tag: "Embedded", dataDir: to } as const }
  }
  const isSetting = databaseUrl !== undefined && Redacted.value(databaseUrl) === to
  return {
    from: server === undefined || isSetting ? embedded : server,
    to: { _tag: "Server", url: Redacted.make(to) } as const
  }
}

/** `windhover move --to PLACE` */
export const move = Command.make(
  "move",
  {
    to: Flag.String("to").pipe(
      Flag.withDescription(
        "URL of an empty PostgreSQL database, or an empty data directory for the rows of WINDHOVER_DATABASE_URL (default: WINDHOVER_DATABASE_URL)"
      ),
      Flag.optional
    ),
    cancel: Flag.Boolean("cancel").pipe(
      Flag.withDescription("Take back a move that was killed: the old database is usable again, and the new one empty"),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function*({ cancel, to }) {
    const settings = yield* Settings
    if (Option.isSome(to) && isUrl(to.value) && !URL.canParse(to.value)) {
      return yield* backupError(
        "Unusable",
        "--to is no valid URL. Use one such as postgres://user:password@host/database."
      )
    }
    if (cancel) return yield* cancelMove(settings, Option.getOrUndefined(to))
    const places = findPlaces(settings, Option.getOrUndefined(to))
    if (places === undefined) {
      return yield* backupError(
        "Unusable",
        "A move needs two databases. Name the new one in --to: postgres://… for a server; a directory is for the rows of WINDHOVER_DATABASE_URL."
      )
    }
    yield* runMove(places.from, places.to, settings.dataDir)
  }, Effect.scoped)
).pipe(
  Command.withDescription(
    "Move all data between the embedded database and a PostgreSQL server, while the service runs"
  ),
  Command.provide(SettingsLayer.layer)
)

/** Without `--to`, the database of the settings may be either one: an operator changes the settings before the move. */
const cancelMove = Effect.fnUntraced(function*({ databaseUrl, dataDir }: SettingsValues, to: string | undefined) {
  const embedded: Source.Place = { _tag: "Embedded", dataDir }
  const server: Source.Place | undefined = databaseUrl === undefined ? undefined : { _tag: "Server", url: databaseUrl }
  const isNew = server !== undefined && (yield* Move.isUnfinished(server))
  const places = to !== undefined || isNew ? findPlaces({ databaseUrl, dataDir }, to) : undefined
  const cancelled = yield* Move.cancel(places?.from ?? server ?? embedded, places?.to)
  for (const { place, state } of cancelled) {
    yield* printError(`The move was taken back: ${Move.describePlace(place)} is ${state} again.`)
  }
  if (cancelled.length === 0) yield* printError("There is no move to take back.")
})

const runMove = Effect.fnUntraced(function*(from: Source.Place, to: Source.Place, keyDir: string) {
  const progress = makeRowProgress("rows copied")
  const services = yield* Effect.context<Path.Path>()
  yield* printError(`Copying ${Move.describePlace(from)} to ${Move.describePlace(to)}.`)
  const { lastChanges, rows, stoppedMs } = yield* Move.move(from, to, {
    keyDir,
    progress: progress.report,
    stopService: Effect.andThen(Effect.sync(progress.clear), Effect.provideContext(stopService(from), services))
  })
  progress.clear()
  yield* printError(
    `Moved ${rows.toLocaleString("en")} rows, and ${lastChanges} changed ones in the last ${
      (stoppedMs / 1000).toFixed(1)
    } s, in which the service stood still. Start it ${
      to._tag === "Server"
        ? "with WINDHOVER_DATABASE_URL set to the new database"
        : `with WINDHOVER_DATA_DIR=${to.dataDir} and without WINDHOVER_DATABASE_URL`
    }. The old database refuses starts.`
  )
})

/** The owner of the data directory stops its service by the socket. Runners of a server's database are out of reach. */
const stopService = (from: Source.Place) =>
  from._tag === "Server"
    ? printError(
      "All rows are copied. Stop all runners of the service now; the move completes when the last one has disconnected."
    )
    : Effect.andThen(
      printError("All rows are copied. The service is stopping."),
      Effect.flatMap(Administration, ({ stop }) => stop).pipe(
        Effect.provide(AdministrationSocket.layer(from.dataDir)),
        Effect.mapError(({ message }) =>
          backupError("Running", `The service could not be stopped: ${message}. It goes on with its old database.`)
        )
      )
    )
