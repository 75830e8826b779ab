import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { badParameter } from "#domain/Refusal.ts"
import { basic, form, makeApi } from "#test/support/Api.ts"
import { serveRoutes } from "#test/support/RoutesServer.ts"

const get = { headers: basic() }

const forged = "x\r\nX-Forged: 1\r\n\r\n<script>alert(1)</script>"

describe("header injection", () => {
  it.live("no parameter reaches a header of the response", () =>
    Effect.gen(function*() {
      const { connect } = yield* serveRoutes({ list: () => Effect.fail(badParameter("page", "Refused.")) })
      for (const name of ["hub.mode", "format", "page", "by_page", "callback", "hub.verify", "authorization", "x"]) {
        const connection = yield* connect
        const query = new URLSearchParams({ "hub.mode": "list", [name]: forged })
        yield* connection.send(
          `GET /?${query} HTTP/1.1\r\nHost: a\r\nAuthorization: ${basic().authorization}\r\n\r\n`
        )
        const { body, headers } = yield* connection.receive()
        assert.isFalse(headers.has("x-forged"), name)
        assert.strictEqual(headers.get("content-type"), "text/plain; charset=utf-8", name)
        assert.strictEqual(headers.get("x-content-type-options"), "nosniff", name)
        assert.isFalse(/[\r\n]/.test(body), name)
      }
    }))

  it.live("an invalid Content-Type of a watched document reaches no header", () =>
    Effect.gen(function*() {
      const document = { contentType: "text/html\r\nX-Forged: 1", body: new Uint8Array([60]) }
      const { connect } = yield* serveRoutes({
        retrieve: () => Effect.succeed({ status: { feed: "http://a/" }, entries: [], document })
      })
      const connection = yield* connect
      yield* connection.send(
        `GET /?hub.mode=retrieve&hub.topic=http://a/ HTTP/1.1\r\nHost: a\r\nAuthorization: ${basic().authorization}\r\n\r\n`
      )
      const { headers, status } = yield* connection.receive()
      assert.strictEqual(status, 200)
      assert.isFalse(headers.has("x-forged"))
      assert.strictEqual(headers.get("content-type"), "application/octet-stream")
    }))
})

describe("script injection", () => {
  it.effect.each([
    "alert(1)//",
    "f;alert(1)",
    "f</script><script>alert(1)</script>",
    "f\u2028alert",
    "f%00",
    "f[alert(1)]",
    "f[\"a\"]",
    "eval`1`",
    "\u0430lert"
  ])("%j is not a function name", (name) =>
    Effect.gen(function*() {
      const api = yield* makeApi({ list: () => Effect.succeed({ items: [], total: 0 }) })
      const answer = yield* api(`/?${new URLSearchParams({ "hub.mode": "list", callback: name })}`, get)
      assert.strictEqual(answer.status, 422)
      assert.strictEqual(answer.headers.get("content-type"), "text/plain; charset=utf-8")
    }))

  it.effect("an attacker's text stays a string inside the script", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const answer = yield* api(
        `/?${new URLSearchParams({ "hub.mode": "\"});alert(1);//\u2028", callback: "f" })}`,
        get
      )
      assert.strictEqual(answer.status, 200)
      const shown = JSON.parse(answer.body.slice(2, -1))
      assert.strictEqual(shown.error.code, 422)
      assert.isFalse(answer.body.includes("\u2028"))
      assert.isTrue(answer.body.startsWith("f({\"error\":{"))
    }))

  it.effect("a POST never gets a script, because a form on another site could request one", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const answer = yield* api("/?callback=f", form({ "hub.mode": "dance" }))
      assert.strictEqual(answer.status, 422)
      assert.strictEqual(answer.headers.get("content-type"), "text/plain; charset=utf-8")
    }))
})

describe("prototype pollution", () => {
  const names = [
    "__proto__[polluted]",
    "__proto__.polluted",
    "constructor[prototype][polluted]",
    "hub.mode[__proto__][polluted]",
    "hub[__proto__][polluted]",
    "a[constructor][prototype][polluted]"
  ]

  it.effect("names of Object.prototype are ordinary names", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      for (const name of names) {
        assert.strictEqual((yield* api("/", form({ "hub.mode": "authenticate", [name]: "1" }))).status, 204)
      }
      const json = {
        method: "POST",
        headers: { ...basic(), "content-type": "application/json" },
        body:
          "{\"__proto__\":{\"polluted\":1,\"hub.mode\":\"list\"},\"constructor\":{\"prototype\":{\"polluted\":1}},\"hub.mode\":\"authenticate\"}"
      }
      assert.strictEqual((yield* api("/", json)).status, 204)
      assert.isUndefined(({} as { polluted?: unknown }).polluted)
    }))

  it.effect("names of Object.prototype are no modes", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      for (const mode of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
        const answer = yield* api("/", form({ "hub.mode": mode }))
        assert.match(answer.body, new RegExp(`^${mode} is not a supported mode`))
      }
    }))
})
