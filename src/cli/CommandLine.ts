import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Effect, Exit, Logger, Runtime } from "effect"
import { CliConfig, Command, GlobalFlag } from "effect/cli"
import { version } from "#layers/outbound/Version.ts"
import { describeFailure, type TaggedFailure } from "./ErrorText.ts"
import { logFormats } from "./LogFormat.ts"
import * as Output from "./Output.ts"

const loaders = {
  serve: async () => (await import("./Serve.ts")).serve,
  init: async () => (await import("./Init.ts")).init,
  migrate: async () => (await import("./Migrate.ts")).migrateDatabase,
  "forget-keys": async () => (await import("./ForgetKeys.ts")).forgetKeys,
  backup: async () => (await import("./Backup.ts")).backup,
  verify: async () => (await import("./Backup.ts")).verify,
  restore: async () => (await import("./Backup.ts")).restore,
  move: async () => (await import("./Move.ts")).move,
  settings: async () => (await import("./Settings.ts")).settings,
  account: async () => (await import("./Accounts.ts")).account,
  token: async () => (await import("./Accounts.ts")).token,
  subscribe: async () => (await import("./Subscriptions.ts")).subscribe,
  unsubscribe: async () => (await import("./Subscriptions.ts")).unsubscribe,
  "rotate-secret": async () => (await import("./Subscriptions.ts")).rotateSecret,
  list: async () => (await import("./Subscriptions.ts")).list,
  label: async () => (await import("./Labels.ts")).label,
  import: async () => (await import("./Import.ts")).importList,
  export: async () => (await import("./Export.ts")).exportAccount,
  tail: async () => (await import("./Tail.ts")).tail,
  forward: async () => (await import("./Forward.ts")).forward,
  pings: async () => (await import("./Activity.ts")).pings,
  deliveries: async () => (await import("./Deliveries.ts")).deliveries,
  delivery: async () => (await import("./Delivery.ts")).delivery,
  record: async () => (await import("./Delivery.ts")).record,
  undelivered: async () => (await import("./Recovery.ts")).undelivered,
  recover: async () => (await import("./Recovery.ts")).recover,
  resend: async () => (await import("./Recovery.ts")).resend,
  test: async () => (await import("./Recovery.ts")).test,
  pause: async () => (await import("./Recovery.ts")).pause,
  resume: async () => (await import("./Recovery.ts")).resume,
  hubs: async () => (await import("./Activity.ts")).hubs,
  inspect: async () => (await import("./Inspect.ts")).inspectOnline
}

const isCommand = (name: string): name is keyof typeof loaders => Object.hasOwn(loaders, name)

/** Loads the given command, or all commands for a list. Loading takes most of a command's time. */
const loadCommands = (name = "") => {
  if (name === "--version") return Promise.resolve([])
  return Promise.all(isCommand(name) ? [loaders[name]()] : Object.values(loaders).map((load) => load()))
}

const windhover = Command.make("windhover").pipe(
  Command.withDescription("Watch any URL and push new content"),
  Command.withSubcommands(await loadCommands(process.argv[2]))
)

/** Prints an expected failure as a sentence instead of a stack trace, with exit code 1. */
const printError = (error: TaggedFailure) =>
  Effect.andThen(
    Output.printError(`windhover: ${describeFailure(error)}`),
    Effect.sync(() => void (process.exitCode = 1))
  )

/** Exits with 0 after an interruption, because a stopped service has not failed. */
const teardown: Runtime.Teardown = (exit, onExit) =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit)

/** Flags of every command. The log level has no flag, because WINDHOVER_LOG_LEVEL sets the level. */
const globalFlags = CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })

/** The log of a command, on standard error. `serve` has the settings' own. */
const logging = Logger.layer([
  Logger.withConsoleError(process.env["WINDHOVER_LOG_FORMAT"] === "json" ? logFormats.json : logFormats.logfmt)
])

Output.ignoreClosedOutput()

Command.run(windhover, { version }).pipe(
  Effect.catchIf((error) => error._tag !== "ShowHelp", printError),
  Effect.provide([globalFlags, NodeServices.layer, logging]),
  NodeRuntime.runMain({ teardown })
)
