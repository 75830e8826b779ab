import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import { accounts, basic, makeApi } from "#test/support/Api.ts"

const secret = "sixteen characters"

/** Status and sentence of a login check. */
const makeCheck = Effect.fnUntraced(function*(settings: Partial<SettingsValues> = {}) {
  const api = yield* makeApi({}, accounts, {
    xmppComponent: "push.xmpp.test",
    xmppDomain: "xmpp.test",
    xmppSecret: Redacted.make("of the component"),
    ...settings
  })
  return (headers: Record<string, string>, address = "127.0.0.1", method = "POST") =>
    api("/internal/xmpp/auth", { method, headers: { "x-xmpp-domain": "xmpp.test", ...headers } }, address)
})

describe("XmppLoginCheck", () => {
  it.effect("accepts the password and a token with the right xmpp", () =>
    Effect.gen(function*() {
      const ask = yield* makeCheck()
      assert.strictEqual((yield* ask(basic())).status, 204)
      assert.strictEqual((yield* ask(basic("xmpp"))).status, 204)
      assert.strictEqual((yield* ask(basic("list"))).status, 403)
      assert.strictEqual((yield* ask(basic("guess"))).status, 401)
      assert.strictEqual((yield* ask({})).status, 401)
      assert.strictEqual((yield* ask({ authorization: "Bearer x" })).status, 401)
    }))

  it.effect("serves this machine, but neither its proxies nor other machines", () =>
    Effect.gen(function*() {
      const ask = yield* makeCheck()
      assert.strictEqual((yield* ask(basic(), "::1")).status, 204)
      assert.strictEqual((yield* ask(basic(), "::ffff:127.0.0.1")).status, 204)
      assert.strictEqual((yield* ask({ ...basic(), "x-forwarded-for": "192.0.2.1" })).status, 403)
      assert.strictEqual((yield* ask({ ...basic(), forwarded: "for=192.0.2.1" })).status, 403)
      assert.strictEqual((yield* ask({ ...basic(), "x-real-ip": "192.0.2.1" })).status, 403)
      assert.strictEqual((yield* ask({ ...basic(), via: "1.1 proxy" })).status, 403)
      const proxied = yield* makeCheck({ trustedProxies: ["127.0.0.1/32"] })
      assert.strictEqual((yield* proxied(basic())).status, 403)
      assert.strictEqual((yield* ask(basic(), "192.0.2.1")).status, 403)
      assert.strictEqual((yield* ask({ ...basic(), "x-internal-secret": "undefined" }, "192.0.2.1")).status, 403)
    }))

  it.effect("serves every server with the secret, and rejects a wrong secret", () =>
    Effect.gen(function*() {
      const ask = yield* makeCheck({ xmppAuthSecret: Redacted.make(secret) })
      assert.strictEqual((yield* ask({ ...basic(), "x-internal-secret": secret }, "192.0.2.1")).status, 204)
      assert.strictEqual((yield* ask({ ...basic(), "x-internal-secret": "wrong" }, "192.0.2.1")).status, 403)
      assert.strictEqual((yield* ask({ ...basic(), "x-internal-secret": "wrong" })).status, 403)
    }))

  it.effect("throttles failed logins per login, but not proven credentials", () =>
    Effect.gen(function*() {
      const ask = yield* makeCheck()
      assert.strictEqual((yield* ask(basic())).status, 204)
      for (let i = 0; i < 100; i++) assert.strictEqual((yield* ask(basic(`guess ${i}`))).status, 401)
      assert.strictEqual((yield* ask(basic("guess"))).status, 429)
      assert.strictEqual((yield* ask(basic())).status, 204)
      const other = { authorization: `Basic ${Buffer.from("bob:guess").toString("base64")}` }
      assert.strictEqual((yield* ask(other)).status, 401) // another login is not throttled
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* ask(basic("guess"))).status, 401)
    }))

  it.effect("throttles failed logins per login and address if the XMPP server tells the address", () =>
    Effect.gen(function*() {
      const ask = yield* makeCheck()
      const from = (address: string, secret: string) =>
        Effect.map(ask({ ...basic(secret), "x-client-address": address }), ({ status }) => status)
      for (let i = 0; i < 10; i++) assert.strictEqual(yield* from("198.51.100.7", "guess"), 401)
      assert.strictEqual(yield* from("198.51.100.7", "wonder"), 429)
      assert.strictEqual(yield* from("198.51.100.8", "wonder"), 204)
      for (let i = 0; i < 10; i++) assert.strictEqual(yield* from(`2001:db8:0:1::${i}`, "guess"), 401)
      assert.strictEqual(yield* from("2001:db8:0:1::ffff", "guess"), 429) // a /64 is one address
      assert.strictEqual(yield* from("2001:db8:0:2::1", "guess"), 401)
      assert.strictEqual(yield* from("no address", "guess"), 401)
    }))

  it.effect("accepts its domain in Unicode and Punycode", () =>
    Effect.gen(function*() {
      const utf8 = Buffer.from("M\u00fcnchen.test").toString("latin1")
      for (const xmppDomain of ["xn--mnchen-3ya.test", "m\u00fcnchen.test"]) {
        const ask = yield* makeCheck({ xmppDomain })
        for (const named of [utf8, "XN--mnchen-3ya.test"]) {
          assert.strictEqual((yield* ask({ ...basic(), "x-xmpp-domain": named })).status, 204)
        }
        assert.strictEqual((yield* ask({ ...basic(), "x-xmpp-domain": "munchen.test" })).status, 400)
      }
    }))

  it.effect("requires POST and its own domain, and is absent without XMPP", () =>
    Effect.gen(function*() {
      const ask = yield* makeCheck()
      assert.strictEqual((yield* ask(basic(), "127.0.0.1", "GET")).status, 405)
      assert.strictEqual((yield* ask({ ...basic(), "x-xmpp-domain": "other.test" })).status, 400)
      const off = yield* makeCheck({ xmppComponent: undefined })
      assert.strictEqual((yield* off(basic())).status, 404)
    }))
})
