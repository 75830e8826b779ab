import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { SqlError } from "effect/sql"
import { WriteFailure } from "#domain/ports/StoreError.ts"
import { DatabaseLiveness } from "#layers/sql/DatabaseLiveness.ts"
import { describe as sentence, run, storeError } from "#layers/sql/Query.ts"

const failure = (code: string, message = "it said so") =>
  new SqlError.SqlError({
    reason: new SqlError.UnknownError({ cause: Object.assign(new Error(message), { code }) })
  })

const base = { isSilent: () => false, check: Effect.succeed(true), isUnresponsive: Effect.succeed(false) }

describe("Query", () => {
  it.each([
    ["53100", "no space left on the server's disk"],
    ["53300", "too many connections"],
    ["57P01", "an administrator restarts the server"],
    ["57P03", "the server is starting"],
    ["58030", "its disk failed"],
    ["25006", "a standby that is not promoted yet"],
    ["3D000", "the database is being restored"]
  ])("%s passes: %s", (code) => {
    assert.strictEqual(storeError(failure(code)).reason._tag, "Unavailable")
  })

  it.each([
    ["22021", "a value that is no text"],
    ["42P01", "a table that is missing"],
    ["XX001", "a damaged page"],
    ["", "an answer that cannot be read"]
  ])("%s does not pass: %s", (code) => {
    assert.strictEqual(storeError(failure(code)).reason._tag, "Defect")
  })

  it("treats a lost connection and a rejected password as transient", () => {
    const cause = new Error("gone")
    for (const reason of [new SqlError.ConnectionError({ cause }), new SqlError.AuthenticationError({ cause })]) {
      assert.strictEqual(storeError(new SqlError.SqlError({ reason })).reason._tag, "Unavailable")
    }
  })

  it.effect("notes a write failure after any statement", () =>
    Effect.gen(function*() {
      const suspected = { reason: undefined }
      const refused = (code: string) =>
        Effect.flip(run(Effect.fail(failure(code)))).pipe(Effect.provideService(WriteFailure, suspected))
      yield* refused("57P01")
      assert.isUndefined(suspected.reason)
      yield* refused("53100")
      assert.strictEqual(suspected.reason, "full")
      yield* refused("25006")
      assert.strictEqual(suspected.reason, "read-only")
    }))

  it.live("gives up an unanswered statement with an error", () =>
    Effect.gen(function*() {
      const ended = yield* Deferred.make<void>()
      const silent = Effect.onInterrupt(Effect.never, () => Deferred.succeed(ended, undefined))
      const error = yield* Effect.flip(run(silent, 1))
      assert.deepStrictEqual([error.reason._tag, error.message], [
        "Unavailable",
        "The database server does not answer."
      ])
      yield* Deferred.await(ended)
    }))

  it.live("checks the server repeatedly, and gives up when a check fails", () =>
    Effect.gen(function*() {
      const answers = [true, false]
      const heart = { ...base, check: Effect.sync(() => answers.shift() ?? true) }
      const error = yield* Effect.flip(Effect.provideService(run(Effect.never, Infinity), DatabaseLiveness, heart))
      assert.deepStrictEqual(error.reason._tag, "Unavailable")
      assert.deepStrictEqual(answers, [])
    }))

  it.effect("runs no statement on a silent server", () =>
    Effect.gen(function*() {
      const heart = { ...base, isSilent: () => true, check: Effect.die("not asked") }
      const error = yield* Effect.flip(Effect.provideService(run(Effect.die("not asked")), DatabaseLiveness, heart))
      assert.deepStrictEqual([error.reason._tag, error.message], [
        "Unavailable",
        "The database server does not answer."
      ])
    }))

  it.live("interrupts the statement of an interrupted caller", () =>
    Effect.gen(function*() {
      const [begun, ended] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const work = Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)
      const asking = yield* Effect.forkChild(run(Effect.onInterrupt(work, () => Deferred.succeed(ended, undefined))))
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(asking)
      assert.isTrue(yield* Deferred.isDone(ended))
    }))

  it("describes an error in the server's words with its code", () => {
    assert.strictEqual(sentence(failure("53100")), "it said so (SQLSTATE 53100)")
    assert.strictEqual(
      sentence(failure("ECONNREFUSED", "connect ECONNREFUSED ::1:5432")),
      "connect ECONNREFUSED ::1:5432"
    )
  })
})
