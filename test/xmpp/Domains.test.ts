import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, References } from "effect"
import * as Component from "#xmpp/Component.ts"
import { installed, prosody } from "#test/support/Prosody.ts"

/** Configuration of a domain and a component, in the server's spelling. */
const hosts = (domain: string) => `VirtualHost "${domain}"\nComponent "push.${domain}"\n  component_secret = "a secret"`

describe.skipIf(installed === undefined)("a component of a domain with other letters than those of English", () => {
  it.live.each(["m\u00fcnchen.test", "xn--mnchen-3ya.test"])(
    "connects as the server spells it: %s",
    (domain) =>
      Effect.gen(function*() {
        const { componentPort } = yield* prosody({}, hosts(domain))
        const component = yield* Component.make({
          host: "127.0.0.1",
          port: componentPort,
          component: `push.${domain}`,
          domain,
          secret: Redacted.make("a secret"),
          onStanza: () => {}
        })
        const message = `<message from="push.${domain}" to="ann@${domain}" id="1"/>`
        assert.strictEqual(yield* component.deliver("1", [message]), "accepted")
      }).pipe(Effect.provideService(References.MinimumLogLevel, "Error"))
  )
})
