import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { createHmac } from "node:crypto"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { Deliverer, type Parcel } from "#domain/ports/Deliverer.ts"
import * as DelivererHttp from "#layers/DelivererHttp.ts"
import * as Network from "#layers/Network.ts"

interface Received {
  readonly method: string
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: Buffer
}

/** A callback on loopback; stopped with the scope. */
const callback = (answer: (request: Received, response: http.ServerResponse) => void) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<{ readonly server: http.Server; readonly received: Array<Received> }>((resume) => {
        const received: Array<Received> = []
        const server = http.createServer((request, response) => {
          const chunks: Array<Buffer> = []
          request.on("data", (chunk: Buffer) => chunks.push(chunk))
          request.on("end", () => {
            const { headers, method = "", url = "" } = request
            const one = { method, url, headers, body: Buffer.concat(chunks) }
            received.push(one)
            answer(one, response)
          })
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed({ server, received })))
      }),
      ({ server }) =>
        Effect.sync(() => {
          server.closeAllConnections()
          server.close()
        })
    ),
    ({ received, server }) => ({ received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/cb` })
  )

const deliverer = (allowPrivate = true) =>
  DelivererHttp.layerNoDeps.pipe(
    Layer.provide(Network.layerWith({ allowPrivate, baseUrl: "http://windhover.example" }))
  )

const parcel = (url: string, more: Partial<Parcel> = {}): Parcel => ({
  callback: url,
  contentType: "application/atom+xml",
  body: new TextEncoder().encode("<feed>é</feed>"),
  headers: [["X-Windhover-Sequence", "7"]],
  ...more
})

const post = (parcel: Parcel) => Deliverer.use((deliverer) => deliverer.post(parcel))

describe("DelivererHttp", () => {
  it.live("posts the bytes, signed with the secret in both ways", () =>
    Effect.gen(function*() {
      const { received, url } = yield* callback((_, response) => response.end("thanks"))
      const answer = yield* post(parcel(url, { secret: "s3cret" }))
      assert.deepStrictEqual([answer.status, answer.excerpt], [200, "thanks"])
      const [one] = received
      const sent = Buffer.from("<feed>é</feed>")
      const hmac = (algorithm: string) => createHmac(algorithm, "s3cret").update(sent).digest("hex")
      assert.deepStrictEqual(one?.body, sent)
      assert.deepStrictEqual(
        [one?.method, one?.headers["content-type"], one?.headers["x-windhover-sequence"]],
        ["POST", "application/atom+xml", "7"]
      )
      assert.deepStrictEqual(
        [one?.headers["x-hub-signature"], one?.headers["x-hub-signature-256"]],
        [`sha1=${hmac("sha1")}`, `sha256=${hmac("sha256")}`]
      )
    }).pipe(Effect.scoped, Effect.provide(deliverer())))

  it.live("signs nothing without a secret", () =>
    Effect.gen(function*() {
      const { received, url } = yield* callback((_, response) => response.end())
      yield* post(parcel(url))
      assert.deepStrictEqual(Object.keys(received[0]?.headers ?? {}).filter((name) => /signature/.test(name)), [])
    }).pipe(Effect.scoped, Effect.provide(deliverer())))

  it.live("takes a redirect for an answer, and does not follow it", () =>
    Effect.gen(function*() {
      const { received, url } = yield* callback((_, response) => response.writeHead(307, { location: "/other" }).end())
      const { status } = yield* post(parcel(url))
      assert.strictEqual(status, 307)
      assert.deepStrictEqual(received.map(({ url }) => url), ["/cb"])
    }).pipe(Effect.scoped, Effect.provide(deliverer())))

  it.live("reads the first bytes of an answer that never ends, and no more", () =>
    Effect.gen(function*() {
      const { url } = yield* callback((_, response) => {
        response.writeHead(500)
        const pour = () => {
          if (!response.destroyed && response.write("x".repeat(65_536))) setImmediate(pour)
        }
        response.on("drain", pour)
        pour()
      })
      const { excerpt, status } = yield* post(parcel(url))
      assert.strictEqual(status, 500)
      assert.isTrue(excerpt.length > 0 && excerpt.length <= 1024, `${excerpt.length} characters`)
    }).pipe(Effect.scoped, Effect.provide(deliverer())))

  it.live("never goes to a private address that was not allowed", () =>
    Effect.gen(function*() {
      const { received, url } = yield* callback((_, response) => response.end())
      const error = yield* Effect.flip(post(parcel(url)))
      assert.deepStrictEqual([error.kind, received.length], ["refused-address", 0])
    }).pipe(Effect.scoped, Effect.provide(deliverer(false))))

  it.live("cannot be made to send a header of the subscriber's choice", () =>
    Effect.gen(function*() {
      const { received, url } = yield* callback((_, response) => response.end())
      yield* post(parcel(url, { headers: [["X-PubSubHubbub-Topic", "http://a.example/\r\nX-Evil: 1"]] }))
      assert.strictEqual(received[0]?.headers["x-evil"], undefined)
    }).pipe(Effect.scoped, Effect.provide(deliverer())))
})
