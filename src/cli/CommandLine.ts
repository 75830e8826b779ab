import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Console, Effect, Exit, Runtime } from "effect"
import { CliConfig, Command, GlobalFlag } from "effect/cli"
import { version } from "#layers/outbound/Version.ts"
import * as Output from "./Output.ts"

const load = {
  serve: async () => (await import("./Serve.ts")).serve,
  migrate: async () => (await import("./Migrate.ts")).migrateAlone,
  settings: async () => (await import("./Settings.ts")).settings,
  account: async () => (await import("./Accounts.ts")).account,
  token: async () => (await import("./Accounts.ts")).token,
  subscribe: async () => (await import("./Remote.ts")).subscribe,
  unsubscribe: async () => (await import("./Remote.ts")).unsubscribe,
  list: async () => (await import("./Remote.ts")).list,
  tail: async () => (await import("./Remote.ts")).tail,
  pings: async () => (await import("./Accounts.ts")).pings,
  deliveries: async () => (await import("./Accounts.ts")).deliveries,
  hubs: async () => (await import("./Accounts.ts")).hubs,
  inspect: async () => (await import("./Inspect.ts")).inspectOnline
}

const isCommand = (name: string): name is keyof typeof load => Object.hasOwn(load, name)

/** Loading takes most of a command's time: the one that is asked for is loaded, and all of them only to be listed. */
const loaded = (name = "") => {
  if (name === "--version") return Promise.resolve([])
  return Promise.all(isCommand(name) ? [load[name]()] : Object.values(load).map((one) => one()))
}

const windhover = Command.make("windhover").pipe(
  Command.withDescription("Watches any URL and pushes what is new"),
  Command.withSubcommands(await loaded(process.argv[2]))
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
