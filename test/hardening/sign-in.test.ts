import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { operator, serveDashboard } from "#test/support/Dashboard.ts"
import { client, type Faults, openIdProvider } from "#test/support/OpenIdProvider.ts"

const spoofed = { "x-forwarded-user": operator.login }

describe("the header of a proxy's login", () => {
  it.live("counts from no other peer, whatever address the other headers name", () =>
    Effect.gen(function*() {
      const settings = { proxyLoginHeader: "x-forwarded-user", trustedProxies: ["192.0.2.0/24"] }
      const { get, post } = yield* serveDashboard({ settings })
      for (
        const headers of [
          spoofed,
          { ...spoofed, "x-forwarded-for": "192.0.2.7" },
          { ...spoofed, forwarded: "for=192.0.2.7", "x-real-ip": "192.0.2.7" }
        ]
      ) {
        assert.notInclude((yield* get("/dashboard/sign-in", "", headers)).text, "Continue as")
        const answer = yield* post("/dashboard/sign-in/proxy", {}, headers)
        assert.deepStrictEqual([answer.status, answer.cookie], [422, undefined])
        assert.include(answer.text, "comes from no proxy of WINDHOVER_TRUSTED_PROXIES")
      }
    }))

  it.live("counts from no proxy while no header is set", () =>
    Effect.gen(function*() {
      const { get, post } = yield* serveDashboard({ settings: { trustedProxies: ["127.0.0.1/32"] } })
      assert.notInclude((yield* get("/dashboard/sign-in", "", spoofed)).text, "Continue as")
      const answer = yield* post("/dashboard/sign-in/proxy", {}, spoofed)
      assert.deepStrictEqual([answer.status, answer.cookie], [422, undefined])
    }))

  it.live("signs in for no form of another site, and counts twice as none", () =>
    Effect.gen(function*() {
      const settings = { proxyLoginHeader: "x-forwarded-user", trustedProxies: ["127.0.0.1/32"] }
      const { post } = yield* serveDashboard({ settings })
      const foreign = yield* post("/dashboard/sign-in/proxy", {}, { ...spoofed, origin: "https://evil.example" })
      assert.deepStrictEqual([foreign.status, foreign.cookie], [403, undefined])
      const twice = yield* post("/dashboard/sign-in/proxy", {}, { "x-forwarded-user": `bob, ${operator.login}` })
      assert.deepStrictEqual([twice.status, twice.cookie], [401, undefined])
    }))
})

/** An attack on the answer of a provider, and a part of the sentence that refuses it. */
const attacks: ReadonlyArray<readonly [name: string, faults: Faults, sentence: string]> = [
  ["a token with another key", { isForged: true }, "not usable"],
  ["a token of another sign-in", { claims: { nonce: "x".repeat(43) } }, "not usable"],
  ["a token for another client", { claims: { aud: "another" } }, "not usable"],
  ["a token of another issuer", { claims: { iss: "https://evil.example" } }, "not usable"],
  ["a token that has expired", { claims: { iat: 1_000, exp: 2_000 } }, "not usable"],
  ["no token", { hasNoToken: true }, "not usable"],
  ["another state", { answer: { state: "x".repeat(43) } }, "not usable"],
  ["an answer of another issuer", { answer: { iss: "https://evil.example" } }, "not usable"],
  [
    "markup as an error",
    { answer: { error: "access_denied", error_description: "<img src=x>" } },
    "(&lt;img src=x&gt;)"
  ]
]

describe("an answer of an identity provider", () => {
  const served = Effect.gen(function*() {
    const provider = yield* openIdProvider
    const settings = {
      oidcIssuer: provider.issuer,
      oidcClientId: client.id,
      oidcClientSecret: Redacted.make(client.secret)
    }
    const { get } = yield* serveDashboard({ settings })
    const begin = Effect.fnUntraced(function*() {
      const { cookie = "", headers } = yield* get("/dashboard/sign-in/provider?next=//evil.example")
      const answer = yield* Effect.promise(() => fetch(headers.get("location") ?? "", { redirect: "manual" }))
      const { pathname, search } = new URL(answer.headers.get("location") ?? "")
      return { cookie, path: `${pathname}${search}` }
    })
    return { begin, get, provider }
  })

  it.live("signs nobody in with a fault", () =>
    Effect.gen(function*() {
      const { begin, get, provider } = yield* served
      for (const [name, faults, sentence] of attacks) {
        Object.assign(provider.faults, { claims: {}, answer: {}, isForged: false, hasNoToken: false }, faults)
        const { cookie, path } = yield* begin()
        const answer = yield* get(path, cookie)
        assert.deepStrictEqual([answer.status, answer.cookie], [401, undefined], name)
        assert.include(answer.text, sentence, name)
      }
    }).pipe(Effect.scoped))

  it.live("counts in the browser that began alone, and leads to no other site", () =>
    Effect.gen(function*() {
      const { begin, get } = yield* served
      const victim = yield* begin()
      const attacker = yield* begin()
      for (
        const cookie of ["", victim.cookie, `${victim.cookie}; ${attacker.cookie}`, "__Host-windhover-sign-in=e30"]
      ) {
        const answer = yield* get(attacker.path, cookie)
        assert.deepStrictEqual([answer.status, answer.cookie], [401, undefined], cookie)
      }
      const answer = yield* get(attacker.path, attacker.cookie)
      assert.deepStrictEqual([answer.status, answer.headers.get("refresh")], [200, "0; url=/dashboard"])
    }).pipe(Effect.scoped))

  it.effect("is asked for 20 times in a row by one address", () =>
    Effect.gen(function*() {
      const { get, provider } = yield* served
      for (let i = 0; i < 20; i++) assert.strictEqual((yield* get("/dashboard/sign-in/provider")).status, 303)
      const before = provider.requests.length
      const refused = yield* get("/dashboard/sign-in/provider")
      assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [429, "3"])
      assert.strictEqual((yield* get("/dashboard/sign-in/provider/callback?code=x")).status, 429)
      assert.strictEqual(provider.requests.length, before)
    }).pipe(Effect.scoped))
})
