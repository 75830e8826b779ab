import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { NetAddress } from "effect/net"
import { InvalidSetting, parseBaseUrl } from "#domain/Setting.ts"
import * as Port from "#domain/ports/Settings.ts"
import * as HttpServerNode from "#layers/server/HttpServerNode.ts"
import * as Settings from "#layers/Settings.ts"

const withVariables = (variables: Record<string, string>) =>
  Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(variables)))

describe("Settings", () => {
  it.effect("has a default for every setting", () =>
    Effect.gen(function*() {
      const values = yield* Settings.read()
      assert.strictEqual(values.port, 8080)
      assert.strictEqual(values.baseUrl, "http://localhost:8080")
      assert.strictEqual(values.databaseUrl, undefined)
      assert.strictEqual(values.allowPrivate, false)
      assert.strictEqual(values.minPeriodSeconds, 60)
      assert.strictEqual(values.headerPrefix, "X-Superfeedr-")
    }).pipe(withVariables({})))

  it.effect("reads environment variables", () =>
    Effect.gen(function*() {
      const values = yield* Settings.read()
      assert.strictEqual(values.port, 9000)
      assert.strictEqual(values.baseUrl, "https://push.example.org/windhover")
      assert.deepStrictEqual(values.runnerAddress, { host: "::1", port: 9090 })
      assert.strictEqual(values.databaseUrl && Redacted.value(values.databaseUrl), "postgres://u:p@db/w")
      assert.strictEqual(values.logLevel, "debug")
    }).pipe(withVariables({
      WINDHOVER_PORT: "9000",
      WINDHOVER_BASE_URL: "https://push.example.org/windhover/",
      WINDHOVER_RUNNER_ADDRESS: "[::1]:9090",
      WINDHOVER_DATABASE_URL: "postgres://u:p@db/w",
      WINDHOVER_LOG_LEVEL: "DEBUG"
    })))

  it.effect("listens on loopback, and opens the hub, unless the operator names a host, a base URL or the hub", () =>
    Effect.gen(function*() {
      const exposure = (variables: Record<string, string>) =>
        Effect.map(Settings.read().pipe(withVariables(variables)), ({ host, hubOpen }) => `${host} ${hubOpen}`)
      assert.strictEqual(yield* exposure({}), "127.0.0.1 true")
      assert.strictEqual(yield* exposure({ WINDHOVER_BASE_URL: "http://localhost:9000" }), "127.0.0.1 true")
      assert.strictEqual(yield* exposure({ WINDHOVER_BASE_URL: "http://[::1]:9000" }), "127.0.0.1 true")
      assert.strictEqual(yield* exposure({ WINDHOVER_HOST: "::" }), ":: true")
      assert.strictEqual(yield* exposure({ WINDHOVER_BASE_URL: "http://10.0.0.7:8080" }), "0.0.0.0 true")
      const publicUrl = { WINDHOVER_BASE_URL: "https://push.example.org" }
      assert.strictEqual(yield* exposure(publicUrl), "0.0.0.0 false")
      assert.strictEqual(yield* exposure({ ...publicUrl, WINDHOVER_HUB_OPEN: "true" }), "0.0.0.0 true")
      assert.strictEqual(yield* exposure({ ...publicUrl, WINDHOVER_HOST: "127.0.0.1" }), "127.0.0.1 false")
      assert.strictEqual(yield* exposure({ WINDHOVER_HUB_OPEN: "false" }), "127.0.0.1 false")
    }))

  it("takes a base URL with a path that is no path of its own", () => {
    const parse = (text: string) => {
      const parsed = parseBaseUrl(text)
      return parsed instanceof InvalidSetting ? parsed.requirement : parsed
    }
    assert.strictEqual(parse("https://Push.example.org:443//"), "https://push.example.org")
    assert.strictEqual(parse("https://example.org/a-b/push_1.x~/"), "https://example.org/a-b/push_1.x~")
    assert.strictEqual(parse("https://example.org/dashboards"), "https://example.org/dashboards")
    for (const own of ["hub", "api/", "dashboard/x", "openapi.json"]) {
      assert.strictEqual(
        parse(`https://example.org/${own}`),
        `its path begins with /${own.split("/")[0]}, a path of Windhover itself; choose another one, such as /windhover`
      )
    }
    for (const odd of ["a%20b", "a//b", "a;b", "ä"]) {
      assert.match(parse(`https://example.org/${odd}`), /^its path may have letters, digits/)
    }
    assert.match(parse("https://example.org/?a"), /^an http or https URL without query/)
  })

  it.effect("signs in by a proxy or a provider only with all that they need", () =>
    Effect.gen(function*() {
      const problemsOf = (variables: Record<string, string>) =>
        Settings.read().pipe(
          withVariables(variables),
          Effect.match({ onSuccess: () => "", onFailure: ({ message }) => message })
        )
      const header = { WINDHOVER_PROXY_LOGIN_HEADER: "X-Forwarded-User" }
      assert.include(yield* problemsOf(header), "WINDHOVER_TRUSTED_PROXIES is not; name the addresses")
      assert.strictEqual(yield* problemsOf({ ...header, WINDHOVER_TRUSTED_PROXIES: "127.0.0.1" }), "")
      const { proxyLoginHeader } = yield* Settings.read().pipe(
        withVariables({ ...header, WINDHOVER_TRUSTED_PROXIES: "127.0.0.1" })
      )
      assert.strictEqual(proxyLoginHeader, "x-forwarded-user")
      for (const name of ["Authorization", "Cookie", "X-Forwarded-For", "Sec-Fetch-Site", "a b", "Content-Type"]) {
        assert.include(yield* problemsOf({ WINDHOVER_PROXY_LOGIN_HEADER: name }), "such as X-Forwarded-User", name)
      }
      const issuer = { WINDHOVER_OIDC_ISSUER: "https://id.example.org/realms/staff" }
      assert.include(yield* problemsOf(issuer), "WINDHOVER_OIDC_CLIENT_ID is not; OpenID Connect needs both")
      assert.strictEqual(yield* problemsOf({ ...issuer, WINDHOVER_OIDC_CLIENT_ID: "windhover" }), "")
      for (const url of ["http://id.example.org", "https://id.example.org/?x=1", "https://a@id.example.org", "id"]) {
        assert.include(yield* problemsOf({ WINDHOVER_OIDC_ISSUER: url }), "an https URL without query", url)
      }
      const local = { WINDHOVER_OIDC_ISSUER: "http://localhost:8180", WINDHOVER_OIDC_CLIENT_ID: "windhover" }
      assert.strictEqual(yield* problemsOf(local), "")
    }))

  it("finds variables that look like settings", () => {
    assert.deepStrictEqual(
      Settings.findUnknown(["PATH", "WINDHOVER_PORT", "WINDHOVER_ALOW_PRIVATE", "WINDHOVER_TOKEN", "WINDHOVER_NODE"]),
      ["WINDHOVER_ALOW_PRIVATE"]
    )
  })

  it("knows each variable that sources and programs name", () => {
    const root = join(import.meta.dirname, "../..")
    const files = ["bin", "src"].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
    )
    const named = new Set(
      files.flatMap((file) =>
        readFileSync(join(file.parentPath, file.name), "utf8").match(/\bWINDHOVER_[A-Z_]*[A-Z]\b/g) ?? []
      )
    )
    assert.isTrue(named.has("WINDHOVER_NODE"))
    assert.deepStrictEqual(Settings.findUnknown([...named]), [])
  })

  it.effect("reports all problems together, by variable and without secrets", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Settings.read())
      assert.deepStrictEqual(error._tag === "SettingsError" ? error.problems : [error.message], [
        "WINDHOVER_PORT is \"80800\"; a whole number from 0 to 65535 is needed.",
        "WINDHOVER_BASE_URL is \"push.example.org\"; an http or https URL without query is needed, such as https://push.example.org.",
        "WINDHOVER_DATABASE_URL is not usable; a URL such as postgres://user:password@host:5432/database is needed.",
        "WINDHOVER_ADMIN_PASSWORD is not usable; at least 8 characters are needed.",
        "WINDHOVER_ALLOW_PRIVATE is \"maybe\"; true or false is needed.",
        "WINDHOVER_TRUSTED_PROXIES is \"10.0.0.0/8, proxy\"; IP addresses or networks are needed, such as 127.0.0.1, 10.0.0.0/8.",
        "WINDHOVER_MAX_PERIOD is 30, less than WINDHOVER_MIN_PERIOD (60); the longest period cannot be shorter than the shortest one.",
        "WINDHOVER_RUNNER_ADDRESS is set, but WINDHOVER_DATABASE_URL is not; runners of a cluster share one PostgreSQL."
      ])
    }).pipe(withVariables({
      WINDHOVER_PORT: "80800",
      WINDHOVER_BASE_URL: "push.example.org",
      WINDHOVER_DATABASE_URL: "mysql://u:hunter2@db",
      WINDHOVER_ADMIN_PASSWORD: "short",
      WINDHOVER_ALLOW_PRIVATE: "maybe",
      WINDHOVER_TRUSTED_PROXIES: "10.0.0.0/8, proxy",
      WINDHOVER_MAX_PERIOD: "30",
      WINDHOVER_RUNNER_ADDRESS: "10.0.0.7:9090"
    })))

  it.effect("treats the address of a proxy as a network of one", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* Settings.read()).trustedProxies, ["127.0.0.1/32", "::1/128", "10.0.0.0/8"])
    }).pipe(withVariables({ WINDHOVER_TRUSTED_PROXIES: "127.0.0.1, ::1, 10.0.0.0/8" })))

  it.effect("rejects a database URL without a host or a user", () =>
    Effect.gen(function*() {
      for (const url of ["postgres://", "postgres://u:hunter2@db:port/x", "postgres://db/x", "postgres:///x"]) {
        const error = yield* Effect.flip(Settings.read().pipe(withVariables({ WINDHOVER_DATABASE_URL: url })))
        assert.strictEqual(
          error.message,
          "WINDHOVER_DATABASE_URL is not usable; a URL such as postgres://user:password@host:5432/database is needed."
        )
      }
    }))

  it.effect("requires all settings of XMPP, and names the missing ones", () =>
    Effect.gen(function*() {
      const problems = (variables: Record<string, string>) =>
        Effect.map(
          Effect.flip(Settings.read()).pipe(withVariables(variables)),
          (error) => error._tag === "SettingsError" ? error.problems : [error.message]
        )
      assert.deepStrictEqual(yield* problems({ WINDHOVER_XMPP_COMPONENT: "push.example.org" }), [
        "WINDHOVER_XMPP_COMPONENT is set, but WINDHOVER_XMPP_DOMAIN is not; XMPP needs both.",
        "WINDHOVER_XMPP_COMPONENT is set, but WINDHOVER_XMPP_SECRET is not; XMPP needs both."
      ])
      assert.deepStrictEqual(
        yield* problems({
          WINDHOVER_XMPP_COMPONENT: "Example.org",
          WINDHOVER_XMPP_DOMAIN: "example.org",
          WINDHOVER_XMPP_SECRET: "short"
        }),
        [
          "WINDHOVER_XMPP_SECRET is not usable; at least 8 characters are needed.",
          "WINDHOVER_XMPP_COMPONENT and WINDHOVER_XMPP_DOMAIN are the same; a component has a name of its own, such as push.example.org."
        ]
      )
      assert.deepStrictEqual(yield* problems({ WINDHOVER_XMPP_PORT: "0", WINDHOVER_XMPP_DOMAIN: "ann@example.org" }), [
        "WINDHOVER_XMPP_DOMAIN is \"ann@example.org\"; a domain name is needed, such as push.example.org.",
        "WINDHOVER_XMPP_PORT is \"0\"; a whole number from 1 to 65535 is needed."
      ])
    }))

  it.effect("keeps the spelling of XMPP domains, and compares them in normal form", () =>
    Effect.gen(function*() {
      const variables = {
        WINDHOVER_XMPP_COMPONENT: "push.xn--mnchen-3ya.example",
        WINDHOVER_XMPP_DOMAIN: "München.example",
        WINDHOVER_XMPP_SECRET: "long enough"
      }
      const { xmppComponent, xmppDomain } = yield* Settings.read().pipe(withVariables(variables))
      assert.deepStrictEqual([xmppComponent, xmppDomain], ["push.xn--mnchen-3ya.example", "münchen.example"])
      const same = yield* Effect.flip(
        Settings.read().pipe(withVariables({ ...variables, WINDHOVER_XMPP_COMPONENT: "xn--mnchen-3ya.example" }))
      )
      assert.include(same.message, "are the same")
      const wrong = yield* Effect.flip(
        Settings.read().pipe(withVariables({ ...variables, WINDHOVER_XMPP_DOMAIN: "mün chen.example" }))
      )
      assert.include(wrong.message, "a domain name is needed")
    }))

  it.effect("explains every setting and hides secrets", () =>
    Effect.gen(function*() {
      const explained = yield* Settings.explain()
      assert.deepStrictEqual(explained.find((setting) => setting.variable === "WINDHOVER_ADMIN_TOKEN")?.value, "(set)")
      assert.deepStrictEqual(explained.find((setting) => setting.variable === "WINDHOVER_PORT")?.value, "0")
      assert.strictEqual(explained.find((setting) => setting.variable === "WINDHOVER_HOST")?.value, undefined)
    }).pipe(withVariables({ WINDHOVER_ADMIN_TOKEN: "0123456789abcdef", WINDHOVER_PORT: "0" })))

  it.effect("take values over the defaults, and derive the base URL from the port", () =>
    Effect.gen(function*() {
      const { baseUrl, maxFetches, port } = yield* Port.Settings
      assert.deepStrictEqual({ baseUrl, maxFetches, port }, {
        baseUrl: "http://localhost:81",
        maxFetches: 512,
        port: 81
      })
    }).pipe(Effect.provide(Settings.layerValues({ port: 81 }))))

  it.effect("contain the port that the system chose", () =>
    Effect.gen(function*() {
      const listening = (variables: Record<string, string>) =>
        Port.Settings.useSync(({ baseUrl }) => baseUrl).pipe(
          Effect.provide(
            HttpServerNode.layerSettings.pipe(
              Layer.provide(
                Layer.mock(HttpServer.HttpServer, {
                  address: NetAddress.inetAddressFromStringUnsafe("127.0.0.1:40001")
                })
              ),
              Layer.provide(Settings.layer)
            )
          ),
          withVariables(variables)
        )
      assert.strictEqual(yield* listening({ WINDHOVER_PORT: "0" }), "http://localhost:40001")
      assert.strictEqual(
        yield* listening({ WINDHOVER_PORT: "0", WINDHOVER_BASE_URL: "https://push.example.org" }),
        "https://push.example.org"
      )
      assert.strictEqual(yield* listening({ WINDHOVER_PORT: "8081" }), "http://localhost:8081")
    }))
})
