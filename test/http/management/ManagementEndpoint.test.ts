import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Recovery } from "#actors/operations/Recovery.ts"
import { refuseThrottled } from "#domain/Refusal.ts"
import { basic, makeApi, makeManagementApi } from "#test/support/Api.ts"

const empty = Layer.mock(Recovery, { undelivered: () => Effect.succeed({ items: [] }) })

const get = { headers: basic() }

describe("ManagementEndpoint", () => {
  it.effect("answers JSON without headers for other sites, out of caches", () =>
    Effect.gen(function*() {
      const api = yield* makeManagementApi(empty)
      const answer = yield* api("GET", "/api/undelivered")
      assert.deepStrictEqual([answer.status, answer.json], [200, { undelivered: [] }])
      assert.deepStrictEqual(Object.fromEntries(answer.headers), {
        "cache-control": "no-store",
        "content-length": "18",
        "content-type": "application/json; charset=utf-8",
        "x-content-type-options": "nosniff"
      })
    }))

  it.effect("names what is wrong with a parameter, and a correct value", () =>
    Effect.gen(function*() {
      const api = yield* makeManagementApi(empty)
      const cases: ReadonlyArray<readonly [input: object, message: string]> = [
        [{ limit: "0" }, `limit has to be a whole number from 1 to 100; received "0".`],
        [{ limit: "101" }, `limit has to be a whole number from 1 to 100; received "101".`],
        [{ limit: "ten" }, `limit has to be a whole number from 1 to 100; received "ten".`],
        [{ limit: "1.5" }, `limit has to be a whole number from 1 to 100; received "1.5".`],
        [{ subscription: "-1" }, `subscription has to be a whole number from 1 on; received "-1".`],
        [{ subscription: "1e400" }, `subscription has to be a whole number from 1 on; received "1e400".`],
        [
          { color: "red" },
          `There is no parameter "color" here; known are subscription, topic, callback, limit, cursor.`
        ],
        [
          JSON.parse(`{"__proto__":"x"}`),
          `There is no parameter "__proto__" here; known are subscription, topic, callback, limit, cursor.`
        ],
        [{ topic: "t\0" }, "topic contains a NUL character; leave it out."],
        [
          { cursor: "abc" },
          `cursor is not one of this list: received "abc"; send \`next\` of the page before, or no cursor.`
        ]
      ]
      for (const [input, message] of cases) {
        const answer = yield* api("GET", "/api/undelivered", input)
        assert.deepStrictEqual([answer.status, answer.json], [422, { error: { code: "invalid_parameter", message } }])
      }
      const long = yield* api("GET", "/api/undelivered", { topic: "x".repeat(2049) })
      assert.match(long.json.error.message, /^topic has to be a URL of 1 to 2048 characters; received "xxx/)
    }))

  it.effect("answers an unknown path, method, login or right with a code and a sentence", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const answers = [
        [yield* api("/api/nothing", get), 404, "not_found", /^There is nothing at "\/api\/nothing"; \/openapi.json/],
        [yield* api("/api", get), 404, "not_found", /^There is nothing at "\/api"/],
        [yield* api("/api/undelivered", { ...get, method: "POST" }), 405, "method_not_allowed", /use GET or HEAD\.$/],
        [
          yield* api("/api/undelivered", { ...get, method: "OPTIONS" }),
          405,
          "method_not_allowed",
          /use GET or HEAD\.$/
        ],
        [yield* api("/api/undelivered"), 401, "unauthenticated", /^Please authenticate/],
        [yield* api("/api/undelivered", { headers: basic("guess") }), 401, "unauthenticated", /is wrong/],
        [yield* api("/api/undelivered", { headers: basic("publish") }), 403, "forbidden", /the right "list"/],
        [yield* api(`/api/undelivered?${"a=1&".repeat(1001)}`, get), 413, "too_large", /more than 1000 parameters/]
      ] as const
      for (const [answer, status, code, message] of answers) {
        const { error } = JSON.parse(answer.body)
        assert.deepStrictEqual([answer.status, error.code], [status, code])
        assert.match(error.message, message)
        assert.isNull(answer.headers.get("access-control-allow-origin"))
      }
      assert.strictEqual(answers[2][0].headers.get("allow"), "GET, HEAD")
      assert.strictEqual(answers[4][0].headers.get("www-authenticate"), `Basic realm="Windhover", charset="UTF-8"`)
    }))

  it.effect("accepts the parameter authorization, and a slash at the end", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({}, undefined, {}, undefined, empty)
      const authorization = encodeURIComponent(basic().authorization.replace("Basic ", ""))
      for (const path of ["/api/undelivered", "/api/undelivered/", "//api/undelivered"]) {
        assert.strictEqual((yield* api(`${path}?authorization=${authorization}`)).status, 200, path)
      }
    }))

  it.effect("tells the seconds to wait", () =>
    Effect.gen(function*() {
      const busy = Layer.mock(Recovery, { undelivered: () => Effect.fail(refuseThrottled("Too many.", 2.5)) })
      const answer = yield* (yield* makeManagementApi(busy))("GET", "/api/undelivered")
      assert.deepStrictEqual([answer.status, answer.headers.get("retry-after")], [429, "3"])
      assert.deepStrictEqual(answer.json, { error: { code: "too_many_requests", message: "Too many." } })
    }))

  it.effect("hides an unexpected failure", () =>
    Effect.gen(function*() {
      const broken = Layer.mock(Recovery, { undelivered: () => Effect.die(new Error("a secret")) })
      const answer = yield* (yield* makeManagementApi(broken))("GET", "/api/undelivered")
      assert.deepStrictEqual([answer.status, answer.json.error.code], [500, "internal"])
      assert.notInclude(answer.body, "secret")
    }))
})
