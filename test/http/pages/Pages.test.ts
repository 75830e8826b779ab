import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { available, browser, checkAccessibility, openTab, picture, widths } from "#test/support/Browser.ts"
import { operator, serveDashboard } from "#test/support/Dashboard.ts"
import { checkNothingReported, reportOnly } from "#test/support/ReportOnly.ts"

describe("the pages", () => {
  it.live("sign in with a password, lead back to the page, and sign out", () =>
    Effect.gen(function*() {
      const { get, post, send } = yield* serveDashboard()
      const sent = yield* get("/dashboard?x=1")
      assert.deepStrictEqual([sent.status, sent.headers.get("location")], [303, "/dashboard/sign-in"])
      const answer = yield* post("/dashboard/sign-in", { login: operator.login, secret: operator.password })
      assert.deepStrictEqual([answer.status, answer.headers.get("location")], [303, "/dashboard"])
      assert.match(
        answer.headers.get("set-cookie") ?? "",
        /^__Host-windhover=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure$/
      )
      const cookie = answer.cookie ?? ""
      const page = yield* get("/dashboard", cookie)
      assert.strictEqual(page.status, 200)
      assert.include(page.text, "<h1>Overview</h1>")
      const out = yield* send(cookie, "/dashboard/sign-out")
      assert.deepStrictEqual([out.status, out.headers.get("location")], [303, "/dashboard/sign-in"])
      assert.strictEqual((yield* get("/dashboard", cookie)).status, 303)
    }))

  it.live("lead back to pages of the dashboard alone", () =>
    Effect.gen(function*() {
      const { post } = yield* serveDashboard()
      const leadsTo = (next: string) =>
        Effect.map(
          post("/dashboard/sign-in", { login: operator.login, secret: operator.password, next }),
          ({ headers, status }) => [status, headers.get("location")]
        )
      assert.deepStrictEqual(yield* leadsTo("/dashboard/tokens?x=%20"), [303, "/dashboard/tokens?x=%20"])
      for (const next of ["/dashboard?世", "//b.example", "/dashboard//b.example", "/dashboard\\b", "/dashboard/\n"]) {
        assert.deepStrictEqual(yield* leadsTo(next), [303, "/dashboard"], next)
      }
    }))

  it.live("read a path of slashes once", () =>
    Effect.gen(function*() {
      const { get } = yield* serveDashboard()
      yield* get("/docs")
      const started = performance.now()
      assert.strictEqual((yield* get(`/docs/${"/".repeat(30_000)}x`)).status, 404)
      assert.isBelow(performance.now() - started, 500)
    }))

  it.live("answer a wrong password with the form, its login and the reason", () =>
    Effect.gen(function*() {
      const { post } = yield* serveDashboard()
      const answer = yield* post("/dashboard/sign-in", { login: "admin", secret: "<wrong>", next: "/dashboard/tokens" })
      assert.deepStrictEqual([answer.status, answer.headers.get("www-authenticate")], [401, null])
      assert.include(answer.text, "The login, token or password is wrong. An operator can set a new password.")
      assert.include(answer.text, `value="admin"`)
      assert.include(answer.text, `name="next" value="/dashboard/tokens"`)
      assert.notInclude(answer.text, "wrong&gt;")
      assert.strictEqual(answer.cookie, undefined)
    }))

  it.live("have an own error page", () =>
    Effect.gen(function*() {
      const { get, post, signIn } = yield* serveDashboard()
      const cookie = yield* signIn()
      const missing = yield* get("/dashboard/<x>", cookie)
      assert.deepStrictEqual([missing.status, missing.headers.get("content-type")], [404, "text/html; charset=utf-8"])
      const wrong = yield* post("/dashboard", {}, { cookie })
      assert.deepStrictEqual([wrong.status, wrong.headers.get("allow")], [405, "GET, HEAD"])
    }))

  it.live("have assets that a browser keeps, compressed", () =>
    Effect.gen(function*() {
      const { get } = yield* serveDashboard()
      const { text } = yield* get("/dashboard/sign-in")
      const paths = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = ""]) => path)
      assert.deepStrictEqual(paths.map((path) => path.replace(/\.[\w-]{16}\./, ".")), [
        "/assets/icon.svg",
        "/assets/dashboard.css",
        "/assets/copy-text.js",
        "/assets/time-ago.js"
      ])
      for (const path of paths) {
        const { headers, status, text } = yield* get(path)
        assert.strictEqual(status, 200)
        assert.strictEqual(headers.get("cache-control"), "public, max-age=31536000, immutable")
        assert.include(["br", "gzip"], headers.get("content-encoding"))
        if (path.endsWith(".css")) assert.isAtMost(Buffer.byteLength(text), 12 * 1024)
        if (path.endsWith(".js")) assert.notMatch(text, /: (void|string|HTMLElement)\b/)
      }
      assert.strictEqual((yield* get("/assets/dashboard.0000000000000000.css")).status, 404)
    }))
})

/** Pages of a signed-in operator, and the public ones. */
const paths = [
  "/",
  "/ping?url=https://blog.example/feed",
  "/docs",
  "/docs/webhooks",
  "/docs/reference",
  "/dashboard/sign-in",
  "/dashboard",
  "/dashboard/tokens",
  "/dashboard/account",
  "/dashboard/accounts",
  "/dashboard/accounts/bob/delete",
  "/dashboard/runners",
  "/dashboard/hubs",
  "/dashboard/settings",
  "/dashboard/missing"
]

describe.skipIf(!available)("the pages in a browser", () => {
  it.live("are accessible: in light at 1280 pixels, and in dark at 360", () =>
    Effect.gen(function*() {
      const { get, send, signIn, url } = yield* serveDashboard()
      const cookie = yield* signIn()
      yield* send(cookie, "/dashboard/tokens", [["name", "backup script"], ["right", "list"], ["right", "retrieve"]])
      const revoke = /\/dashboard\/tokens\/\d+\/revoke/.exec((yield* get("/dashboard/tokens", cookie)).text)?.[0] ?? ""
      const warning = yield* get(revoke, cookie)
      assert.match(warning.text, /backup script<\/bdi>: list, retrieve[\s\S]*The token cannot be restored\./)
      const chromium = yield* browser
      for (const [dark, width] of [[false, widths[0]], [true, widths[1]]] as const) {
        const { errors, page } = yield* openTab(chromium, { dark, width, cookie: { url, text: cookie } })
        for (const path of [revoke, ...paths]) {
          yield* Effect.promise(() => page.goto(`${url}${path}`))
          yield* checkAccessibility(page)
          yield* picture(page, `${path === "/" ? "home" : path.slice(1).replace(/\W+/g, "-")}-${width}`)
        }
        assert.deepStrictEqual(errors, [
          "Failed to load resource: the server responded with a status of 404 (Not Found)"
        ])
      }
    }).pipe(Effect.scoped))

  it.live("violate no part of their policy, with JavaScript and without", () =>
    Effect.gen(function*() {
      const { signIn, url } = yield* serveDashboard()
      const proxy = yield* reportOnly(url)
      const chromium = yield* browser
      for (const javaScript of [true, false]) {
        const cookie = { url: proxy.url, text: yield* signIn() }
        const { page } = yield* openTab(chromium, { javaScript, cookie })
        for (const path of paths) {
          const response = yield* Effect.promise(() => page.goto(`${proxy.url}${path}`))
          assert.include(response?.headers()["content-security-policy-report-only"], "report-uri", path)
          if (!javaScript) yield* checkAccessibility(page, false)
        }
        yield* checkNothingReported(page, proxy)
      }
    }).pipe(Effect.scoped))

  it.live("run an example of the reference at the first click", () =>
    Effect.gen(function*() {
      const { signIn, url } = yield* serveDashboard()
      const { errors, page } = yield* openTab(yield* browser, { cookie: { url, text: yield* signIn() } })
      yield* Effect.promise(async () => {
        await page.goto(`${url}/docs/reference`)
        const operation = page.locator("details.operation", { has: page.locator("code", { hasText: /^\/readyz$/ }) })
        await operation.locator("summary").click()
        await operation.getByRole("button", { name: "Run" }).click()
        await operation.locator("output pre").waitFor()
        assert.strictEqual(await operation.locator("output").textContent(), "200 OKok")
        const list = page.locator("details.operation", { hasText: "hub.mode=authenticate" })
        await list.locator("summary").click()
        await list.getByRole("button", { name: "Run" }).click()
        assert.strictEqual(await list.locator("output").textContent(), "Enter a login and a token above first.")
        await page.fill("#field-login", operator.login)
        await page.fill("#field-token", operator.password)
        await list.getByRole("button", { name: "Run" }).click()
        await list.locator("output pre").waitFor()
        assert.strictEqual(await list.locator("output").textContent(), "204 No Content(no body)")
      })
      assert.deepStrictEqual(errors, [])
    }).pipe(Effect.scoped))

  it.live("sign in with the keyboard alone, and without JavaScript", () =>
    Effect.gen(function*() {
      const { url } = yield* serveDashboard()
      const chromium = yield* browser
      for (const javaScript of [true, false]) {
        const { errors, page } = yield* openTab(chromium, { javaScript, width: 360 })
        yield* Effect.promise(async () => {
          await page.goto(`${url}/dashboard`)
          await page.waitForSelector("input[name=login]:focus")
          await page.keyboard.type(operator.login)
          await page.keyboard.press("Tab")
          await page.keyboard.type(operator.password)
          await page.keyboard.press("Enter")
          await page.waitForURL(`${url}/dashboard`)
          assert.strictEqual(await page.locator("h1").textContent(), "Overview")
        })
        assert.deepStrictEqual(errors, [])
      }
    }).pipe(Effect.scoped))
})
