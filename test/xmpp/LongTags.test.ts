import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, References } from "effect"
import * as Component from "#xmpp/Component.ts"
import { component as name, domain, installed, prosody, secret } from "#test/support/Prosody.ts"
import { patience } from "#test/support/Service.ts"

describe.skipIf(installed === undefined)("a message with a long tag", () => {
  it.live.each([20_000, 70_000, 261_000])(
    "is read by Prosody, of %i characters, before anything else is sent",
    (length) =>
      Effect.gen(function*() {
        const { componentPort } = yield* prosody({})
        const component = yield* Component.make({
          host: "127.0.0.1",
          port: componentPort,
          component: name,
          domain,
          secret: Redacted.make(secret),
          onStanza: () => {}
        })
        const message = `<message from="${name}" to="ann@${domain}" id="1"><event a="${"x".repeat(length)}"/></message>`
        assert.strictEqual(yield* component.deliver("1", [message]), "accepted")
      }).pipe(Effect.provideService(References.MinimumLogLevel, "Error")),
    patience
  )
})
