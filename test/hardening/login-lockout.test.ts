import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { accounts, basic, makeApi } from "#test/support/Api.ts"

const xmpp = { xmppComponent: "push.xmpp.test", xmppDomain: "xmpp.test", xmppSecret: Redacted.make("of the component") }

/** Wrong logins over XMPP do not lock out the owner of the login, whose credentials this process has never seen. */
describe("wrong logins over XMPP", () => {
  for (const client of [{}, { "x-client-address": "198.51.100.7" }]) {
    it.effect(`leave the right password usable, with ${JSON.stringify(client)}`, () =>
      Effect.gen(function*() {
        const api = yield* makeApi({}, accounts, xmpp)
        const ask = (secret: string, headers: Record<string, string>) =>
          api(
            "/internal/xmpp/auth",
            { method: "POST", headers: { "x-xmpp-domain": "xmpp.test", ...basic(secret), ...headers } },
            "127.0.0.1"
          ).pipe(Effect.map(({ status }) => status))
        for (let i = 0; i < 40; i++) yield* ask(`guess ${i}`, client)
        assert.strictEqual(
          yield* ask("wonder", "x-client-address" in client ? { "x-client-address": "198.51.100.8" } : {}),
          204
        )
      }))
  }
})
