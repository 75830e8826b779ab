import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { StoreError, WriteFailure } from "#domain/ports/StoreError.ts"
import { WriteProbe } from "#domain/ports/WriteProbe.ts"
import { makeApi } from "#test/support/Api.ts"

const store = (find: AccountStore["Service"]["find"]) => Layer.mock(AccountStore, { find })

const unavailable = new StoreError({ reason: { _tag: "Unavailable", message: "" } })

describe("/healthz", () => {
  it.effect("is 200 while the database answers", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({}, store(() => Effect.succeedNone))
      const answer = yield* api("/healthz")
      assert.strictEqual(`${answer.status} ${answer.body}`, "200 ok")
    }))

  it.effect("is 503 at once when the database is unavailable", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({}, store(() => Effect.fail(unavailable)))
      const answer = yield* api("/healthz")
      assert.strictEqual(`${answer.status} ${answer.body}`, "503 The database does not answer.")
      assert.strictEqual(answer.headers.get("retry-after"), "5")
    }))

  it.effect("is 503 after 10 s without an answer of the database, not before", () =>
    Effect.gen(function*() {
      let silent = true
      const api = yield* makeApi({}, store(() => silent ? Effect.never : Effect.succeedNone))
      const check = Effect.gen(function*() {
        const request = yield* Effect.forkChild(api("/healthz"))
        yield* TestClock.adjust("2 seconds")
        return (yield* Fiber.join(request)).status
      })
      assert.strictEqual(yield* check, 200)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* check, 200) // for 9 s
      assert.strictEqual(yield* check, 503) // for 11 s
      silent = false
      assert.strictEqual(yield* check, 200)
      silent = true
      assert.strictEqual(yield* check, 200) // a new silence
    }))

  it.effect("repeats its last answer during a short silence", () =>
    Effect.gen(function*() {
      let find: ReturnType<AccountStore["Service"]["find"]> = Effect.succeedNone
      const api = yield* makeApi({}, store(() => find))
      const check = Effect.gen(function*() {
        const request = yield* Effect.forkChild(api("/healthz"))
        yield* TestClock.adjust("2 seconds")
        return (yield* Fiber.join(request)).status
      })
      const statuses: Array<number> = []
      for (const answer of [Effect.succeedNone, Effect.fail(unavailable), Effect.succeedNone]) {
        for (find of [answer, Effect.never]) statuses.push(yield* check)
      }
      assert.deepStrictEqual(statuses, [200, 200, 503, 503, 200, 200])
    }))

  it.effect("is 503 while writes fail, and names the reason", () =>
    Effect.gen(function*() {
      const failure = { reason: "full" as "full" | undefined }
      let full = true
      const writing = Layer.succeed(WriteProbe, {
        attempt: Effect.suspend(() => full ? Effect.fail(unavailable) : Effect.void)
      })
      const api = yield* makeApi({}, store(() => Effect.succeedNone), {}, writing)
      const check = Effect.map(
        Effect.provideService(api("/healthz"), WriteFailure, failure),
        ({ body, status }) => `${status} ${body}`
      )
      assert.strictEqual(yield* check, "503 The disk of the database is full; nothing can be written.")
      assert.strictEqual(yield* check, "503 The disk of the database is full; nothing can be written.")
      full = false
      assert.strictEqual(yield* check, "200 ok")
      assert.isUndefined(failure.reason)
    }))

  it.effect("is 200 when a test write succeeds after a failed statement", () =>
    Effect.gen(function*() {
      let attempts = 0
      const writing = Layer.succeed(WriteProbe, { attempt: Effect.sync(() => void attempts++) })
      const api = yield* makeApi({}, store(() => Effect.succeedNone), {}, writing)
      const check = Effect.provideService(api("/healthz"), WriteFailure, { reason: "full" })
      assert.strictEqual((yield* check).status, 200)
      assert.strictEqual(attempts, 1)
      yield* api("/healthz")
      assert.strictEqual(attempts, 1) // no statement has failed since
    }))

  it.effect("accepts only GET and HEAD", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const answer = yield* api("/healthz", { method: "POST" })
      assert.strictEqual(
        `${answer.status} ${answer.body}`,
        "405 The method \"POST\" is not allowed here; use GET or HEAD."
      )
      assert.strictEqual(answer.headers.get("allow"), "GET, HEAD")
    }))
})

describe("/readyz", () => {
  it.effect("is 503 until the partitions are awake, then 200", () =>
    Effect.gen(function*() {
      let awake = false
      const api = yield* makeApi({ ready: Effect.sync(() => awake) })
      assert.strictEqual((yield* api("/readyz")).body, "Some partitions are not awake yet.")
      awake = true
      assert.strictEqual((yield* api("/readyz")).body, "ok")
    }))
})
