import { Context, Effect, Fiber, Layer, Logger, References } from "effect"
import { Command } from "effect/cli"
import { Settings } from "#domain/ports/Settings.ts"
import * as ServerSockets from "#layers/postgres/ServerSockets.ts"
import { releaseWhenIdle } from "#layers/ReleaseWhenIdle.ts"
import * as SettingsLayer from "#layers/Settings.ts"
import { DatabaseLiveness } from "#layers/sql/DatabaseLiveness.ts"
import * as SteadyClock from "#layers/SteadyClock.ts"
import { isTelemetryOn } from "#layers/telemetry/TelemetrySettings.ts"
import { describeUnknown } from "./Settings.ts"
import { logFormats } from "./LogFormat.ts"
import * as Signals from "./Signals.ts"

const logLevels = { debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

/** Logs one line per record on standard error. Spans of effects are off: `NotificationTraces` makes the ones that an operator needs. */
const logging = Layer.mergeAll(
  Layer.succeed(References.TracerEnabled, false),
  Layer.unwrap(
    Settings.useSync(({ logFormat }) => Logger.layer([Logger.withConsoleError(logFormats[logFormat])]))
  ),
  Layer.unwrap(Settings.useSync(({ logLevel }) => Layer.succeed(References.MinimumLogLevel, logLevels[logLevel])))
)

const { env } = process

/** OpenTelemetry's exporters are loaded only when the environment names a collector. */
const telemetry = Layer.unwrap(Effect.suspend(() =>
  isTelemetryOn(env)
    ? Effect.map(Effect.promise(() => import("#layers/telemetry/Telemetry.ts")), ({ layer }) => layer(env))
    : Effect.succeed(Layer.empty)
))

/** Before a server is open, a stop waits for a connection or a migration. */
const isUnopened = Effect.as(Effect.sleep("2 seconds"), true)

/** At the end of a stop the connections close, and interrupt a check. Statements that take longer than this have no answer either. */
const isUnclosed = Effect.as(Effect.sleep("1 second"), true)

/**
 * `windhover serve`: runs the service until a signal stops the process.
 *
 * `cli.ts` has started the thread of the embedded database, which waits for its directory. The database module is therefore loaded first,
 * so that the database starts while this thread loads the service.
 */
export const serve = Command.make(
  "serve",
  {},
  Effect.fnUntraced(function*() {
    const { databaseUrl } = yield* Settings
    const sockets = ServerSockets.make()
    let isSilent = databaseUrl === undefined ? Effect.succeed(false) : isUnopened
    yield* Signals.watch(Signals.thisProcess, {
      isSilent: Effect.catchCause(Effect.suspend(() => isSilent), () => isUnclosed),
      abandon: sockets.abandon
    })
    for (const variable of SettingsLayer.findUnknown(Object.keys(process.env))) {
      yield* Effect.logWarning(describeUnknown(variable))
    }
    const Database = yield* Effect.promise(() => import("#layers/postgres/Database.ts"))
    const opened = Layer.provide(Database.layer, Layer.succeed(ServerSockets.ServerSockets, sockets))
    const starting = yield* Effect.forkChild(Layer.build(opened), { startImmediately: true })
    const { layer } = yield* Effect.promise(() => import("#main/main.ts"))
    const database = yield* Fiber.join(starting)
    isSilent = Context.get(database, DatabaseLiveness).isUnresponsive
    return yield* Effect.provideContext(Layer.launch(Layer.merge(layer, releaseWhenIdle)), database)
  }, Effect.scoped)
).pipe(
  Command.withDescription("Run the service until SIGTERM, SIGINT or SIGHUP"),
  Command.provide(
    SteadyClock.layer.pipe(
      Layer.provideMerge(telemetry),
      Layer.provideMerge(logging),
      Layer.provideMerge(SettingsLayer.layer)
    )
  )
)
