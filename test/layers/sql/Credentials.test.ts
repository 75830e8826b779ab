import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { createHash } from "node:crypto"
import { type LoginCredentials, makeAuthenticate } from "#layers/sql/Credentials.ts"

const ann: LoginCredentials = { account: { id: 7, login: "ann", credits: 0, createdAt: 0 }, passwordHash: "a hash" }

/** A store with one account, and passwords that note what is checked. */
const makeTried = () => {
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
        return login === "ann" ? Option.some(ann) : Option.none()
      })
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
