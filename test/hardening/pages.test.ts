import { assert, describe, it } from "@effect/vitest"
import { load } from "cheerio"
import { Effect, Redacted } from "effect"
import { type Right, tokenRights } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { SessionStore } from "#domain/ports/SessionStore.ts"
import { available, browser, emptyPage, openTab } from "#test/support/Browser.ts"
import { operator, serveDashboard } from "#test/support/Dashboard.ts"
import { subscribe, wantedBy } from "#test/support/StoreFixture.ts"

const served = Effect.gen(function*() {
  const dashboard = yield* serveDashboard()
  const { account, context } = dashboard
  const addToken = (name: string, rights: ReadonlyArray<Right>) =>
    AccountStore.use((store) => store.createToken({ accountId: account.id, name, rights })).pipe(
      Effect.provideContext(context)
    )
  const tokens = AccountStore.use((store) => store.listTokens(account.id)).pipe(Effect.provideContext(context))
  return { ...dashboard, addToken, tokens }
})

/** Markup, a script, the colors of a terminal, and a text that runs backwards. */
const hostile = `"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\u001b[31m\u202e`

const elementsOf = (markup: string) => load(markup)("main *").toArray().map((node) => "name" in node ? node.name : "")

describe("stored texts of strangers", () => {
  it.live("are text on the pages: names, header fields, URLs, error texts", () =>
    Effect.gen(function*() {
      const { account, addToken, context, get, post, signIn, url } = yield* served
      const benign = yield* get("/dashboard/account", yield* signIn())
      const agent = yield* post("/dashboard/sign-in", { login: operator.login, secret: operator.password }, {
        "user-agent": `<img src=x onerror="window.hacked=1">`
      })
      const shown = yield* get("/dashboard/account", agent.cookie ?? "")
      assert.include(shown.text, "&lt;img src=x onerror=")
      assert.deepStrictEqual(
        new Set(elementsOf(shown.text)),
        new Set(elementsOf(benign.text)).add("form").add("input").add("button")
      )
      yield* addToken(hostile.slice(0, 60), ["list"])
      const tokens = yield* get("/dashboard/tokens", yield* signIn())
      assert.notInclude(elementsOf(tokens.text), "img")
      assert.notInclude(elementsOf(tokens.text), "script")
      const topic = `https://blog.example/feed?${encodeURIComponent("\u202e")}`
      yield* Effect.gen(function*() {
        const pings = yield* Pings
        const { resource } = yield* subscribe(wantedBy(account.id))
        yield* pings.record({ accountId: undefined, topic, canonical: resource.url, withContent: false }, 0)
        yield* pings.resolve(resource.id, Number.MAX_SAFE_INTEGER, { _tag: "Failed", code: 500, message: hostile })
      }).pipe(Effect.provideContext(context))
      const pings = yield* get(`/ping?${new URLSearchParams({ url: topic })}`)
      assert.include(pings.text, "⟨U+001B⟩[31m⟨U+202E⟩")
      assert.notInclude(elementsOf(pings.text), "img")
      const reflected = yield* get(`/dashboard/${encodeURIComponent(hostile)}?next=${encodeURIComponent(hostile)}`)
      assert.notInclude(elementsOf(reflected.text), "img")
      assert.isTrue(url.startsWith("http://127.0.0.1"))
    }))

  it.live("are text as the XMPP address of an account", () =>
    Effect.gen(function*() {
      const { context, get, signIn } = yield* served
      const jid = `alice@x.example/${hostile}`
      yield* AccountStore.use((store) => store.update(operator.login, { jid })).pipe(Effect.provideContext(context))
      const { text } = yield* get("/dashboard/account", yield* signIn())
      assert.include(text, "alice@x.example/&quot;&gt;&lt;img src=x onerror=")
      assert.include(text, "⟨U+001B⟩[31m⟨U+202E⟩")
      for (const element of ["img", "script"]) assert.notInclude(elementsOf(text), element)
    }))

  it.live.skipIf(!available)(
    "run nothing in a browser, and the policy has nothing to block",
    () =>
      Effect.gen(function*() {
        const { addToken, context, signIn, url } = yield* served
        yield* addToken(hostile.slice(0, 60), ["list"])
        yield* AccountStore.use((store) => store.update(operator.login, { jid: hostile })).pipe(
          Effect.provideContext(context)
        )
        const { errors, page } = yield* openTab(yield* browser, { cookie: { url, text: yield* signIn() } })
        for (const path of ["/dashboard/tokens", "/dashboard/account"]) {
          yield* Effect.promise(() => page.goto(`${url}${path}`))
          assert.include(yield* Effect.promise(() => page.locator("main").innerText()), "<script>window.hacked")
          assert.strictEqual(yield* Effect.promise(() => page.evaluate("typeof window.hacked")), "undefined")
        }
        assert.deepStrictEqual(errors, [])
      }).pipe(Effect.scoped)
  )
})

describe("forms of other sites", () => {
  it.live("change nothing, whatever header names the site", () =>
    Effect.gen(function*() {
      const { get, post, signIn, tokens } = yield* served
      const cookie = yield* signIn()
      const other = yield* signIn()
      const formToken =
        /name="form_token" value="([\w-]+)"/.exec((yield* get("/dashboard/tokens", cookie)).text)?.[1] ?? ""
      const otherToken =
        /name="form_token" value="([\w-]+)"/.exec((yield* get("/dashboard/tokens", other)).text)?.[1] ?? ""
      assert.notStrictEqual(formToken, otherToken)
      const fields = { name: "planted", right: "list", form_token: formToken }
      for (
        const headers of [
          { "sec-fetch-site": "cross-site" },
          { "sec-fetch-site": "same-site" },
          { origin: "https://evil.example" },
          { origin: "null" }
        ]
      ) {
        const answer = yield* post("/dashboard/tokens", fields, { cookie, ...headers })
        assert.strictEqual(answer.status, 403, JSON.stringify(headers))
      }
      for (const form_token of ["", "x", otherToken]) {
        assert.strictEqual((yield* post("/dashboard/tokens", { ...fields, form_token }, { cookie })).status, 403)
      }
      assert.deepStrictEqual(yield* tokens, [])
      const own = yield* post("/dashboard/tokens", fields, { cookie, "sec-fetch-site": "same-origin" })
      assert.strictEqual(own.status, 200)
      assert.strictEqual((yield* tokens).length, 1)
    }))

  it.live("sign nobody in", () =>
    Effect.gen(function*() {
      const { post } = yield* served
      const answer = yield* post("/dashboard/sign-in", { login: operator.login, secret: operator.password }, {
        origin: "https://evil.example"
      })
      assert.deepStrictEqual([answer.status, answer.cookie], [403, undefined])
    }))
})

describe("the session", () => {
  it.live("is made new at each sign-in, and a planted cookie is none", () =>
    Effect.gen(function*() {
      const { get, post, signIn } = yield* served
      const planted = `__Host-windhover=${"A".repeat(43)}`
      const answer = yield* post("/dashboard/sign-in", { login: operator.login, secret: operator.password }, {
        cookie: planted
      })
      assert.notStrictEqual(answer.cookie, planted)
      assert.strictEqual((yield* get("/dashboard", planted)).status, 303)
      const old = yield* signIn()
      const renewed = yield* post("/dashboard/sign-in", { login: operator.login, secret: operator.password }, {
        cookie: old
      })
      assert.strictEqual((yield* get("/dashboard", old)).status, 303)
      assert.strictEqual((yield* get("/dashboard", renewed.cookie)).status, 200)
      // a sibling domain can plant a cookie without the prefix, and a second one of the same name
      const secret = (yield* signIn()).split("=")[1] ?? ""
      assert.strictEqual((yield* get("/dashboard", `windhover=${secret}`)).status, 303)
      assert.strictEqual((yield* get("/dashboard", `__Host-windhover=${secret}; ${planted}`)).status, 303)
    }))

  it.live("is stored as a hash alone", () =>
    Effect.gen(function*() {
      const { account, context, signIn } = yield* served
      const secret = (yield* signIn()).split("=")[1] ?? ""
      const stored = yield* SessionStore.use((store) => store.list(account.id)).pipe(Effect.provideContext(context))
      assert.strictEqual(stored.length, 1)
      assert.notInclude(JSON.stringify(stored), secret)
    }))

  it.live("ends with its token, and with the password", () =>
    Effect.gen(function*() {
      const { account, addToken, context, get, send, signIn } = yield* served
      const { secret, token } = yield* addToken("laptop", ["list"])
      const byToken = yield* signIn(operator.login, Redacted.value(secret))
      const byPassword = yield* signIn()
      const own = yield* signIn()
      assert.strictEqual((yield* get("/dashboard", byToken)).status, 200)
      yield* AccountStore.use((store) => store.revokeToken(account.id, token.id)).pipe(Effect.provideContext(context))
      assert.strictEqual((yield* get("/dashboard", byToken)).status, 303)
      const wrong = yield* send(own, "/dashboard/account/password", {
        current: "wrong horse",
        password: "battery staple"
      })
      assert.strictEqual(wrong.status, 401)
      const changed = yield* send(own, "/dashboard/account/password", {
        current: operator.password,
        password: "battery staple"
      })
      assert.strictEqual(changed.status, 303)
      assert.strictEqual((yield* get("/dashboard", byPassword)).status, 303)
      assert.strictEqual((yield* get("/dashboard", changed.cookie)).status, 200)
    }))

  it.live("counts below /dashboard and /api, and nowhere on the API's own face", () =>
    Effect.gen(function*() {
      const { get, signIn, url } = yield* served
      const cookie = yield* signIn()
      for (
        const path of [
          "/?hub.mode=list",
          "/?hub.mode=list&callback=steal",
          "/hubbub?hub.mode=list",
          "/stream?hub.mode=retrieve"
        ]
      ) {
        const answer = yield* get(path, cookie)
        assert.isTrue(answer.status === 401 || answer.text.includes("\"code\":401"), path)
      }
      // an unknown parameter, so that no operation runs
      const api = (headers: Record<string, string>) =>
        Effect.promise(() =>
          fetch(`${url}/api/undelivered?x=1`, { headers: { cookie, ...headers } }).then(({ status }) => status)
        )
      assert.strictEqual(yield* api({}), 422)
      assert.strictEqual(yield* api({ "sec-fetch-site": "same-origin" }), 422)
      assert.strictEqual(yield* api({ "sec-fetch-site": "cross-site" }), 403)
      assert.strictEqual(yield* api({ origin: "https://evil.example" }), 403)
      assert.strictEqual(yield* api({ cookie: "" }), 401)
    }))

  it.live("leads to no other site after the sign-in", () =>
    Effect.gen(function*() {
      const { post } = yield* served
      for (
        const next of [
          "https://evil.example/",
          "//evil.example",
          "/dashboard//evil.example",
          "/dashboard\\evil",
          "/dashboardx",
          "/",
          "javascript:1"
        ]
      ) {
        const answer = yield* post("/dashboard/sign-in", { login: operator.login, secret: operator.password, next })
        assert.strictEqual(answer.headers.get("location"), "/dashboard", next)
      }
      const answer = yield* post("/dashboard/sign-in", {
        login: operator.login,
        secret: operator.password,
        next: "/dashboard/tokens?x=1"
      })
      assert.strictEqual(answer.headers.get("location"), "/dashboard/tokens?x=1")
    }))

  it.live("of a token has its rights alone, and makes no other tokens", () =>
    Effect.gen(function*() {
      const { addToken, get, send, signIn, tokens } = yield* served
      const { secret } = yield* addToken("reader", ["list"])
      const cookie = yield* signIn(operator.login, Redacted.value(secret))
      for (const path of ["/dashboard/hubs", "/dashboard/settings"]) {
        const answer = yield* get(path, cookie)
        assert.strictEqual(answer.status, 403)
        assert.include(answer.text, "needs the right <code>admin</code>")
      }
      assert.notInclude((yield* get("/dashboard", cookie)).text, "/dashboard/settings")
      assert.strictEqual((yield* send(cookie, "/dashboard/tokens", { name: "x", right: "list" })).status, 403)
      assert.strictEqual((yield* send(cookie, "/dashboard/tokens/revoke", { id: "1" })).status, 403)
      const changed = yield* send(cookie, "/dashboard/account/password", {
        current: Redacted.value(secret),
        password: "battery staple"
      })
      assert.strictEqual(changed.status, 403)
      assert.strictEqual((yield* tokens).length, 1)
    }))

  it.live("of a token ends no session of its account", () =>
    Effect.gen(function*() {
      const { account, addToken, context, get, send, signIn } = yield* served
      const { secret } = yield* addToken("stolen", tokenRights)
      const sessionsOf = SessionStore.use((store) => store.list(account.id)).pipe(Effect.provideContext(context))
      const owner = yield* signIn()
      const [session] = yield* sessionsOf
      const thief = yield* signIn(operator.login, Redacted.value(secret))
      assert.notInclude((yield* get("/dashboard/account", thief)).text, "end-session")
      const refused = yield* send(thief, "/dashboard/account/end-session", { id: String(session?.id) })
      assert.strictEqual(refused.status, 403)
      assert.include(refused.text, "sign in with the password")
      assert.strictEqual((yield* get("/dashboard", owner)).status, 200)
      const thiefs = (yield* sessionsOf).find(({ credential }) => credential.startsWith("token:"))
      yield* send(owner, "/dashboard/account/end-session", { id: String(thiefs?.id) })
      assert.strictEqual((yield* get("/dashboard", thief)).status, 303)
    }))

  it.live("over plain HTTP has a plain cookie, and the page says so", () =>
    Effect.gen(function*() {
      const { connect } = yield* Effect.map(served, ({ url }) => ({
        connect: (path: string, init: Record<string, string>, method = "GET", body = "") =>
          Effect.promise(() => rawRequest(new URL(url).port, path, init, method, body))
      }))
      const page = yield* connect("/dashboard/sign-in", { host: "windhover.lan" })
      assert.include(page, "This connection is not encrypted")
      const body = new URLSearchParams({ login: operator.login, secret: operator.password }).toString()
      const answer = yield* connect(
        "/dashboard/sign-in",
        {
          host: "windhover.lan",
          "content-type": "application/x-www-form-urlencoded",
          "content-length": String(body.length)
        },
        "POST",
        body
      )
      assert.match(answer, /set-cookie: windhover=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict\r/i)
    }))
})

/** `fetch` does not let a test choose the Host header. */
const rawRequest = async (
  port: string,
  path: string,
  headers: Record<string, string>,
  method: string,
  body: string
): Promise<string> => {
  const { connect } = await import("node:net")
  return new Promise((resolve, reject) => {
    let text = ""
    const lines = Object.entries({ ...headers, connection: "close" }).map(([name, value]) => `${name}: ${value}\r\n`)
    const socket = connect(
      Number(port),
      "127.0.0.1",
      () => socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`)
    )
    socket.setEncoding("utf8").on("data", (part: string) => text += part).on("end", () => resolve(text)).on(
      "error",
      reject
    )
  })
}

describe("a flood of logins", () => {
  it.live("is answered 429 before a password is checked, also with the right one", () =>
    Effect.gen(function*() {
      const { post } = yield* served
      const attempt = (secret: string) => post("/dashboard/sign-in", { login: operator.login, secret })
      for (let i = 0; i < 10; i++) assert.strictEqual((yield* attempt(`wrong ${i}`)).status, 401)
      const answer = yield* attempt(operator.password)
      assert.strictEqual(answer.status, 429)
      assert.isAbove(Number(answer.headers.get("retry-after")), 0)
      assert.strictEqual(answer.cookie, undefined)
    }))
})

describe("frames and caches", () => {
  it.live("get no page", () =>
    Effect.gen(function*() {
      const { get, signIn } = yield* served
      const cookie = yield* signIn()
      for (const path of ["/dashboard/sign-in", "/dashboard", "/dashboard/missing", "/docs", "/ping"]) {
        const { headers } = yield* get(path, cookie)
        const policy = headers.get("content-security-policy") ?? ""
        assert.include(policy, "default-src 'none'", path)
        assert.include(policy, "frame-ancestors 'none'")
        assert.include(policy, "require-trusted-types-for 'script'; trusted-types 'none'")
        assert.notInclude(policy, "script-src 'self'")
        assert.strictEqual(headers.get("x-frame-options"), "DENY")
        assert.strictEqual(headers.get("cache-control"), "no-store")
        assert.strictEqual(headers.get("access-control-allow-origin"), null)
      }
    }))

  it.live.skipIf(!available)("stay empty in a browser", () =>
    Effect.gen(function*() {
      const { url } = yield* served
      const { errors, page } = yield* openTab(yield* browser)
      const other = yield* emptyPage
      yield* Effect.promise(async () => {
        await page.goto(other)
        await page.evaluate(`new Promise((done) => {
          const frame = document.createElement("iframe")
          frame.onload = done
          frame.src = ${JSON.stringify(`${url}/dashboard/sign-in`)}
          document.body.append(frame)
        })`)
      })
      assert.isTrue(errors.some((error) => error.includes("frame-ancestors")), errors.join())
    }).pipe(Effect.scoped))
})
