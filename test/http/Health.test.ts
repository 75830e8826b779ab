import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { LastUnwritten, StoreError } from "#domain/ports/StoreError.ts"
import { makeApi } from "#test/support/Api.ts"

const store = (find: AccountStore["Service"]["find"]) => Layer.mock(AccountStore, { find })

describe("/healthz", () => {
  it.effect("is 200 while the database answers", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({}, store(() => Effect.succeedNone))
      const answer = yield* api("/healthz")
      assert.strictEqual(`${answer.status} ${answer.body}`, "200 ok")
    }))

  it.effect("is 503 when it does not, or not in time", () =>
    Effect.gen(function*() {
      const away = yield* makeApi({}, store(() => Effect.fail(new StoreError({ reason: "unavailable", message: "" }))))
      assert.strictEqual((yield* away("/healthz")).status, 503)
      const silent = yield* makeApi({}, store(() => Effect.never))
      const waiting = yield* Effect.forkChild(silent("/healthz"))
      yield* TestClock.adjust("2 seconds")
      const answer = yield* Fiber.join(waiting)
      assert.strictEqual(`${answer.status} ${answer.body}`, "503 The database does not answer.")
      assert.strictEqual(answer.headers.get("retry-after"), "5")
    }))

  it.effect("is 503 for a while after the database could not write, and says why", () =>
    Effect.gen(function*() {
      const refusal = yield* LastUnwritten
      const api = yield* makeApi({}, store(() => Effect.succeedNone))
      yield* TestClock.setTime(100_000)
      refusal.last = { at: 100_000, why: "full" }
      yield* TestClock.adjust("14 seconds")
      const full = yield* api("/healthz")
      assert.strictEqual(`${full.status} ${full.body}`, "503 The disk of the database is full; nothing can be written.")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* api("/healthz")).status, 200)
      refusal.last = undefined
    }))

  it.effect("is asked with GET", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const answer = yield* api("/healthz", { method: "POST" })
      assert.strictEqual(`${answer.status} ${answer.body}`, "405 Use GET here.")
      assert.strictEqual(answer.headers.get("allow"), "GET, HEAD")
    }))
})

describe("/readyz", () => {
  it.effect("is 200 when the partitions are awake, and 503 before", () =>
    Effect.gen(function*() {
      let awake = false
      const api = yield* makeApi({ ready: Effect.sync(() => awake) })
      assert.strictEqual((yield* api("/readyz")).body, "Some partitions are not awake yet.")
      awake = true
      assert.strictEqual((yield* api("/readyz")).body, "ok")
    }))
})
