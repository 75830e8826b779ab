import { Context, Duration, Effect, Fiber, Layer, Logger, References } from "effect"
import { Command } from "effect/cli"
import { Settings } from "#domain/ports/Settings.ts"
import { collectAfterStart } from "#layers/GarbageCollection.ts"
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

/** Time after which a check of the database ends without an answer, in ms; `DatabaseHeartbeat` waits 5 s. */
const silenceMs = 4_000

/** Before the database is open, a stop waits for the connection and has nothing to write. */
const neverAlive = Effect.as(Effect.sleep("5 seconds"), false)

/** True when a check had no answer in time. A check that fails at once is one of a closed pool, near the end of a stop. */
const isSilent = (isAlive: Effect.Effect<boolean>): Effect.Effect<boolean> =>
  Effect.map(Effect.timed(isAlive), ([duration, alive]) => !alive && Duration.toMillis(duration) >= silenceMs)

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
    let isDatabaseAlive = neverAlive
    yield* Signals.watch(Signals.thisProcess, isSilent(Effect.suspend(() => isDatabaseAlive)))
    for (const variable of SettingsLayer.findUnknown(Object.keys(process.env))) {
      yield* Effect.logWarning(describeUnknown(variable))
    }
    const Database = yield* Effect.promise(() => import("#layers/postgres/Database.ts"))
    const starting = yield* Effect.forkChild(Layer.build(Database.layer), { startImmediately: true })
    const { layer } = yield* Effect.promise(() => import("#main/main.ts"))
    const database = yield* Fiber.join(starting)
    isDatabaseAlive = Context.get(database, DatabaseLiveness).check
    return yield* Effect.provideContext(Layer.launch(Layer.merge(layer, collectAfterStart)), database)
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
