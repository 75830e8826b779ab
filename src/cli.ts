import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Exit, Layer, Runtime } from "effect"
import { CliConfig, Command, GlobalFlag } from "effect/cli"
import * as Database from "#layers/Database.ts"
import * as FetcherUndici from "#layers/FetcherUndici.ts"
import { migrate } from "#layers/Migrations.ts"
import { version } from "#layers/Network.ts"
import * as Settings from "#layers/Settings.ts"
import { account, deliveries, hubs, pings, token } from "./cli/Accounts.ts"
import { inspect } from "./cli/Inspect.ts"
import * as Output from "./cli/Output.ts"
import { list, subscribe, tail, unsubscribe } from "./cli/Remote.ts"
import { noSetting, serve } from "./cli/Serve.ts"

const migrateAlone = Command.make(
  "migrate",
  {},
  Effect.fnUntraced(function*() {
    const done = yield* migrate
    yield* Console.log(done.length === 0 ? "The database is up to date." : `Done: ${done.join(", ")}`)
  })
).pipe(
  Command.withDescription("Bring the database to this version; the service does it at its start as well"),
  Command.provide(Database.layerUnmigrated.pipe(Layer.provide(Settings.layer)))
)

const settings = Command.make(
  "settings",
  {},
  Effect.fnUntraced(function*() {
    for (const { fallback, meaning, value, variable } of yield* Settings.explain()) {
      yield* Console.log(`${variable}=${value ?? ""}\n    ${meaning} Default: ${fallback}.`)
    }
    for (const variable of Settings.unknown(Object.keys(process.env))) yield* Console.error(noSetting(variable))
    yield* Settings.read()
  })
).pipe(Command.withDescription("List the settings, what they mean, and what they are set to"))

const windhover = Command.make("windhover").pipe(
  Command.withDescription("Watches any URL and pushes what is new"),
  Command.withSubcommands([
    serve,
    migrateAlone,
    settings,
    account,
    token,
    subscribe,
    unsubscribe,
    list,
    tail,
    pings,
    deliveries,
    hubs,
    inspect.pipe(Command.provide(FetcherUndici.layer.pipe(Layer.provide(Settings.layer))))
  ])
)

/** A failure that an operator can mend is a sentence on standard error and exit code 1, not a stack. */
const told = (error: { readonly _tag: string; readonly message: string }) =>
  Effect.andThen(Console.error(`windhover: ${error.message}`), Effect.sync(() => void (process.exitCode = 1)))

/** Being told to stop is no failure: a service that has finished what it had begun exits with 0. */
const teardown: Runtime.Teardown = (exit, onExit) =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit)

/** No flag for the log's level: WINDHOVER_LOG_LEVEL sets it. */
const globalFlags = CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })

Output.outliveReaders()

Command.run(windhover, { version }).pipe(
  Effect.catchIf((error) => error._tag !== "ShowHelp", told),
  Effect.provide([globalFlags, NodeServices.layer]),
  NodeRuntime.runMain({ teardown })
)
