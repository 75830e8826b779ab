import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import { accounts, basic, makeApi } from "#test/support/Api.ts"

const secret = "sixteen characters"

/** Status of a question about a login, and its sentence. */
const asking = Effect.fnUntraced(function*(settings: Partial<SettingsValues> = {}) {
  const api = yield* makeApi({}, accounts, {
    xmppComponent: "push.xmpp.test",
    xmppDomain: "xmpp.test",
    xmppSecret: Redacted.make("of the component"),
    ...settings
  })
  return (headers: Record<string, string>, address = "127.0.0.1", method = "POST") =>
    api("/internal/xmpp/auth", { method, headers: { "x-xmpp-domain": "xmpp.test", ...headers } }, address)
})

describe("XmppLogins", () => {
  it.effect("lets in the password and a token with the right, nobody else", () =>
    Effect.gen(function*() {
      const ask = yield* asking()
      assert.strictEqual((yield* ask(basic())).status, 204)
      assert.strictEqual((yield* ask(basic("xmpp"))).status, 204)
      assert.strictEqual((yield* ask(basic("list"))).status, 403)
      assert.strictEqual((yield* ask(basic("guess"))).status, 401)
      assert.strictEqual((yield* ask({})).status, 401)
      assert.strictEqual((yield* ask({ authorization: "Bearer x" })).status, 401)
    }))

  it.effect("answers this machine, not what a proxy on it hands on, and nobody from elsewhere", () =>
    Effect.gen(function*() {
      const ask = yield* asking()
      assert.strictEqual((yield* ask(basic(), "::1")).status, 204)
      assert.strictEqual((yield* ask(basic(), "::ffff:127.0.0.1")).status, 204)
      assert.strictEqual((yield* ask({ ...basic(), "x-forwarded-for": "192.0.2.1" })).status, 403)
      assert.strictEqual((yield* ask({ ...basic(), forwarded: "for=192.0.2.1" })).status, 403)
      assert.strictEqual((yield* ask({ ...basic(), "x-real-ip": "192.0.2.1" })).status, 403)
      assert.strictEqual((yield* ask({ ...basic(), via: "1.1 proxy" })).status, 403)
      const proxied = yield* asking({ trustedProxies: ["127.0.0.1/32"] })
      assert.strictEqual((yield* proxied(basic())).status, 403)
      assert.strictEqual((yield* ask(basic(), "192.0.2.1")).status, 403)
      assert.strictEqual((yield* ask({ ...basic(), "x-internal-secret": "undefined" }, "192.0.2.1")).status, 403)
    }))

  it.effect("answers who knows the secret, and refuses a wrong one from anywhere", () =>
    Effect.gen(function*() {
      const ask = yield* asking({ xmppAuthSecret: Redacted.make(secret) })
      assert.strictEqual((yield* ask({ ...basic(), "x-internal-secret": secret }, "192.0.2.1")).status, 204)
      assert.strictEqual((yield* ask({ ...basic(), "x-internal-secret": "wrong" }, "192.0.2.1")).status, 403)
      assert.strictEqual((yield* ask({ ...basic(), "x-internal-secret": "wrong" })).status, 403)
    }))

  it.effect("makes those who guess wait, by the login, and lets in who has been right", () =>
    Effect.gen(function*() {
      const ask = yield* asking()
      assert.strictEqual((yield* ask(basic())).status, 204)
      for (let i = 0; i < 10; i++) assert.strictEqual((yield* ask(basic(`guess ${i}`))).status, 401)
      assert.strictEqual((yield* ask(basic("guess"))).status, 429)
      assert.strictEqual((yield* ask(basic())).status, 204)
      const other = { authorization: `Basic ${Buffer.from("bob:guess").toString("base64")}` }
      assert.strictEqual((yield* ask(other)).status, 401) // another login waits for nobody
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* ask(basic("guess"))).status, 401)
    }))

  it.effect("knows its own domain in each of its spellings", () =>
    Effect.gen(function*() {
      const utf8 = Buffer.from("M\u00fcnchen.test").toString("latin1")
      for (const xmppDomain of ["xn--mnchen-3ya.test", "m\u00fcnchen.test"]) {
        const ask = yield* asking({ xmppDomain })
        for (const named of [utf8, "XN--mnchen-3ya.test"]) {
          assert.strictEqual((yield* ask({ ...basic(), "x-xmpp-domain": named })).status, 204)
        }
        assert.strictEqual((yield* ask({ ...basic(), "x-xmpp-domain": "munchen.test" })).status, 400)
      }
    }))

  it.effect("wants a POST for its own domain, and is not there without XMPP", () =>
    Effect.gen(function*() {
      const ask = yield* asking()
      assert.strictEqual((yield* ask(basic(), "127.0.0.1", "GET")).status, 405)
      assert.strictEqual((yield* ask({ ...basic(), "x-xmpp-domain": "other.test" })).status, 400)
      const off = yield* asking({ xmppComponent: undefined })
      assert.strictEqual((yield* off(basic())).status, 404)
    }))
})
