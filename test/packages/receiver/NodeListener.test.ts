import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { connect } from "node:net"
import { text } from "node:stream/consumers"
import { createReceiver, type ReceiverOptions } from "#packages/receiver/src/index.ts"
import { type NodeRequest, toNodeListener } from "#packages/receiver/src/node.ts"
import { httpServer } from "#test/support/HttpServer.ts"
import { recording, signed, standard, topic } from "./Requests.ts"

/** Starts a server; `change` stands for what a framework does before the receiver. */
const serve = Effect.fnUntraced(function*(
  options: Partial<ReceiverOptions> = {},
  change: (request: NodeRequest) => Promise<object> = async () => ({})
) {
  const record = recording(options)
  const listener = toNodeListener(createReceiver(record.options))
  const url = yield* httpServer(async (request, response) => {
    Object.assign(request, await change(request))
    await listener(request, response)
  })
  return { ...record, url }
})

const send = (url: string, message: { readonly headers: Record<string, string>; readonly body: string }) =>
  Effect.promise(async () => {
    const response = await fetch(url, { method: "POST", ...message })
    return `${response.status} ${await response.text()}`.trim()
  })

/** Writes bytes to a server, and returns what came back until the connection or `wanted` has come. */
const exchange = (url: string, bytes: string, wanted: RegExp) =>
  Effect.promise(async () => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    await once(socket, "connect")
    socket.write(bytes)
    let received = ""
    for await (const chunk of socket) {
      received += String(chunk)
      if (wanted.test(received)) break
    }
    return received
  })

describe("toNodeListener", () => {
  it.live("handles notifications, and answers verifications", () =>
    Effect.gen(function*() {
      const { sequences, url } = yield* serve({ topics: [topic] })
      assert.strictEqual(yield* send(url, standard({ sequence: 1 })), "204")
      assert.strictEqual(
        yield* send(url, signed({ sequence: 2, body: "é".repeat(500_000), contentType: "text/plain" })),
        "204"
      )
      assert.deepStrictEqual(sequences(), [1, 2])
      const query = new URLSearchParams({ "hub.mode": "subscribe", "hub.topic": topic, "hub.challenge": "42" })
      const response = yield* Effect.promise(() => fetch(`${url}/hook?${query}`))
      assert.deepStrictEqual([response.status, response.headers.get("content-type")], [
        200,
        "text/plain; charset=utf-8"
      ])
      assert.strictEqual(yield* Effect.promise(() => response.text()), "42")
    }))

  it.live("lets a client read the refusal of a body that is still on its way", () =>
    Effect.gen(function*() {
      const { url } = yield* serve({ maxBodyBytes: 1_000 })
      const { headers } = signed({ body: "x" })
      const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("")
      const answer = yield* exchange(
        url,
        `POST / HTTP/1.1\r\nhost: a\r\n${head}transfer-encoding: chunked\r\n\r\n800\r\n${"x".repeat(2048)}\r\n`,
        /bytes\./
      )
      assert.match(answer, /^HTTP\/1\.1 413 /)
      assert.include(answer, "The body is larger than 1000 bytes.")
      // the connection stays in use
      const again = `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3000\r\n\r\n${
        "x".repeat(3000)
      }GET / HTTP/1.1\r\nhost: a\r\n\r\n`
      assert.match(yield* exchange(url, again, /hub\.challenge/), /^HTTP\/1\.1 401 .*HTTP\/1\.1 400 /s)
    }))

  it.live("survives a client that leaves in the middle", () =>
    Effect.gen(function*() {
      const { errors, handled, url } = yield* serve()
      const { headers } = signed({ body: "x" })
      const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("")
      yield* Effect.promise(async () => {
        const { hostname, port } = new URL(url)
        const socket = connect(Number(port), hostname)
        await once(socket, "connect")
        socket.end(`POST / HTTP/1.1\r\nhost: a\r\n${head}content-length: 10\r\n\r\nxx`)
        await once(socket.resume(), "close")
      })
      assert.strictEqual(yield* send(url, signed({ sequence: 1 })), "204")
      assert.deepStrictEqual([handled.length, errors.length], [1, 0])
    }))

  it.live("takes raw bytes that a parser has left", () =>
    Effect.gen(function*() {
      const read = async (request: NodeRequest) => Buffer.from(await text(request))
      for (
        const change of [
          async (request: NodeRequest) => ({ body: await read(request) }),
          async (request: NodeRequest) => ({ rawBody: await read(request), body: { parsed: true } })
        ]
      ) {
        const { sequences, url } = yield* serve({}, change)
        assert.strictEqual(yield* send(url, signed({ sequence: 1 })), "204")
        assert.deepStrictEqual(sequences(), [1])
      }
    }))

  it.live("tells that a parser came first", () =>
    Effect.gen(function*() {
      const sentence =
        "500 The body was parsed before the signature was checked. Mount the receiver before express.json() and similar parsers."
      for (
        const change of [
          async (request: NodeRequest) => ({ body: JSON.parse(await text(request)) }),
          async (request: NodeRequest) => ({ lost: (await text(request)).length })
        ]
      ) {
        const { url } = yield* serve({}, change)
        assert.strictEqual(yield* send(url, signed({ sequence: 1 })), sentence)
      }
    }))

  it.live("answers requests with odd targets", () =>
    Effect.gen(function*() {
      const { url } = yield* serve({}, async () => ({ originalUrl: undefined }))
      for (const target of ["//evil.test/x", "http://evil.test/", "*", "/%zz?hub.mode=%"]) {
        assert.match(
          yield* exchange(url, `GET ${target} HTTP/1.1\r\nhost: a\r\n\r\n`, /hub\.challenge/),
          /^HTTP\/1\.1 400 /
        )
      }
      assert.match(yield* exchange(url, "TRACE / HTTP/1.1\r\nhost: a\r\n\r\n", /\r\n\r\n/), /^HTTP\/1\.1 400 /)
      assert.match(yield* exchange(url, "HEAD / HTTP/1.1\r\nhost: a\r\n\r\n", /\r\n\r\n/), /^HTTP\/1\.1 405 /)
    }))
})
