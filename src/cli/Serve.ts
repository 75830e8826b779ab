import { Effect, Fiber, Layer, Logger, References } from "effect"
import { Command } from "effect/cli"
import { Settings } from "#domain/ports/Settings.ts"
import * as SettingsLayer from "#layers/Settings.ts"
import * as SteadyClock from "#layers/SteadyClock.ts"
import { noSetting } from "./Settings.ts"
import * as Signals from "./Signals.ts"

const levels = { debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

/** One line a record, on standard error: standard output is for what was asked. Spans are not made, since nobody collects them. */
const logging = Layer.mergeAll(
  Layer.succeed(References.TracerEnabled, false),
  Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)]),
  Layer.unwrap(Settings.useSync(({ logLevel }) => Layer.succeed(References.MinimumLogLevel, levels[logLevel])))
)

/**
 * `windhover serve`: runs the service until it is told to stop.
 *
 * The thread of the embedded database, begun by `cli.ts`, waits to hear which one it is, and starts it while this one loads the service: so
 * what tells it is loaded first.
 */
export const serve = Command.make(
  "serve",
  {},
  Effect.fnUntraced(function*() {
    yield* Signals.watch(Signals.self)
    for (const variable of SettingsLayer.findUnknown(Object.keys(process.env))) {
      yield* Effect.logWarning(noSetting(variable))
    }
    const Database = yield* Effect.promise(() => import("#layers/postgres/Database.ts"))
    const starting = yield* Effect.forkChild(Layer.build(Database.layer), { startImmediately: true })
    const { layer } = yield* Effect.promise(() => import("#main/main.ts"))
    const database = yield* Fiber.join(starting)
    return yield* Effect.provideContext(Layer.launch(layer), database)
  }, Effect.scoped)
).pipe(
  Command.withDescription("Run the service until it is told to stop"),
  Command.provide(SteadyClock.layer.pipe(Layer.provideMerge(logging), Layer.provideMerge(SettingsLayer.layer)))
)
