import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { hash } from "node:crypto"
import { nameOfIdentity } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { SessionStore } from "#domain/ports/SessionStore.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import { available, browser, checkAccessibility, openTab } from "#test/support/Browser.ts"
import { operator, type PageResponse, serveDashboard } from "#test/support/Dashboard.ts"
import { client, type OpenIdProvider, openIdProvider } from "#test/support/OpenIdProvider.ts"

const proxy = { proxyLoginHeader: "x-forwarded-user", trustedProxies: ["127.0.0.1/32"] }
const named = (login: string) => ({ "x-forwarded-user": login })

describe("the header of a trusted proxy", () => {
  const served = serveDashboard({ settings: proxy })

  it.live("signs its login in with one button, for as long as each request names the login", () =>
    Effect.gen(function*() {
      const { addAccount, get, post } = yield* served
      yield* addAccount("alice", "battery staple")
      const page = yield* get("/dashboard/sign-in?next=/dashboard/tokens", "", named("alice"))
      assert.include(page.text, "Continue as alice")
      assert.strictEqual(page.cookie, undefined)
      const next = { next: "/dashboard/tokens" }
      const { cookie = "", headers, status } = yield* post("/dashboard/sign-in/proxy", next, named("alice"))
      assert.deepStrictEqual([status, headers.get("location")], [303, "/dashboard/tokens"])
      const account = yield* get("/dashboard/account", cookie, named("alice"))
      assert.include(account.text, "through the proxy")
      assert.include(account.text, "New password")
      for (const headers of [{}, named("admin"), named("Alice"), named("alice, alice")]) {
        assert.strictEqual((yield* get("/dashboard", cookie, headers)).status, 303, JSON.stringify(headers))
      }
      assert.strictEqual((yield* get("/dashboard", cookie, named("alice"))).status, 200)
    }))

  it.live("signs in nobody without an account, or whose account is disabled", () =>
    Effect.gen(function*() {
      const { addAccount, context, get, post } = yield* served
      yield* addAccount("alice", "battery staple")
      const refused = yield* post("/dashboard/sign-in/proxy", {}, named("<carol>"))
      assert.deepStrictEqual([refused.status, refused.cookie], [401, undefined])
      assert.include(refused.text, "The proxy signs you in as &quot;&lt;carol&gt;&quot;, and there is no account")
      const { cookie = "" } = yield* post("/dashboard/sign-in/proxy", {}, named("alice"))
      yield* AccountStore.use((store) => store.update("alice", { disabled: true })).pipe(Effect.provideContext(context))
      assert.strictEqual((yield* get("/dashboard", cookie, named("alice"))).status, 303)
      const disabled = yield* post("/dashboard/sign-in/proxy", {}, named("alice"))
      assert.deepStrictEqual([disabled.status, disabled.cookie], [401, undefined])
      assert.include(disabled.text, "is disabled")
    }))

  it.live("leaves the sign-in with a password as it is", () =>
    Effect.gen(function*() {
      const { get, signIn } = yield* served
      const cookie = yield* signIn()
      for (const headers of [{}, named("alice"), named(operator.login)]) {
        assert.strictEqual((yield* get("/dashboard", cookie, headers)).status, 200)
      }
    }))
})

type Dashboard = Effect.Success<ReturnType<typeof serveDashboard>>

const oidcSettings = ({ issuer }: OpenIdProvider): Partial<SettingsValues> => ({
  oidcIssuer: issuer,
  oidcClientId: client.id,
  oidcClientSecret: Redacted.make(client.secret)
})

const startPath = "/dashboard/sign-in/provider"

/** Begins at the service, follows to the provider, and returns the path of its answer with the cookie of the browser. */
const begin = Effect.fnUntraced(function*({ get }: Dashboard, next = "/dashboard/tokens") {
  const started = yield* get(`${startPath}?${new URLSearchParams({ next })}`)
  assert.strictEqual(started.status, 303, started.text)
  const target = new URL(started.headers.get("location") ?? "")
  const answer = yield* Effect.promise(() => fetch(target, { redirect: "manual" }))
  const callback = new URL(answer.headers.get("location") ?? "")
  return { started, target, callback, path: `${callback.pathname}${callback.search}`, cookie: started.cookie ?? "" }
})

const signIn = Effect.fnUntraced(function*(dashboard: Dashboard, next?: string): Effect.fn.Return<PageResponse> {
  const { cookie, path } = yield* begin(dashboard, next)
  return yield* dashboard.get(path, cookie)
})

describe("OpenID Connect", () => {
  it.live("is off without settings", () =>
    Effect.gen(function*() {
      const { get } = yield* serveDashboard()
      assert.notInclude((yield* get("/dashboard/sign-in")).text, startPath)
      for (const path of [startPath, `${startPath}/callback?code=x&state=y`]) {
        const answer = yield* get(path)
        assert.strictEqual(answer.status, 404)
        assert.include(answer.text, "WINDHOVER_OIDC_ISSUER")
      }
    }))

  it.live("signs in with code, PKCE, state and nonce, and leads on to the page", () =>
    Effect.gen(function*() {
      const provider = yield* openIdProvider
      const dashboard = yield* serveDashboard({ settings: oidcSettings(provider) })
      const { get } = dashboard
      assert.include((yield* get("/dashboard/sign-in?next=/dashboard/tokens")).text, `${startPath}?next=%2Fdashboard`)
      const { callback, cookie, path, started, target } = yield* begin(dashboard)
      assert.match(
        started.headers.get("set-cookie") ?? "",
        /^__Host-windhover-sign-in=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/
      )
      const parameter = (name: string) => target.searchParams.get(name) ?? ""
      assert.deepStrictEqual(
        ["response_type", "client_id", "scope", "code_challenge_method", "redirect_uri"].map(parameter),
        ["code", client.id, "openid profile", "S256", `${callback.origin}${startPath}/callback`]
      )
      for (const name of ["state", "nonce", "code_challenge"]) assert.match(parameter(name), /^[\w-]{43}$/, name)
      const signedIn = yield* get(path, cookie)
      assert.deepStrictEqual(
        [signedIn.status, signedIn.headers.get("refresh")],
        [200, "0; url=/dashboard/tokens"]
      )
      assert.match(
        signedIn.headers.get("set-cookie") ?? "",
        /^__Host-windhover=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure$/
      )
      assert.include(signedIn.text, `<a href="/dashboard/tokens">Continue</a>`)
      const account = yield* get("/dashboard/account", signedIn.cookie)
      assert.include(account.text, "at the identity provider")
      assert.deepStrictEqual(provider.requests.map(({ path }) => path), [
        "/.well-known/openid-configuration",
        "/authorize",
        "/token",
        "/jwks"
      ])
      const replayed = yield* get(path, cookie)
      assert.deepStrictEqual([replayed.status, replayed.cookie], [401, undefined])
      assert.include(replayed.text, "invalid_grant")
    }).pipe(Effect.scoped))

  it.live("works below a base path, whether a proxy strips it or not, and so does the sign-out", () =>
    Effect.gen(function*() {
      const provider = yield* openIdProvider
      const baseUrl = "http://windhover.example/a/push"
      const dashboard = yield* serveDashboard({ settings: { ...oidcSettings(provider), baseUrl } })
      const { get, send } = dashboard
      for (const prefix of ["", "/a/push"]) {
        assert.include((yield* get(`${prefix}/dashboard/sign-in`)).text, `href="/a/push${startPath}`)
        const { callback, cookie, started, target } = yield* begin(dashboard)
        assert.strictEqual(target.searchParams.get("redirect_uri"), `${baseUrl}${startPath}/callback`)
        assert.match(started.headers.get("set-cookie") ?? "", /^__Host-windhover-a-push-sign-in=[\w-]+; Path=\/; /)
        const path = `${callback.pathname.slice("/a/push".length - prefix.length)}${callback.search}`
        const signedIn = yield* get(path, cookie)
        assert.deepStrictEqual([signedIn.status, signedIn.headers.get("refresh")], [
          200,
          "0; url=/a/push/dashboard/tokens"
        ])
        assert.match(signedIn.headers.get("set-cookie") ?? "", /^__Host-windhover-a-push=[\w-]{43}; Path=\/; /)
        const session = signedIn.cookie ?? ""
        assert.strictEqual((yield* get(`${prefix}/dashboard`, session)).status, 200)
        const out = yield* send(session, `${prefix}/dashboard/sign-out`)
        assert.strictEqual(out.headers.get("location"), "/a/push/dashboard/sign-in")
        assert.match(out.headers.get("set-cookie") ?? "", /^__Host-windhover-a-push=; Path=\/; Max-Age=0/)
        assert.strictEqual((yield* get(`${prefix}/dashboard`, session)).status, 303)
      }
    }).pipe(Effect.scoped))

  it.live("reads the claim at the endpoint for claims, if the token has none", () =>
    Effect.gen(function*() {
      const provider = yield* openIdProvider
      provider.person.token = {}
      provider.person.endpoint = { nick: "admin" }
      const dashboard = yield* serveDashboard({ settings: { ...oidcSettings(provider), oidcClaim: "nick" } })
      assert.strictEqual((yield* signIn(dashboard)).status, 200)
      provider.person.endpoint = { nick: ["admin"] }
      const refused = yield* signIn(dashboard)
      assert.deepStrictEqual([refused.status, refused.cookie], [401, undefined])
      assert.include(refused.text, "no text in the claim &quot;nick&quot;")
    }).pipe(Effect.scoped))

  it.live("is for accounts that exist, with exactly this login", () =>
    Effect.gen(function*() {
      const provider = yield* openIdProvider
      const dashboard = yield* serveDashboard({ settings: oidcSettings(provider) })
      for (const login of ["carol", "Admin", "admin ", "(hub)", "<b>"]) {
        provider.person.token = { preferred_username: login }
        const refused = yield* signIn(dashboard)
        assert.deepStrictEqual([refused.status, refused.cookie], [401, undefined], login)
        assert.include(refused.text, "there is no account with this login", login)
        assert.notInclude(refused.text, "<b>")
      }
    }).pipe(Effect.scoped))

  it.live("sends the secret in the way that the provider names, or none", () =>
    Effect.gen(function*() {
      const provider = yield* openIdProvider
      const tokenRequest = () => provider.requests.findLast(({ path }) => path === "/token")
      assert.strictEqual((yield* signIn(yield* serveDashboard({ settings: oidcSettings(provider) }))).status, 200)
      assert.match(tokenRequest()?.authorization ?? "", /^Basic /)
      provider.faults.configuration = { token_endpoint_auth_methods_supported: ["client_secret_post"] }
      assert.strictEqual((yield* signIn(yield* serveDashboard({ settings: oidcSettings(provider) }))).status, 200)
      assert.include(tokenRequest()?.body, "client_secret=")
      assert.strictEqual(tokenRequest()?.authorization, undefined)
      const { oidcClientSecret: _, ...publicClient } = oidcSettings(provider)
      assert.strictEqual((yield* signIn(yield* serveDashboard({ settings: publicClient }))).status, 200)
      assert.notInclude(tokenRequest()?.body, "client_secret")
      const wrong = { ...oidcSettings(provider), oidcClientSecret: Redacted.make("wrong") }
      const refused = yield* signIn(yield* serveDashboard({ settings: wrong }))
      assert.strictEqual(refused.status, 401)
      assert.include(refused.text, "&quot;invalid_client&quot; (unknown &lt;client&gt;)")
      assert.include(refused.text, "WINDHOVER_OIDC_CLIENT_SECRET")
    }).pipe(Effect.scoped))

  it.live("tells that the provider cannot be reached, and works again when it can", () =>
    Effect.gen(function*() {
      const provider = yield* openIdProvider
      const dashboard = yield* serveDashboard({ settings: oidcSettings(provider) })
      provider.faults.configuration = { issuer: "http://127.0.0.1:1" }
      const wrong = yield* dashboard.get(startPath)
      assert.strictEqual(wrong.status, 401)
      assert.include(wrong.text, "not usable")
      provider.faults.configuration = {}
      provider.faults.padding = 2_000_000
      assert.include((yield* dashboard.get(startPath)).text, "more than 1048576 bytes")
      delete provider.faults.padding
      assert.strictEqual((yield* signIn(dashboard)).status, 200)
      const closed = yield* serveDashboard({
        settings: { ...oidcSettings(provider), oidcIssuer: "http://127.0.0.1:9" }
      })
      const unreachable = yield* closed.get(startPath)
      assert.deepStrictEqual([unreachable.status, unreachable.headers.get("retry-after")], [503, "10"])
      assert.include(unreachable.text, "The identity provider &quot;http://127.0.0.1:9&quot; cannot be reached")
      assert.notInclude(unreachable.text, "ECONNREFUSED")
    }).pipe(Effect.scoped))

  it.live("has no session while it is off", () =>
    Effect.gen(function*() {
      const { account, context, get } = yield* serveDashboard()
      const secret = "A".repeat(43)
      const sessions = yield* SessionStore.pipe(Effect.provideContext(context))
      const statusWith = Effect.fnUntraced(function*(credential: string) {
        const session = { accountId: account.id, credential, address: "", agent: "" }
        const { id } = yield* sessions.create(hash("sha256", secret, "buffer"), session)
        const { status } = yield* get("/dashboard/account", `__Host-windhover=${secret}`)
        yield* sessions.end(account.id, id)
        return status
      })
      const { id } = yield* AccountStore.use((store) =>
        store.createToken({ accountId: account.id, name: "", rights: ["list"] })
      ).pipe(Effect.map(({ token }) => token), Effect.provideContext(context))
      assert.strictEqual(yield* statusWith(`token:${id}`), 200)
      assert.strictEqual(yield* statusWith(nameOfIdentity("provider", account.id)), 303)
      assert.strictEqual(yield* statusWith(nameOfIdentity("proxy", account.id)), 303)
    }))

  it.live("ends its sessions with the account", () =>
    Effect.gen(function*() {
      const provider = yield* openIdProvider
      const settings = oidcSettings(provider)
      const dashboard = yield* serveDashboard({ settings })
      const { cookie } = yield* signIn(dashboard)
      assert.strictEqual((yield* dashboard.get("/dashboard", cookie)).status, 200)
      yield* AccountStore.use((store) => store.update(operator.login, { disabled: true })).pipe(
        Effect.provideContext(dashboard.context)
      )
      assert.strictEqual((yield* dashboard.get("/dashboard", cookie)).status, 303)
    }).pipe(Effect.scoped))

  it.live.skipIf(!available)(
    "leads a browser from the page to the provider, which is another site, and back",
    () =>
      Effect.gen(function*() {
        const provider = yield* openIdProvider
        const { url } = yield* serveDashboard({ settings: oidcSettings(provider) })
        const local = url.replace("127.0.0.1", "localhost")
        for (const javaScript of [true, false]) {
          const { errors, page } = yield* openTab(yield* browser, { javaScript, width: 360 })
          yield* Effect.promise(() => page.goto(`${local}/dashboard/tokens`))
          yield* checkAccessibility(page, javaScript)
          yield* Effect.promise(async () => {
            await page.getByRole("link", { name: /^Sign in at 127\.0\.0\.1:\d+$/ }).click()
            await page.waitForURL(`${local}/dashboard/tokens`)
            assert.strictEqual(await page.locator("h1").textContent(), "Tokens")
          })
          assert.deepStrictEqual(errors, [])
        }
      }).pipe(Effect.scoped)
  )
})
