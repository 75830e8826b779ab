import { Effect, Layer, Logger, References } from "effect"
import { Command } from "effect/cli"
import { Settings } from "#domain/ports/Settings.ts"
import * as Database from "#layers/Database.ts"
import * as SettingsLayer from "#layers/Settings.ts"
import * as SteadyClock from "#layers/SteadyClock.ts"
import * as Signals from "./Signals.ts"

const levels = { debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

/** One line a record, on standard error: standard output is for what was asked. Spans are not made, since nobody collects them. */
const logging = Layer.mergeAll(
  Layer.succeed(References.TracerEnabled, false),
  Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)]),
  Layer.unwrap(Settings.useSync(({ logLevel }) => Layer.succeed(References.MinimumLogLevel, levels[logLevel])))
)

/** What is said of a variable that is set in vain. */
export const noSetting = (variable: string): string =>
  `${variable} is set, but there is no such setting; 'windhover settings' lists those there are.`

/**
 * `windhover serve`: runs the service until it is told to stop.
 *
 * The embedded database starts in its thread while this one loads the service: each takes a good part of a second.
 * The other commands do without the service, and so it is loaded here and not above.
 */
export const serve = Command.make(
  "serve",
  {},
  Effect.fnUntraced(function*() {
    yield* Signals.watch(Signals.self)
    for (const variable of SettingsLayer.unknown(Object.keys(process.env))) {
      yield* Effect.logWarning(noSetting(variable))
    }
    const [database, { layer }] = yield* Effect.all([
      Layer.build(Database.layer),
      Effect.promise(() => import("#main/main.ts"))
    ], { concurrency: "unbounded" })
    return yield* Effect.provideContext(Layer.launch(layer), database)
  }, Effect.scoped)
).pipe(
  Command.withDescription("Run the service until it is told to stop"),
  Command.provide(SteadyClock.layer.pipe(Layer.provideMerge(logging), Layer.provideMerge(SettingsLayer.layer)))
)
