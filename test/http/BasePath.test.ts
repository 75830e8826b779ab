import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { basePathOf, withBasePath, withoutBasePath } from "#http/BasePath.ts"
import { operator, serveDashboard } from "#test/support/Dashboard.ts"
import { available, browser, openTab } from "#test/support/Browser.ts"

const settings = { baseUrl: "http://windhover.example/a/push" }

describe("the base path", () => {
  it("is the path of the base URL", () => {
    assert.strictEqual(basePathOf("https://push.example"), "")
    assert.strictEqual(basePathOf("https://push.example/a/push"), "/a/push")
  })

  it("leaves the URL of a request, whole parts alone", () => {
    for (
      const [url, rest] of [
        ["/push", "/"],
        ["/push/", "/"],
        ["/push//stream", "//stream"],
        ["/push?hub.mode=list", "/?hub.mode=list"],
        ["/push&hub.mode=list", "/&hub.mode=list"],
        ["/push/dashboard?a=1", "/dashboard?a=1"],
        ["/dashboard", "/dashboard"],
        ["/pushed/dashboard", "/pushed/dashboard"],
        ["/x/push/", "/x/push/"]
      ] as const
    ) {
      assert.strictEqual(withoutBasePath(url, "/push"), rest)
    }
  })

  it("comes in front of own paths, and of no others", () => {
    const markup =
      `<a href="/docs" class="/x"><form action="/">"/docs" <a href="//evil"> <a href="https://a.example/"> <a href="#/x">`
    assert.strictEqual(
      withBasePath(markup, "/push"),
      `<a href="/push/docs" class="/x"><form action="/push/">"/docs" <a href="//evil"> <a href="https://a.example/"> <a href="#/x">`
    )
    assert.strictEqual(withBasePath(markup, ""), markup)
  })

  it.live("is part of links, assets, forms, redirects and the cookie's name, whether a proxy strips it or not", () =>
    Effect.gen(function*() {
      const { get, post, url } = yield* serveDashboard({ settings })
      for (const prefix of ["", "/a/push"]) {
        const visitor = yield* get(`${prefix}/dashboard/account?x=1`)
        assert.strictEqual(
          visitor.headers.get("location"),
          "/a/push/dashboard/sign-in?next=%2Fdashboard%2Faccount%3Fx%3D1"
        )
        const signedIn = yield* post(`${prefix}/dashboard/sign-in`, {
          login: operator.login,
          secret: operator.password,
          next: "/dashboard/account"
        })
        assert.strictEqual(signedIn.headers.get("location"), "/a/push/dashboard/account")
        assert.match(signedIn.headers.getSetCookie()[0] ?? "", /^__Host-windhover-a-push=[^;]+; Path=\/; /)
        const { text } = yield* get(`${prefix}/dashboard/account`, signedIn.cookie)
        const paths = [...text.matchAll(/ (?:href|src|action)="(\/[^"]*)"/g)].map(([, path = ""]) => path)
        assert.isAbove(paths.length, 15)
        for (const path of paths) assert.match(path, /^\/a\/push\//)
        const asset = paths.find((path) => path.endsWith(".css")) ?? ""
        assert.strictEqual((yield* get(asset)).status, 200)
        assert.strictEqual((yield* get(asset.slice("/a/push".length))).status, 200)
        const api = yield* get(`${prefix}/openapi.json`)
        assert.deepStrictEqual(JSON.parse(api.text).servers, [{ url: settings.baseUrl }])
        const home = yield* Effect.promise(() => fetch(`${url}${prefix || "/"}`, { headers: { accept: "text/html" } }))
        assert.strictEqual(home.status, 200)
        assert.include(yield* Effect.promise(() => home.text()), `curl -u LOGIN:TOKEN ${settings.baseUrl}/ -d`)
      }
    }))
})

describe.skipIf(!available)("the dashboard below a path", () => {
  it.live("works in a browser: sign-in, live events and notices", () =>
    Effect.gen(function*() {
      const { url } = yield* serveDashboard({ settings })
      const { errors, page } = yield* openTab(yield* browser)
      const base = `${url}/a/push/dashboard`
      yield* Effect.promise(async () => {
        await page.goto(base)
        await page.fill("input[name=login]", operator.login)
        await page.fill("input[name=secret]", operator.password)
        await page.keyboard.press("Enter")
        await page.waitForSelector("h1:text-is('Overview')")
        assert.strictEqual(page.url(), base)
        await page.waitForSelector(".live-state:text-is('Live')")
        await page.click("nav a:text-is('Account')")
        await page.waitForSelector("h1:text-is('Account')")
        assert.strictEqual(page.url(), `${base}/account`)
        await page.click("button:text-is('Sign out')")
        await page.waitForURL(`${base}/sign-in`)
      })
      assert.deepStrictEqual(errors, [])
    }).pipe(Effect.scoped))
})
