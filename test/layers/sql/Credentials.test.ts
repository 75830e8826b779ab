import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { createHash } from "node:crypto"
import { type LoginCredentials, makeAuthenticate } from "#layers/sql/Credentials.ts"

const ann: LoginCredentials = { account: { id: 7, login: "ann", credits: 0, createdAt: 0 }, passwordHash: "a hash" }

const token = createHash("sha256").update("her token").digest()

/** A store with one account, and passwords that note what is checked. */
const makeTried = (generation = () => 0) => {
  const looked: Array<string> = []
  const verified: Array<string | undefined> = []
  const authenticate = makeAuthenticate(
    {
      hash: () => Effect.die("nothing is hashed here"),
      verify: (_, hash) => Effect.sync(() => verified.push(hash) > 0 && false)
    },
    (login, tokenHash) =>
      Effect.sync(() => {
        looked.push(tokenHash.toString("hex"))
        if (tokenHash.equals(token)) return Option.some({ ...ann, token: { id: 1, rights: [] } })
        return login === "ann" ? Option.some(ann) : Option.none()
      }),
    generation
  )
  return { authenticate, looked, verified }
}

/** What a guesser could measure: how long it takes until the answer. */
describe("a wrong secret", () => {
  it.effect("is looked up by its hash, so that timing does not reveal a correct prefix", () =>
    Effect.gen(function*() {
      const { authenticate, looked } = makeTried()
      yield* authenticate("ann", Redacted.make("a token"))
      assert.deepStrictEqual(looked, [createHash("sha256").update("a token").digest("hex")])
    }))

  it.effect("costs one password check, for existing and unknown logins", () =>
    Effect.gen(function*() {
      const { authenticate, verified } = makeTried()
      const answers = yield* Effect.forEach(
        ["ann", "nobody", "ann"],
        (login) => authenticate(login, Redacted.make("x"))
      )
      assert.deepStrictEqual(answers.map(Option.isNone), [true, true, true])
      assert.deepStrictEqual(verified, ["a hash", undefined, "a hash"])
    }))
})

describe("correct credentials", () => {
  it.effect("are looked up once a second, and again after each change of an account", () =>
    Effect.gen(function*() {
      let generation = 0
      const { authenticate, looked } = makeTried(() => generation)
      const lookUps = Effect.fnUntraced(function*(login: string, secret: string) {
        const before = looked.length
        assert.strictEqual(
          Option.getOrUndefined(yield* authenticate(login, Redacted.make(secret)))?.credential,
          "token:1"
        )
        return looked.length - before
      })
      assert.strictEqual(yield* lookUps("ann", "her token"), 1)
      yield* TestClock.adjust(999)
      assert.strictEqual(yield* lookUps("ann", "her token"), 0)
      assert.strictEqual(yield* lookUps("bob", "her token"), 1) // of another login
      yield* TestClock.adjust(1)
      assert.strictEqual(yield* lookUps("ann", "her token"), 1)
      generation++
      assert.strictEqual(yield* lookUps("ann", "her token"), 1)
    }))

  it.effect("count as changed when an account has changed during their look-up", () =>
    Effect.gen(function*() {
      let changes = 0
      const { authenticate, looked } = makeTried(() => changes++) // changes within each look-up
      for (let i = 0; i < 2; i++) yield* authenticate("ann", Redacted.make("her token"))
      assert.strictEqual(looked.length, 2)
    }))
})
