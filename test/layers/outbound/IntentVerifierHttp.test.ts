import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { type Intent, IntentVerifier } from "#domain/ports/IntentVerifier.ts"
import * as IntentVerifierHttp from "#layers/outbound/IntentVerifierHttp.ts"
import * as Network from "#layers/outbound/Network.ts"
import { version } from "#layers/outbound/Version.ts"
import { type Answer, type Seen, serve } from "#test/support/Servers.ts"

const layerWith = (options: Parameters<typeof IntentVerifierHttp.layerWith>[0]) =>
  IntentVerifierHttp.layerWith({ challenge: () => "c0ffee", ...options }).pipe(
    Layer.provide(Network.layerWith({ allowPrivate: true, baseUrl: "http://windhover.example" }))
  )

/** A test with real sockets and the real clock. */
const test = (
  name: string,
  body: () => Effect.Effect<void, unknown, IntentVerifier | Scope.Scope>,
  options: Parameters<typeof layerWith>[0] = {}
) => it.live(name, () => Effect.scoped(Effect.provide(body(), layerWith(options))))

const verify = (intent: Partial<Intent> & Pick<Intent, "callback">) =>
  IntentVerifier.use((verifier) =>
    verifier.verify({ mode: "subscribe", topic: "http://a.example/feed?x=1&y=ü", leaseSeconds: 315360000, ...intent })
  )

const refusal = (intent: Partial<Intent> & Pick<Intent, "callback">) =>
  Effect.map(Effect.flip(verify(intent)), ({ message }) => message)

const query = ({ path }: Seen) => new URL(path, "http://x").searchParams

const echo: Answer = (seen, response) => response.end(`  ${query(seen).get("hub.challenge")}\r\n`)

describe("IntentVerifierHttp", () => {
  test("appends its parameters to the callback's query, and accepts the trimmed challenge", () =>
    Effect.gen(function*() {
      const callback = yield* serve(echo)
      const network = yield* verify({ callback: `${callback.url}/cb?own=1&b=%20#top`, verifyToken: "t&k" })
      assert.strictEqual(network, "127.0.0.0/24")
      assert.deepStrictEqual(callback.seen.map(({ method, path }) => [method, path]), [[
        "GET",
        "/cb?own=1&b=%20&hub.mode=subscribe&hub.topic=http%3A%2F%2Fa.example%2Ffeed%3Fx%3D1%26y%3D%C3%BC" +
        "&hub.challenge=c0ffee&hub.lease_seconds=315360000&hub.verify_token=t%26k"
      ]])
      assert.strictEqual(
        callback.seen[0]?.headers["user-agent"],
        `Windhover/${version} (+http://windhover.example)`
      )
    }))

  test("sends an empty lease for an unsubscription, and adds a query to a callback without one", () =>
    Effect.gen(function*() {
      const callback = yield* serve(echo)
      yield* verify({ callback: callback.url, mode: "unsubscribe", topic: "http://a/", leaseSeconds: "" })
      assert.strictEqual(
        callback.seen[0]?.path,
        "/?hub.mode=unsubscribe&hub.topic=http%3A%2F%2Fa%2F&hub.challenge=c0ffee&hub.lease_seconds="
      )
    }))

  test("reports the body that came instead of the challenge", () =>
    Effect.gen(function*() {
      const callback = yield* serve(({ path }, response) => {
        response.end(path.startsWith("/empty") ? "" : "<html>\n c0ffee</html>")
      })
      const sentence = yield* refusal({ callback: `http://u:secret@127.0.0.1:${callback.port}/x` })
      assert.strictEqual(
        sentence,
        `Your callback ${callback.url}/x didn't echo the challenge. Please make sure it does.` +
          " The whole body has to be c0ffee, we received \"<html>  c0ffee</html>\"."
      )
      assert.include(yield* refusal({ callback: `${callback.url}/empty` }), "we received an empty body.")
    }))

  test("requires the challenge as the whole body", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => response.end(`c0ffee${" ".repeat(10_000)}!`))
      assert.include(yield* refusal({ callback: callback.url }), "didn't echo the challenge")
    }))

  test("requires a 2XX status; redirects fail, too", () =>
    Effect.gen(function*() {
      const callback = yield* serve((seen, response) => {
        if (seen.path.startsWith("/moved")) response.writeHead(302, { Location: "/" })
        else response.writeHead(404)
        response.end(query(seen).get("hub.challenge"))
      })
      assert.strictEqual(
        yield* refusal({ callback: `${callback.url}/x`, mode: "unsubscribe", topic: "http://a/", leaseSeconds: "" }),
        "Make sure your callback returns a 2XX status code. You returned 404 to " +
          `${callback.url}/x?hub.mode=unsubscribe&hub.topic=http%3A%2F%2Fa%2F&hub.challenge=c0ffee&hub.lease_seconds=`
      )
      assert.include(yield* refusal({ callback: `${callback.url}/moved` }), "You returned 302 to ")
      assert.strictEqual(callback.seen.length, 2)
    }))

  test("explains that a callback did not respond in time", () =>
    Effect.gen(function*() {
      const silent = yield* serve(() => {})
      assert.strictEqual(
        yield* refusal({ callback: silent.url }),
        "We could not verify your callback Error: ETIMEDOUT (no answer within 0.2 s)"
      )
    }), { timeoutMs: 200 })

  test("explains why a callback is unreachable", () =>
    Effect.gen(function*() {
      const closed = yield* Effect.scoped(serve(() => {}))
      assert.strictEqual(
        yield* refusal({ callback: closed.url }),
        "We could not verify your callback Error: connection refused"
      )
      assert.strictEqual(
        yield* refusal({ callback: "nonsense" }),
        "We could not verify your callback Error: \"nonsense\" is not an http or https URL"
      )
    }))

  it.live("makes a fresh challenge each time", () =>
    Effect.scoped(Effect.gen(function*() {
      const callback = yield* serve(echo)
      yield* Effect.all([verify({ callback: callback.url }), verify({ callback: callback.url })])
      const challenges = callback.seen.map((seen) => query(seen).get("hub.challenge") ?? "")
      for (const challenge of challenges) assert.match(challenge, /^[0-9a-f]{32}$/)
      assert.notStrictEqual(challenges[0], challenges[1])
    })).pipe(Effect.provide(IntentVerifierHttp.layer.pipe(
      Layer.provide(Network.layerWith({ allowPrivate: true, baseUrl: "http://windhover.example" }))
    ))))
})
