import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { basic, form, makeApi } from "#test/support/Api.ts"

const evil = "https://evil.example"

/** Headers of a form that a page of another site submits, over HTTPS and over plain HTTP. */
const forms: ReadonlyArray<Record<string, string>> = [
  { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", origin: evil },
  { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", origin: evil },
  { origin: evil },
  { origin: "null" }
]

const changes: ReadonlyArray<Record<string, string>> = [
  { "hub.mode": "subscribe", "hub.topic": "http://a.example/", "hub.callback": "http://c.example/" },
  { "hub.mode": "UNSUBSCRIBE", "hub.topic": "http://a.example/" },
  { "hub.mode": "publish", "hub.url": "http://a.example/" },
  { "hub.mode": "replay", "hub.topic": "http://a.example/", "hub.callback": "http://c.example/" }
]

/** A page of another site cannot use the credentials that a browser has stored. Unmocked operations of the hub would die. */
describe("pages of other sites", () => {
  it.effect("change nothing by a form", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      for (const headers of forms) {
        for (const change of changes) {
          const answer = yield* api("/", form(change, { ...basic(), ...headers }))
          assert.strictEqual(
            `${answer.status} ${answer.body}`,
            `403 A page of another site may not request hub.mode=${change["hub.mode"]} with stored credentials. `
              + "A script of that page has to send JSON with its own Authorization header, and a form the parameter authorization."
          )
        }
      }
    }))

  it.effect("change nothing by a link or an image", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const url = "/?hub.mode=replay&hub.topic=http://a.example/&hub.callback=http://c.example/"
      for (const mode of ["navigate", "no-cors"]) {
        const headers = { ...basic(), "sec-fetch-site": "cross-site", "sec-fetch-mode": mode }
        assert.strictEqual((yield* api(url, { headers })).status, 403)
      }
    }))

  it.effect("read nothing by JSONP", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const headers = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }
      for (const mode of ["list", "retrieve&hub.topic=http://a.example/", "authenticate"]) {
        const answer = yield* api(`/?hub.mode=${mode}&callback=steal`, { headers: { ...basic(), ...headers } })
        assert.match(answer.body, /^.*steal\(\{"error":\{"code":403,/)
      }
      const own = basic().authorization.replace("Basic ", "")
      const answer = yield* api(`/?hub.mode=authenticate&rights=true&callback=show&authorization=${own}`, { headers })
      assert.match(answer.body, /"subscribe":true/)
    }))

  it.effect("call the API with their own credentials: by scripts, by JSON and by the parameter", () =>
    Effect.gen(function*() {
      const published: Array<string> = []
      const api = yield* makeApi({
        publish: (topics) => Effect.sync(() => void published.push(...topics))
      })
      const change = { "hub.mode": "publish", "hub.url": "http://a.example/" }
      const json = { method: "POST", body: JSON.stringify(change) }
      const own = basic().authorization.replace("Basic ", "")
      const calls = [
        form(change, { ...basic(), origin: evil, "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors" }),
        { ...json, headers: { ...basic(), origin: evil, "content-type": "application/json" } },
        form({ ...change, authorization: own }, {
          origin: evil,
          "sec-fetch-site": "cross-site",
          "sec-fetch-mode": "navigate"
        }),
        form(change, { ...basic(), origin: "http://windhover.test", host: "windhover.test" }),
        form(change)
      ]
      for (const call of calls) assert.strictEqual((yield* api("/", call)).status, 204)
      assert.strictEqual(published.length, calls.length)
    }))

  it.effect("may use the open hub, which has no credentials to steal", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const answer = yield* api(
        "/hub",
        form({ "hub.mode": "none" }, { origin: evil, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" })
      )
      assert.strictEqual(answer.status, 422)
    }))
})
