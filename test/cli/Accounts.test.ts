import { NodeServices } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Layer, Logger, Redacted, References } from "effect"
import { Command } from "effect/cli"
import { TestClock, TestConsole } from "effect/testing"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import * as SettingsLayer from "#layers/Settings.ts"
import * as MemoryStores from "#test/fakes/MemoryStores.ts"
import { existsSync, renameSync } from "node:fs"
import { createServer, type Server } from "node:net"
import { join } from "node:path"
import { account, token } from "#main/cli/Accounts.ts"
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

it.effect("windhover account makes, lists, changes, credits and deletes accounts", () =>
  Effect.gen(function*() {
    const lines = yield* printed([
      ["create", "ann", "--password", "a password"],
      ["create", "bob", "--password", "a password"],
      ["create", "eve", "--password", "a password", "--admin"],
      ["password", "bob", "--password", "another password"],
      ["credits", "bob", "1500"],
      ["credits", "bob", "--", "-2000"],
      ["set", "bob", "--disabled", "--max-subscriptions", "25"],
      ["list"],
      ["set", "bob", "--no-disabled", "--max-subscriptions", "none"],
      ["delete", "eve"],
      ["list"]
    ])
    const today = "1970-01-01"
    assert.deepStrictEqual(lines, [
      "The account ann was made, for an operator.",
      "The account bob was made.",
      "The account eve was made, for an operator.",
      "The password of bob was changed.",
      "The account bob has 1500 credits.",
      "The account bob has -500 credits.",
      "The account bob was changed.",
      [
        "LOGIN  CREDITS  SINCE       ADMIN  DISABLED  MAX SUBSCRIPTIONS",
        `ann    0        ${today}  yes`,
        `bob    -500     ${today}         yes       25`,
        `eve    0        ${today}  yes`
      ].join("\n"),
      "The account bob was changed.",
      "The account eve was deleted, with its tokens and events.",
      [
        "LOGIN  CREDITS  SINCE       ADMIN  DISABLED  MAX SUBSCRIPTIONS",
        `ann    0        ${today}  yes`,
        `bob    -500     ${today}`
      ].join("\n")
    ])
  }))

it.effect("windhover account tells what is wrong with a login, a password, a limit, or an unknown account", () =>
  Effect.gen(function*() {
    const failure = (...words: ReadonlyArray<string>) =>
      Effect.map(Effect.flip(printed([["create", "ann", "--password", "a password"], words])), String)
    assert.include(yield* failure("create", "Ann", "--password", "a password"), "\"Ann\" cannot be a login.")
    assert.include(yield* failure("create", "bob", "--password", "short"), "8 to 1024 characters; this one has 5.")
    assert.include(yield* failure("create", "ann", "--password", "a password"), "The account \"ann\" exists already.")
    for (const words of [["credits", "bob", "5"], ["delete", "bob"], ["set", "bob", "--admin"]]) {
      assert.include(yield* failure(...words), "There is no account \"bob\".")
    }
    assert.include(yield* failure("set", "ann"), "Nothing to change for \"ann\"")
    for (const limit of ["-1", "many", "10000001"]) {
      yield* Effect.exit(printed([["set", "ann", "--max-subscriptions", limit]]))
      assert.include((yield* TestConsole.errorLines).join("\n"), "Expected: a whole number from 0 to 10000000, or none")
    }
  }))

it.effect("windhover token lists the last use of each token", () =>
  Effect.gen(function*() {
    const dataDir = yield* temporaryDirectory
    const stores = yield* Layer.build(
      AdministrationSocket.layerServer(dataDir).pipe(
        Layer.provide(AdministrationLayer.layer),
        Layer.provideMerge(MemoryStores.layer),
        Layer.provide(SettingsLayer.layerValues({}))
      )
    )
    const accounts = Context.get(stores, AccountStore)
    yield* TestClock.adjust("36 hours")
    const { id } = yield* accounts.create("ann", Redacted.make("a password"))
    const { secret } = yield* accounts.createToken({ accountId: id, name: "laptop", rights: ["list"] })
    yield* accounts.createToken({ accountId: id, name: "new", rights: ["list", "retrieve"] })
    yield* TestClock.adjust("24 hours")
    yield* accounts.authenticate("ann", secret)
    const settings = ConfigProvider.layer(ConfigProvider.fromUnknown({ WINDHOVER_DATA_DIR: dataDir }))
    yield* Effect.provide(Command.runWith(token, { version: "0" })(["list", "ann"]), settings)
    const [list = ""] = (yield* TestConsole.logLines).map(String)
    assert.deepStrictEqual(list.split("\n").map((line) => line.split(/ {2,}/).slice(1)), [
      ["NAME", "SINCE", "LAST USED", "RIGHTS"],
      ["laptop", "1970-01-02", "1970-01-03", "list"],
      ["new", "1970-01-02", "never", "list, retrieve"]
    ])
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))
