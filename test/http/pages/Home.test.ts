import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { basic, makeApi } from "#test/support/Api.ts"
import { serveDashboard } from "#test/support/Dashboard.ts"

const html = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" }

describe("the home page", () => {
  it.effect("is for a browser without parameters, and every other request is one of the API", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const page = yield* api("/", { headers: html })
      assert.deepStrictEqual([page.status, page.headers.get("content-type")], [200, "text/html; charset=utf-8"])
      assert.strictEqual(page.headers.get("access-control-allow-origin"), null)
      const missing = "Please provide a hub.mode"
      for (
        const [url, headers, status, sentence] of [
          ["/", {}, 401, "Please authenticate"],
          ["/", { accept: "*/*" }, 401, "Please authenticate"],
          ["/", { accept: "application/json" }, 401, "Please authenticate"],
          ["/", { ...html, ...basic() }, 422, missing],
          ["/?hub.mode=list", html, 401, "Please authenticate"],
          ["/?authorization=YWxpY2U6d29uZGVy", html, 422, missing],
          ["/hubbub", html, 401, "Please authenticate"]
        ] as const
      ) {
        const answer = yield* api(url, { headers })
        assert.strictEqual(answer.status, status, url)
        assert.include(answer.body, sentence)
        assert.strictEqual(answer.headers.get("access-control-allow-origin"), "*")
      }
      assert.strictEqual((yield* api("/", { method: "POST", headers: html })).status, 401)
    }))

  it.live("names the address of the service, and pings a feed", () =>
    Effect.gen(function*() {
      const published = yield* Deferred.make<ReadonlyArray<string>>()
      const { get, post, url } = yield* serveDashboard({
        hub: { publish: (topics) => Effect.asVoid(Deferred.succeed(published, topics)) }
      })
      const home = yield* get("/")
      assert.strictEqual(home.status, 401)
      const page = yield* Effect.promise(() => fetch(url, { headers: html }).then((answer) => answer.text()))
      assert.include(page, `curl -u LOGIN:TOKEN http://localhost:${new URL(url).port}/ -d hub.mode=subscribe`)
      assert.include(page, "The first start of the service printed the operator's login and token")
      const answer = yield* post("/ping", { url: "HTTPS://Blog.example/feed" })
      assert.deepStrictEqual([answer.status, answer.headers.get("location")], [
        303,
        "/ping?url=https%3A%2F%2Fblog.example%2Ffeed"
      ])
      assert.deepStrictEqual(yield* Deferred.await(published), ["https://blog.example/feed"])
      const bad = yield* post("/ping", { url: "blog" })
      assert.strictEqual(bad.status, 422)
      assert.include(bad.text, `value="blog"`)
    }))

  it.live("offers no ping while the open hub is off", () =>
    Effect.gen(function*() {
      const { get, post, url } = yield* serveDashboard({ settings: { hubOpen: false } })
      const page = yield* Effect.promise(() => fetch(url, { headers: html }).then((answer) => answer.text()))
      assert.notInclude(page, "/ping")
      assert.strictEqual((yield* get("/ping")).status, 503)
      assert.strictEqual((yield* post("/ping", { url: "https://blog.example/feed" })).status, 503)
    }))
})
