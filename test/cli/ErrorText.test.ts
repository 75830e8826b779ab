import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import fc from "fast-check"
import { LoginTaken } from "#domain/ports/AccountStore.ts"
import { describeFailure } from "#main/cli/ErrorText.ts"

class Wordless extends Schema.TaggedError<Wordless>()("Wordless", {
  port: Schema.Int,
  name: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

describe("the printed text of a failed command", () => {
  it("is the message of the error", () => {
    assert.strictEqual(describeFailure(new LoginTaken({ login: "ann" })), "The account \"ann\" exists already.")
  })

  it("is the first message of the causes when the error has none", () => {
    const cause = new Error("", { cause: new Error("Connection refused.") })
    assert.strictEqual(describeFailure(new Wordless({ port: 1, name: "a", cause })), "Wordless: Connection refused.")
  })

  it("names the tag and the plain fields when no error has a message", () => {
    assert.strictEqual(
      describeFailure(new Wordless({ port: 80, name: "a", cause: { secret: "s" } })),
      "The command failed with Wordless (port 80, name \"a\"), without a reason."
    )
  })

  it("has words for any message and any chain of causes", () => {
    const chains = fc.array(fc.constantFrom("", " ", "\n", "Words."), { maxLength: 20 })
    fc.assert(fc.property(chains, fc.boolean(), (messages, isCircular) => {
      const last: Error = new Error("")
      if (isCircular) last.cause = last
      const cause = messages.reduceRight<Error>((inner, message) => new Error(message, { cause: inner }), last)
      assert.match(describeFailure(Object.assign(cause, { _tag: "Some" })), /\w/)
    }))
  })
})
