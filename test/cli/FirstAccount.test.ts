import { assert, describe, it } from "@effect/vitest"
import { Effect, Latch, Layer, Redacted } from "effect"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import * as SettingsLayer from "#layers/Settings.ts"
import { describeExposure, ensureAccount, makeLocalUrl } from "#main/cli/FirstAccount.ts"
import * as MemoryStores from "#test/fakes/MemoryStores.ts"

/** Starts three runners at once: each has looked for the account before one of them creates it. */
const startTogether = Effect.gen(function*() {
  const accounts = yield* AccountStore
  const latch = yield* Latch.make(false)
  let finds = 0
  const find = (login: string) =>
    Effect.gen(function*() {
      const found = yield* accounts.find(login)
      if (++finds === 3) yield* latch.open
      yield* latch.await
      return found
    })
  const created = yield* Effect.all([ensureAccount, ensureAccount, ensureAccount], { concurrency: "unbounded" }).pipe(
    Effect.provideService(AccountStore, { ...accounts, find })
  )
  const { items: all } = yield* accounts.list({ limit: 10 })
  const tokens = yield* Effect.forEach(all, ({ id }) => accounts.listTokens(id))
  return { created: created.filter((one) => one !== undefined), logins: all.map(({ login }) => login), tokens }
})

describe("runners that start together on an empty database", () => {
  it.effect("create one account, whose secrets one of them prints", () =>
    Effect.gen(function*() {
      const { created, logins, tokens } = yield* startTogether
      assert.deepStrictEqual(logins, ["admin"])
      assert.deepStrictEqual(created.map(({ login }) => login), ["admin"])
      assert.deepStrictEqual(tokens.map((one) => one.map(({ name }) => name)), [["first"]])
    }).pipe(Effect.provide(Layer.merge(MemoryStores.layer, SettingsLayer.layerValues({})))))

  it.effect("give the account the token of the settings once", () =>
    Effect.gen(function*() {
      const { created, tokens } = yield* startTogether
      assert.deepStrictEqual(created.map(({ token }) => token), [undefined])
      assert.deepStrictEqual(tokens.map((one) => one.length), [1])
      const found = yield* (yield* AccountStore).authenticate("admin", Redacted.make("a token of the operator"))
      assert.strictEqual(found._tag, "Some")
    }).pipe(Effect.provide(
      Layer.merge(
        MemoryStores.layer,
        SettingsLayer.layerValues({ adminToken: Redacted.make("a token of the operator") })
      )
    )))
})

it("a service is told of where it is reached from its own machine", () => {
  const hosts = ["0.0.0.0", "::", "127.0.0.1", "localhost", "10.0.0.7", "::1", "push.example"]
  assert.deepStrictEqual(hosts.map((host) => makeLocalUrl(host, 8080)), [
    "http://localhost:8080",
    "http://localhost:8080",
    "http://localhost:8080",
    "http://localhost:8080",
    "http://10.0.0.7:8080",
    "http://[::1]:8080",
    "http://push.example:8080"
  ])
})

it("a start tells the networks that reach it, and whether strangers may subscribe", () => {
  const [inside, on] = describeExposure({ host: "127.0.0.1", hubOpen: true })
  const [outside, off] = describeExposure({ host: "0.0.0.0", hubOpen: false })
  assert.match(String(inside), /^Windhover listens on this machine only; .*WINDHOVER_HOST/)
  assert.match(String(outside), /^Windhover listens on the network; WINDHOVER_HOST=127\.0\.0\.1/)
  assert.match(String(on), /^The open hub at \/hub is on: .*WINDHOVER_HUB_OPEN=false/)
  assert.match(String(off), /^The open hub at \/hub is off\. WINDHOVER_HUB_OPEN=true/)
  assert.match(describeExposure({ host: "::1", hubOpen: true })[0] ?? "", /this machine only/)
})
