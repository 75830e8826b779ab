import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import type { Deliverer } from "#domain/ports/Deliverer.ts"
import type { Fetcher } from "#domain/ports/Fetcher.ts"
import { authority, type Identity, selfSigned } from "#test/support/Certificates.ts"
import { failureOf, fetch, outside, postTo } from "#test/support/Fetching.ts"
import { serve, serveTls } from "#test/support/Servers.ts"

/** A server that cannot prove its name gets no request, and the error gives the reason. */
describe("TLS", () => {
  const ca = authority()

  const test = (
    name: string,
    body: () => Effect.Effect<unknown, unknown, Fetcher | Deliverer | Scope.Scope>
  ) =>
    it.live(
      name,
      () => Effect.scoped(Effect.provide(body(), outside({ ca: ca.ca })))
    )

  const answering = (identity: Identity) => serveTls((_, response) => response.end("ok"), identity)

  test("a certificate for the name or the address is accepted", () =>
    Effect.gen(function*() {
      const origin = yield* answering(ca.issue(["localhost", "127.0.0.1"]))
      assert.strictEqual((yield* fetch(`https://localhost:${origin.port}/`)).status, 200)
      assert.strictEqual((yield* fetch(`https://127.0.0.1:${origin.port}/`)).status, 200)
      assert.strictEqual(yield* postTo(`https://localhost:${origin.port}/`), "200")
    }))

  test("a name with a dot at its end is verified without the dot, and requested as given", () =>
    Effect.gen(function*() {
      const names: Array<string> = []
      const origin = yield* serveTls((_, response) => response.end("ok"), {
        ...ca.issue(["localhost"]),
        SNICallback: (name, done) => {
          names.push(name)
          done(null)
        }
      })
      const url = `https://localhost.:${origin.port}/`
      assert.strictEqual((yield* fetch(url)).status, 200)
      assert.strictEqual(yield* postTo(url), "200")
      assert.deepStrictEqual([...new Set(names)], ["localhost"])
      const host = `localhost.:${origin.port}`
      assert.deepStrictEqual(origin.seen.map(({ headers }) => headers.host), [host, host])
      const other = yield* answering(ca.issue(["other.example"]))
      assert.strictEqual(
        yield* failureOf(`https://localhost.:${other.port}/`),
        "Tls: localhost.: certificate is for another name"
      )
    }))

  const refusals: ReadonlyArray<
    readonly [what: string, identity: Identity, reason: string]
  > = [
    ["expired", ca.issue(["localhost"], new Date("2024-01-01")), "certificate has expired"],
    ["self-signed", selfSigned(["localhost"]), "certificate is self-signed"],
    ["for another name", ca.issue(["other.example"]), "certificate is for another name"],
    ["for an address only", ca.issue(["127.0.0.1"]), "certificate is for another name"]
  ]

  for (const [what, identity, reason] of refusals) {
    test(`a certificate that is ${what} is rejected`, () =>
      Effect.gen(function*() {
        const origin = yield* answering(identity)
        const url = `https://localhost:${origin.port}/`
        // Twice: a session of the first attempt must not let the second pass.
        assert.strictEqual(yield* failureOf(url), `Tls: localhost: ${reason}`)
        assert.strictEqual(yield* failureOf(url), `Tls: localhost: ${reason}`)
        assert.strictEqual(yield* postTo(url), `Tls: localhost: ${reason}`)
        assert.strictEqual(origin.seen.length, 0)
      }))
  }

  test("a certificate of an unknown authority is rejected", () =>
    Effect.gen(function*() {
      const origin = yield* answering(authority("Other CA").issue(["localhost"]))
      assert.match(
        yield* failureOf(`https://localhost:${origin.port}/`),
        /^Tls: localhost: certificate chain is incomplete/
      )
    }))

  test("a session is resumed for its own name only", () =>
    Effect.gen(function*() {
      const resumed: Array<boolean> = []
      const origin = yield* serveTls((_, response) => {
        const socket = response.socket
        if (socket !== null && "isSessionReused" in socket && typeof socket.isSessionReused === "function") {
          resumed.push(Boolean(socket.isSessionReused()))
        }
        response.setHeader("Connection", "close").end()
      }, ca.issue(["localhost", "127.0.0.1"]))
      for (const host of ["localhost", "localhost", "localhost", "127.0.0.1", "127.0.0.1", "app.localhost"]) {
        yield* Effect.exit(fetch(`https://${host}:${origin.port}/`))
      }
      // The last one never gets as far as a request: its name is not in the certificate.
      assert.deepStrictEqual(resumed, [false, true, true, false, true])
    }))

  test("a server without TLS is reported", () =>
    Effect.gen(function*() {
      const plain = yield* serve((_, response) => response.end())
      assert.match(
        yield* failureOf(`https://127.0.0.1:${plain.port}/`),
        /^Tls: 127\.0\.0\.1: (TLS handshake failed|the connection)/
      )
    }))

  test("a redirect from https to http is followed, without the credentials", () =>
    Effect.gen(function*() {
      const plain = yield* serve((_, response) => response.end("plain"))
      const origin = yield* serveTls((_, response) => {
        response.writeHead(302, { Location: `http://localhost:${plain.port}/` }).end()
      }, ca.issue(["localhost"]))
      const fetched = yield* fetch(`https://user:hush@localhost:${origin.port}/`)
      assert.strictEqual(Buffer.from(fetched.body).toString(), "plain")
      assert.isDefined(origin.seen[0]?.headers.authorization)
      assert.isUndefined(plain.seen[0]?.headers.authorization)
    }))
})
