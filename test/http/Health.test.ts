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

  it.effect("is 503 at once when the database is away", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({}, store(() => Effect.fail(unavailable)))
      const answer = yield* api("/healthz")
      assert.strictEqual(`${answer.status} ${answer.body}`, "503 The database does not answer.")
      assert.strictEqual(answer.headers.get("retry-after"), "5")
    }))

  it.effect("is 503 when the database has been silent for 10 s, and not before: it may be cleaning up", () =>
    Effect.gen(function*() {
      let silent = true
      const api = yield* makeApi({}, store(() => silent ? Effect.never : Effect.succeedNone))
      const asked = Effect.gen(function*() {
        const asking = yield* Effect.forkChild(api("/healthz"))
        yield* TestClock.adjust("2 seconds")
        return (yield* Fiber.join(asking)).status
      })
      assert.strictEqual(yield* asked, 200)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* asked, 200) // for 9 s
      assert.strictEqual(yield* asked, 503) // for 11 s
      silent = false
      assert.strictEqual(yield* asked, 200)
      silent = true
      assert.strictEqual(yield* asked, 200) // a new silence
    }))

  it.effect("says in a short silence what it said before", () =>
    Effect.gen(function*() {
      let find: ReturnType<AccountStore["Service"]["find"]> = Effect.succeedNone
      const api = yield* makeApi({}, store(() => find))
      const asked = Effect.gen(function*() {
        const asking = yield* Effect.forkChild(api("/healthz"))
        yield* TestClock.adjust("2 seconds")
        return (yield* Fiber.join(asking)).status
      })
      const statuses: Array<number> = []
      for (const answer of [Effect.succeedNone, Effect.fail(unavailable), Effect.succeedNone]) {
        for (find of [answer, Effect.never]) statuses.push(yield* asked)
      }
      assert.deepStrictEqual(statuses, [200, 200, 503, 503, 200, 200])
    }))

  it.effect("is 503 while nothing can be written, and says why", () =>
    Effect.gen(function*() {
      const suspected = { reason: "full" as "full" | undefined }
      let full = true
      const writing = Layer.succeed(WriteProbe, {
        attempt: Effect.suspend(() => full ? Effect.fail(unavailable) : Effect.void)
      })
      const api = yield* makeApi({}, store(() => Effect.succeedNone), {}, writing)
      const asked = Effect.map(
        Effect.provideService(api("/healthz"), WriteFailure, suspected),
        ({ body, status }) => `${status} ${body}`
      )
      assert.strictEqual(yield* asked, "503 The disk of the database is full; nothing can be written.")
      assert.strictEqual(yield* asked, "503 The disk of the database is full; nothing can be written.")
      full = false
      assert.strictEqual(yield* asked, "200 ok")
      assert.isUndefined(suspected.reason)
    }))

  it.effect("is 200 after a question that had no room on the server: what is written is written", () =>
    Effect.gen(function*() {
      let attempts = 0
      const writing = Layer.succeed(WriteProbe, { attempt: Effect.sync(() => void attempts++) })
      const api = yield* makeApi({}, store(() => Effect.succeedNone), {}, writing)
      const asked = Effect.provideService(api("/healthz"), WriteFailure, { reason: "full" })
      assert.strictEqual((yield* asked).status, 200)
      assert.strictEqual(attempts, 1)
      yield* api("/healthz")
      assert.strictEqual(attempts, 1) // nobody had trouble
    }))

  it.effect("is asked with GET", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const answer = yield* api("/healthz", { method: "POST" })
      assert.strictEqual(
        `${answer.status} ${answer.body}`,
        "405 The method \"POST\" is not known here; use GET or HEAD."
      )
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
