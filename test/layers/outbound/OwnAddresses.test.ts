import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { DnsResolver } from "#layers/outbound/DnsResolver.ts"
import { makeIsOwnAddress } from "#layers/outbound/OwnAddresses.ts"

/** A resolver whose name has `addresses`; undefined makes it fail. */
const resolverOf = (addresses: () => ReadonlyArray<string> | undefined): DnsResolver => ({
  resolve: () => {
    const found = addresses()
    return found === undefined
      ? Promise.reject(new Error("SERVFAIL"))
      : Promise.resolve(found.map((address) => ({ address, family: 4 as const })))
  },
  close: () => undefined
})

/** Lets promises settle that no effect waits for. */
const settle = Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void)))

describe("OwnAddresses", () => {
  it.effect("reads the interfaces again after 30 s, in any spelling", () =>
    Effect.gen(function*() {
      let now = 0
      let addresses = ["198.41.0.4", "fe80::1%eth0", "2A00:1450:0:0::99"]
      const isOwn = yield* makeIsOwnAddress({
        baseUrl: "http://localhost:8080",
        resolver: resolverOf(() => []),
        listAddresses: () => addresses,
        now: () => now
      })
      assert.deepStrictEqual(
        ["198.41.0.4", "fe80::1", "2a00:1450::99", "198.41.0.5"].map(isOwn),
        [true, true, true, false]
      )
      addresses = ["198.41.0.5"]
      now = 29_999
      assert.deepStrictEqual(["198.41.0.4", "198.41.0.5"].map(isOwn), [true, false])
      now = 30_000
      assert.deepStrictEqual(["198.41.0.4", "198.41.0.5"].map(isOwn), [false, true])
    }).pipe(Effect.scoped))

  it.effect("resolves the base URL's name each minute, and keeps its addresses while name servers fail", () =>
    Effect.gen(function*() {
      let addresses: ReadonlyArray<string> | undefined = ["198.41.0.4"]
      const isOwn = yield* makeIsOwnAddress({
        baseUrl: "https://push.example",
        resolver: resolverOf(() => addresses),
        listAddresses: () => []
      })
      const check = Effect.sync(() => ["198.41.0.4", "198.41.0.5"].map(isOwn))
      yield* settle
      assert.deepStrictEqual(yield* check, [true, false])
      addresses = undefined
      yield* TestClock.adjust("1 minute")
      yield* settle
      assert.deepStrictEqual(yield* check, [true, false])
      addresses = ["198.41.0.5"]
      yield* TestClock.adjust("1 minute")
      yield* settle
      assert.deepStrictEqual(yield* check, [false, true])
    }).pipe(Effect.scoped))

  it.effect("takes an address in the base URL as it is", () =>
    Effect.gen(function*() {
      const isOwn = yield* makeIsOwnAddress({
        baseUrl: "https://[2a00:1450::99]:8443/",
        resolver: resolverOf(() => undefined),
        listAddresses: () => []
      })
      assert.deepStrictEqual(["2a00:1450::99", "2a00:1450::9a"].map(isOwn), [true, false])
    }).pipe(Effect.scoped))
})
