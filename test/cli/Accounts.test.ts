import { NodeServices } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Logger, References } from "effect"
import { Command } from "effect/cli"
import { TestConsole } from "effect/testing"
import * as SettingsLayer from "#layers/Settings.ts"
import * as MemoryStores from "#test/fakes/MemoryStores.ts"
import { existsSync, renameSync } from "node:fs"
import { createServer, type Server } from "node:net"
import { join } from "node:path"
import { account } from "#main/cli/Accounts.ts"
import { pings } from "#main/cli/Activity.ts"
import * as AdministrationLayer from "#main/cli/AdministrationLayer.ts"
import * as AdministrationSocket from "#main/cli/AdministrationSocket.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"

/** Listens on a Unix socket until the scope closes. */
const listening = (path: string) =>
  Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const server = createServer().listen(path, () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => void server.close())
  )

/** Output of `windhover account` commands over a running service. */
const printed = Effect.fnUntraced(function*(commands: ReadonlyArray<ReadonlyArray<string>>) {
  const dataDir = yield* temporaryDirectory
  yield* Layer.build(
    AdministrationSocket.layerServer(dataDir).pipe(
      Layer.provide(AdministrationLayer.layer),
      Layer.provide(MemoryStores.layer),
      Layer.provide(SettingsLayer.layerValues({}))
    )
  )
  const settings = ConfigProvider.layer(ConfigProvider.fromUnknown({ WINDHOVER_DATA_DIR: dataDir }))
  for (const words of commands) {
    yield* Effect.provide(Command.runWith(account, { version: "0" })(words), settings)
  }
  return yield* TestConsole.logLines
}, Effect.provide(NodeServices.layer))

it.effect("recognizes a dead socket of the data directory", () =>
  Effect.gen(function*() {
    const dataDir = yield* temporaryDirectory
    const socket = join(dataDir, "windhover.sock")
    assert.isFalse(yield* AdministrationSocket.isServed(dataDir))
    yield* Effect.scoped(Effect.gen(function*() {
      const server = yield* listening(join(dataDir, "other.sock"))
      renameSync(join(dataDir, "other.sock"), socket)
      assert.isTrue(yield* AdministrationSocket.isServed(dataDir))
      server.close()
    }))
    assert.isTrue(existsSync(socket))
    assert.isFalse(yield* AdministrationSocket.isServed(dataDir))
  }).pipe(Effect.provide(NodeServices.layer)))

it.effect("warns when the data directory cannot hold a socket", () =>
  Effect.gen(function*() {
    const dataDir = join(yield* temporaryDirectory, "is-not-there")
    const said: Array<unknown> = []
    yield* Layer.build(
      AdministrationSocket.layerServer(dataDir).pipe(
        Layer.provide(AdministrationLayer.layer),
        Layer.provide(MemoryStores.layer),
        Layer.provide(SettingsLayer.layerValues({}))
      )
    ).pipe(
      Effect.provide(Logger.layer([
        Logger.make(({ fiber, message }) =>
          void said.push(message, fiber.getRef(References.CurrentLogAnnotations)["reason"])
        )
      ]))
    )
    assert.match(
      String(said),
      /^Account and token commands work only while the service is stopped: .*windhover\.sock cannot be opened \(.*listen E[A-Z]+.*\)$/
    )
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

it.effect("lists refuse a --limit that no list can have", () =>
  Effect.gen(function*() {
    for (const limit of ["0", "-5", "10001", "99999999999999"]) {
      yield* Effect.exit(Command.runWith(pings, { version: "0" })(["--limit", limit]))
      const said = (yield* TestConsole.errorLines).join("\n")
      assert.include(said, `Invalid value for flag --limit: "${limit}". Expected: a whole number from 1 to 10000`)
    }
  }).pipe(Effect.provide(NodeServices.layer)))

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
