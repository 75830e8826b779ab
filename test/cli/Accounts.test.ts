import { NodeServices } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { TestConsole } from "effect/testing"
import * as StoresMemory from "#layers/StoresMemory.ts"
import { account } from "#main/cli/Accounts.ts"
import * as Administration from "#main/cli/Administration.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"

/** What `windhover account` prints, over a service that runs. */
const printed = Effect.fnUntraced(function*(commands: ReadonlyArray<ReadonlyArray<string>>) {
  const dataDir = yield* temporaryDirectory
  yield* Layer.build(
    Administration.layerServer(dataDir).pipe(
      Layer.provide(Administration.layer),
      Layer.provide(StoresMemory.layer)
    )
  )
  const settings = ConfigProvider.layer(ConfigProvider.fromUnknown({ WINDHOVER_DATA_DIR: dataDir }))
  for (const words of commands) {
    yield* Effect.provide(Command.runWith(account, { version: "0" })(words), settings)
  }
  return yield* TestConsole.logLines
}, Effect.provide(NodeServices.layer))

it.effect("windhover account set says what a domain as the JID of an account means", () =>
  Effect.gen(function*() {
    const lines = yield* printed([
      ["create", "ann", "--password", "a password"],
      ["set", "ann", "--jid", "ann@example.org"],
      ["set", "ann", "--jid", "bots.example.org"],
      ["set", "ann", "--jid", ""]
    ])
    assert.deepStrictEqual(lines.slice(1), [
      "The account ann was changed.",
      "The account ann was changed.",
      "bots.example.org speaks for it now: its server, or the component of that name, subscribes for all addresses of the domain. Those addresses themselves do not.",
      "The account ann was changed."
    ])
  }))
