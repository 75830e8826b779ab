import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Recovery } from "#actors/operations/Recovery.ts"
import { type ControlRequest, SubscriptionControl } from "#actors/operations/SubscriptionControl.ts"
import { refuseThrottled } from "#domain/Refusal.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { basic, makeApi, makeManagementApi, management } from "#test/support/Api.ts"

/** The services of the management API with this recovery. */
const withRecovery = (recovery: Partial<Recovery["Service"]>) => Layer.merge(management, Layer.mock(Recovery, recovery))

const empty = withRecovery({ undelivered: () => Effect.succeed({ items: [] }) })

const subscription: Subscription = {
  id: 7,
  accountId: 1,
  resourceId: 1,
  topic: "http://a.example/",
  channel: "webhook",
  endpoint: "http://b.example/",
  host: "b.example",
  face: "api",
  state: "active",
  createdAt: 0
}

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

  it.effect("takes a POST as one JSON object", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const json = { ...basic(), "content-type": "application/json" }
      const post = (body: string, headers: Record<string, string> = json, query = "") =>
        Effect.map(api(`/api/recover${query}`, { method: "POST", body, headers }), ({ body, status }) => {
          const { error } = JSON.parse(body)
          return [status, error.code, error.message]
        })
      const known = "known are subscription, topic, callback, since"
      const cases = [
        [yield* post("{"), 400, "malformed", `The body is not valid JSON: it starts with "{".`],
        [yield* post("[1]"), 400, "malformed", `The body has to be a JSON object of parameters; received "[1]".`],
        [
          yield* post("a=b", { ...basic(), "content-type": "application/x-www-form-urlencoded" }),
          415,
          "unsupported_body",
          `The body has the Content-Type "application/x-www-form-urlencoded"; send a JSON object as application/json.`
        ],
        [
          yield* post("{}", { ...json, "content-encoding": "gzip" }),
          415,
          "unsupported_body",
          `The body has the Content-Encoding "gzip"; send it uncompressed.`
        ],
        [
          yield* post("{}", json, "?subscription=1"),
          422,
          "invalid_parameter",
          `"subscription" is in the query; POST takes its parameters as a JSON object in the body.`
        ],
        [
          yield* post(`{"subscription":"7"}`),
          422,
          "invalid_parameter",
          `subscription has to be a whole number from 1 on; received "7".`
        ],
        [
          yield* post(`{"subscription":9007199254740993}`),
          422,
          "invalid_parameter",
          `subscription has to be a whole number from 1 on; received "9007199254740993".`
        ],
        [
          yield* post(`{"since":"yesterday"}`),
          422,
          "invalid_parameter",
          `since has to be a sequence from 1 on, or a time such as 2026-01-31T09:30:00Z; received "yesterday".`
        ],
        [
          yield* post(`{"since":0}`),
          422,
          "invalid_parameter",
          "since has to be a sequence from 1 on, or a time such as 2026-01-31T09:30:00Z; received 0."
        ],
        [yield* post(`{"color":{"a":[]}}`), 422, "invalid_parameter", `There is no parameter "color" here; ${known}.`],
        [
          yield* post(`{"topic":"\\u0000"}`),
          422,
          "invalid_parameter",
          "topic contains NUL or half of a surrogate pair; leave it out."
        ],
        [
          yield* post(`{"topic":"\\ud800"}`),
          422,
          "invalid_parameter",
          "topic contains NUL or half of a surrogate pair; leave it out."
        ],
        [
          yield* post(`{"topic":"${"x".repeat(1_100_000)}"}`, { ...json, "content-length": "1100012" }),
          413,
          "too_large",
          "The body of the request has more than 1048576 bytes; send less."
        ]
      ] as const
      for (const [answer, ...expected] of cases) assert.deepStrictEqual(answer, expected)
      const list = "sequences has to be a list of 1 to 100 whole numbers from 1 on"
      const resend = (body: string) =>
        Effect.map(api("/api/resend", { method: "POST", body, headers: json }), ({ body }) =>
          JSON.parse(body).error.message)
      assert.strictEqual(yield* resend(`{"sequences":[]}`), `${list}; received [].`)
      assert.strictEqual(yield* resend(`{"sequences":[1,"x"]}`), `${list}; received "x" as sequences[1].`)
      assert.strictEqual(yield* resend(`{"sequences":7}`), `${list}; received 7.`)
    }))

  it.effect("sends nothing for a page of another site that uses stored credentials", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      for (const origin of ["https://evil.example", "null"]) {
        const answer = yield* api("/api/recover", { method: "POST", headers: { ...basic(), origin }, body: "{}" })
        assert.deepStrictEqual([answer.status, JSON.parse(answer.body).error.code], [403, "cross_site"])
      }
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
      const busy = withRecovery({ undelivered: () => Effect.fail(refuseThrottled("Too many.", 2.5)) })
      const answer = yield* (yield* makeManagementApi(busy))("GET", "/api/undelivered")
      assert.deepStrictEqual([answer.status, answer.headers.get("retry-after")], [429, "3"])
      assert.deepStrictEqual(answer.json, { error: { code: "too_many_requests", message: "Too many." } })
    }))

  it.effect("hides an unexpected failure", () =>
    Effect.gen(function*() {
      const broken = withRecovery({ undelivered: () => Effect.die(new Error("a secret")) })
      const answer = yield* (yield* makeManagementApi(broken))("GET", "/api/undelivered")
      assert.deepStrictEqual([answer.status, answer.json.error.code], [500, "internal"])
      assert.notInclude(answer.body, "secret")
    }))

  it.effect("pauses and resumes a subscription by its id, or by topic and callback", () =>
    Effect.gen(function*() {
      const seen: Array<object> = []
      const answer = (state: "active" | "paused") => ({ caller: _, ...name }: ControlRequest) =>
        Effect.sync(() => {
          seen.push(name)
          return { ...subscription, state }
        })
      const control = Layer.mock(SubscriptionControl, { pause: answer("paused"), resume: answer("active") })
      const api = yield* makeManagementApi(Layer.merge(management, control))
      const paused = yield* api("POST", "/api/pause", { subscription: 7 })
      assert.deepStrictEqual([paused.status, paused.json], [200, { subscription: 7, state: "paused" }])
      const name = { topic: "http://a.example/", callback: "http://b.example/" }
      const resumed = yield* api("POST", "/api/resume", name)
      assert.deepStrictEqual([resumed.status, resumed.json], [200, { subscription: 7, state: "active" }])
      assert.deepStrictEqual(seen, [{ subscription: 7 }, name])
      const wrong = yield* api("POST", "/api/resume", { subscription: "x" })
      assert.deepStrictEqual([wrong.status, wrong.json.error.code], [422, "invalid_parameter"])
    }))

  it.effect("replaces the labels of a subscription, at most twenty", () =>
    Effect.gen(function*() {
      const control = Layer.mock(SubscriptionControl, {
        setLabels: ({ labels }) => Effect.succeed({ ...subscription, labels })
      })
      const api = yield* makeManagementApi(Layer.merge(management, control))
      const answer = yield* api("POST", "/api/labels", { subscription: 7, labels: ["News"] })
      assert.deepStrictEqual([answer.status, answer.json], [200, { subscription: 7, labels: ["News"] }])
      const labels = Array.from({ length: 21 }, (_, i) => `l${i}`)
      const many = yield* api("POST", "/api/labels", { subscription: 7, labels })
      assert.strictEqual(many.status, 422)
      assert.match(many.json.error.message, /^labels has to be a list of at most 20 labels; received /)
    }))
})
