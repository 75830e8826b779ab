import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { ServerResponse } from "node:http"
import { HubClient } from "#domain/ports/HubClient.ts"
import { type AddressGuard, anyAddress } from "#layers/outbound/AddressGuard.ts"
import * as HubClientHttp from "#layers/outbound/HubClientHttp.ts"
import * as Network from "#layers/outbound/Network.ts"
import * as Settings from "#layers/Settings.ts"
import { authority } from "#test/support/Certificates.ts"
import { serve, serveTls } from "#test/support/Servers.ts"

/** 127.0.0.2 plays a private address. */
const guard: AddressGuard = {
  ...anyAddress,
  explainAddress: (address) => address === "127.0.0.2" ? "a private address" : undefined
}

const baseUrl = "http://windhover.example/push"

const ca = authority()

const client = HubClientHttp.layer.pipe(
  Layer.provide(Network.layerWith({ allowPrivate: true, baseUrl, guard, ca: ca.ca })),
  Layer.provide(Settings.layerValues({ baseUrl }))
)

const question = (hub: string) => ({
  hub,
  mode: "subscribe" as const,
  topic: "http://feeds.example/ä?a=1&b=2",
  callback: "c".repeat(32),
  secret: "s&cret",
  leaseSeconds: 86_400
})

const ask = (hub: string, mode: "subscribe" | "unsubscribe" = "subscribe") =>
  HubClient.use((it) => it.send({ ...question(hub), mode })).pipe(
    Effect.match({ onSuccess: () => "taken", onFailure: ({ message }) => message })
  )

const redirect = (response: ServerResponse, status: number, location: string) =>
  void response.writeHead(status, { location }).end()

const live = (name: string, body: Effect.Effect<unknown, unknown, HubClient>) =>
  it.live(name, () => Effect.provide(body, client))

describe("HubClientHttp", () => {
  live(
    "posts a form with the callback below the base URL",
    Effect.scoped(Effect.gen(function*() {
      const server = yield* serve((_, response) => void response.writeHead(202).end())
      assert.strictEqual(yield* ask(`${server.url}/hub?x=1`), "taken")
      assert.strictEqual(yield* ask(`${server.url}/hub`, "unsubscribe"), "taken")
      const [subscribe, unsubscribe] = server.seen
      if (subscribe === undefined) return assert.fail("nothing came")
      assert.strictEqual(subscribe.path, "/hub?x=1")
      assert.strictEqual(subscribe.headers["content-type"], "application/x-www-form-urlencoded")
      assert.deepStrictEqual(Object.fromEntries(new URLSearchParams(subscribe.body.toString())), {
        "hub.mode": "subscribe",
        "hub.topic": "http://feeds.example/ä?a=1&b=2",
        "hub.callback": `http://windhover.example/push/upstream/${"c".repeat(32)}`,
        "hub.verify": "async",
        "hub.lease_seconds": "86400",
        "hub.secret": "s&cret",
        "hub.signature": "sha256"
      })
      assert.deepStrictEqual([...new URLSearchParams(unsubscribe?.body.toString()).keys()], [
        "hub.mode",
        "hub.topic",
        "hub.callback",
        "hub.verify"
      ])
    }))
  )

  live(
    "repeats the form after 307 and 308, and follows no other redirect",
    Effect.scoped(Effect.gen(function*() {
      const server = yield* serve(({ path }, response) => {
        const status = Number(path.slice(1))
        if (status > 300) redirect(response, status, "/0")
        else response.writeHead(204).end()
      })
      assert.deepStrictEqual([yield* ask(`${server.url}/307`), yield* ask(`${server.url}/308`)], ["taken", "taken"])
      assert.deepStrictEqual(server.seen.map(({ method }) => method), ["POST", "POST", "POST", "POST"])
      assert.strictEqual(server.seen[1]?.body.toString(), server.seen[0]?.body.toString())
      for (const status of [301, 302, 303]) {
        assert.strictEqual(yield* ask(`${server.url}/${status}`), `the hub answered ${status}`)
      }
    }))
  )

  live(
    "reports the beginning of the hub's error message",
    Effect.scoped(Effect.gen(function*() {
      const server = yield* serve(({ path }, response) => {
        response.writeHead(Number(path.slice(1)))
        response.end(path === "/400" ? "no\r\nsuch topic" : "x".repeat(5_000_000))
      })
      assert.strictEqual(yield* ask(`${server.url}/400`), "the hub answered 400: no such topic")
      assert.strictEqual(yield* ask(`${server.url}/500`), `the hub answered 500: ${"x".repeat(200)}`)
      assert.match(yield* ask("http://127.0.0.1:9/"), /^the hub could not be reached: 127\.0\.0\.1: /)
    }))
  )

  live(
    "removes callback and secret from the hub's error message",
    Effect.scoped(Effect.gen(function*() {
      const { callback, secret } = question("")
      const server = yield* serve((_, response) => void response.writeHead(400).end(`/${callback}: ${secret}`))
      assert.strictEqual(yield* ask(server.url), "the hub answered 400: /(callback): (secret)")
    }))
  )

  live(
    "does not follow a redirect from https to http",
    Effect.scoped(Effect.gen(function*() {
      const plain = yield* serve((_, response) => void response.writeHead(202).end())
      const server = yield* serveTls(({ path }, response) => redirect(response, 307, path === "/" ? plain.url : "/"), {
        ...ca.issue(["localhost"])
      })
      const why = "the hub redirects from https to http, where the secret could be read on the way"
      assert.deepStrictEqual([yield* ask(`https://localhost:${server.port}/x`), plain.seen.length], [why, 0])
      assert.strictEqual(server.seen.length, 2)
    }))
  )

  live(
    "follows the same Location given twice, and refuses two different ones",
    Effect.scoped(Effect.gen(function*() {
      const server = yield* serve(({ path }, response) => {
        if (path === "/same") response.setHeader("Location", ["/end", "/end"])
        if (path === "/two") response.setHeader("Location", ["/end", "/other"])
        response.writeHead(response.hasHeader("Location") ? 307 : 202).end()
      })
      assert.strictEqual(yield* ask(`${server.url}/same`), "taken")
      assert.strictEqual(yield* ask(`${server.url}/two`), "the hub redirects to two different addresses")
      assert.deepStrictEqual(server.seen.map(({ path }) => path), ["/same", "/end", "/two"])
    }))
  )

  live(
    "ends a redirect loop",
    Effect.scoped(Effect.gen(function*() {
      const server = yield* serve((_, response) => redirect(response, 307, "/again"))
      assert.strictEqual(yield* ask(server.url), "the hub redirects more than 5 times")
      assert.strictEqual(server.seen.length, 6)
    }))
  )

  live(
    "rejects redirects to private addresses, other schemes and this service",
    Effect.scoped(Effect.gen(function*() {
      const { port } = yield* serve((_, response) => void response.writeHead(202).end(), { host: "127.0.0.2" })
      const targets = [`http://127.0.0.2:${port}/`, "file:///etc/passwd", "", "http://windhover.example/push/hub"]
      const server = yield* serve(({ path }, response) => redirect(response, 308, targets[Number(path.slice(1))] ?? ""))
      const answers = yield* Effect.forEach(targets, (_, i) => ask(`${server.url}/${i}`))
      assert.deepStrictEqual(answers, [
        "the hub could not be reached: 127.0.0.2: refused, a private address; only public addresses are connected to unless WINDHOVER_ALLOW_PRIVATE is true",
        "the hub redirects to an address that is not an http or https URL",
        "the hub redirects more than 5 times",
        "the hub is this service itself"
      ])
      assert.match(yield* ask(`http://127.0.0.2:${port}/`), /refused, a private address/)
    }))
  )

  live(
    "makes unguessable callbacks and secrets",
    Effect.gen(function*() {
      const made = yield* Effect.forEach(
        Array.from({ length: 100 }),
        () => HubClient.use(({ makeCredentials }) => makeCredentials)
      )
      assert.strictEqual(new Set(made.flatMap(({ callback, secret }) => [callback, secret])).size, 200)
      for (const { callback, secret } of made) {
        assert.match(callback, /^[\w-]{32}$/)
        assert.match(secret, /^[\w-]{43}$/)
      }
    })
  )
})
