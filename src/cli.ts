import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { Fetcher } from "#domain/ports/Fetcher.ts"
import { inspect } from "./cli/Inspect.ts"

const windhover = Command.make("windhover").pipe(Command.withSubcommands([inspect]))

Command.run(windhover, { version: "0.1.0" }).pipe(
  Effect.provide([NodeServices.layer, Layer.mock(Fetcher, {})]),
  NodeRuntime.runMain
)
