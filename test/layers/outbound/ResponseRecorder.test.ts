import { assert, describe, it } from "@effect/vitest"
import { Effect, Latch } from "effect"
import fc from "fast-check"
import { once } from "node:events"
import { type AddressInfo, createServer, Socket } from "node:net"
import { buildConnector } from "undici"
import { Deliverer } from "#domain/ports/Deliverer.ts"
import { ConnectionPools } from "#layers/outbound/ConnectionPools.ts"
import { HttpExchange, type ResponseHeaders } from "#layers/outbound/HttpExchange.ts"
import { LenientResponseReader } from "#layers/outbound/LenientResponseReader.ts"
import { type RecordedExchange, ResponseRecorder } from "#layers/outbound/ResponseRecorder.ts"
import { failureOf, fetch, live, postTo } from "#test/support/Fetching.ts"
import { serveRaw } from "#test/support/Servers.ts"

const body = "<rss/>"
const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n"
const counted = `${ok}Content-Length: 6\r\n`
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`

/** Responses that curl and browsers read, and undici refuses. The server leaves each connection open. */
const oddResponses: Readonly<Record<string, string>> = {
  "a length before chunks": `${counted}Transfer-Encoding: chunked\r\n\r\n6\r\n${body}\r\n0\r\n\r\n`,
  "a wrong length after chunks":
    `${ok}Transfer-Encoding: chunked\r\nContent-Length: 250\r\n\r\n6\r\n${body}\r\n0\r\n\r\n`,
  "an empty length beside chunks":
    `${ok}Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n6\r\n${body}\r\n0\r\n\r\n`,
  "the coding `identity`": `${counted}Transfer-Encoding: identity\r\n\r\n${body}`,
  "a length given twice": `${counted}Content-Length: 6\r\n\r\n${body}`,
  "a length as a list": `${ok}Content-Length: 6, 6\r\n\r\n${body}`,
  "bare line feeds": `${counted}\r\n${body}`.replaceAll("\r", ""),
  "a bare line feed": `HTTP/1.1 200 OK\r\nContent-Type: text/xml\nContent-Length: 6\r\n\r\n${body}`,
  "a control character in a field": `${counted}Set-Cookie: a=\x01b\r\n\r\n${body}`,
  "NUL in a field": `${counted}X: a\0b\r\n\r\n${body}`,
  "a space before the colon": `HTTP/1.1 200 OK\r\nContent-Type : text/xml\r\nContent-Length : 6\r\n\r\n${body}`,
  "a name with spaces": `${counted}X Powered By: PHP\r\n\r\n${body}`,
  "a name with umlauts": `${counted}X-\xc3\xa9: 1\r\n\r\n${body}`,
  "a field without name": `${counted}: x\r\n\r\n${body}`,
  "a line without colon": `${counted}Garbage\r\n\r\n${body}`,
  "a folded field": `${counted}X: a\r\n  b\r\n\r\n${body}`,
  "a status line in lower case": `http/1.1 200 ok\r\nContent-Type: text/xml\r\nContent-Length: 6\r\n\r\n${body}`,
  "two spaces in the status line": `HTTP/1.1  200 OK\r\nContent-Type: text/xml\r\nContent-Length: 6\r\n\r\n${body}`,
  "an unrequested 100 Continue": `HTTP/1.1 100 Continue\r\n\r\n${counted}\r\n${body}`,
  "spaces after the size of a chunk": `${chunked}6   \r\n${body}\r\n0   \r\n\r\n`,
  "a space before the size of a chunk": `${chunked} 6\r\n${body}\r\n 0\r\n\r\n`,
  "a tab after the size of a chunk": `${chunked}6\t\r\n${body}\r\n0\r\n\r\n`,
  "a space before an extension": `${chunked}6 ;x=1\r\n${body}\r\n0\r\n\r\n`,
  "bare line feeds after the sizes of chunks": `${chunked}6\n${body}\n0\n\n`,
  "no line break after a chunk": `${chunked}3\r\n<rs3\r\ns/>0\r\n\r\n`
}

const bytesOf = (text: string) => Buffer.from(text, "latin1")

describe("ResponseRecorder", () => {
  for (const [name, response] of Object.entries(oddResponses)) {
    live(`reads ${name} with one request, and closes the connection`, () =>
      Effect.gen(function*() {
        const origin = yield* serveRaw((socket) => socket.write(bytesOf(response)))
        const fetched = yield* fetch(origin.url)
        assert.deepStrictEqual([fetched.status, Buffer.from(fetched.body).toString()], [200, body])
        assert.strictEqual(fetched.headers["content-type"], "text/xml")
        assert.strictEqual(origin.connections(), 1)
        yield* origin.quiet
      }))

    live(`delivers once to a callback that answers with ${name}`, () =>
      Effect.gen(function*() {
        const callback = yield* serveRaw((socket) => socket.write(bytesOf(response)))
        assert.strictEqual(yield* postTo(callback.url), "200")
        assert.strictEqual(callback.connections(), 1)
        yield* callback.quiet
      }))
  }

  live("reads a response that ends with its connection after the last chunk", () =>
    Effect.gen(function*() {
      for (const end of ["0\r\n", "0\r", "0"]) {
        const origin = yield* serveRaw((socket) => socket.end(`${chunked}6\r\n${body}\r\n${end}`))
        assert.strictEqual(Buffer.from((yield* fetch(origin.url)).body).toString(), body)
        assert.strictEqual(origin.connections(), 1)
      }
    }))

  live("reads a body without length until the connection ends", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => socket.end(`HTTP/1.1 200 OK\nContent-Type: text/xml\n\n${body}`))
      assert.strictEqual(Buffer.from((yield* fetch(origin.url)).body).toString(), body)
    }))

  live("reads a response that arrives byte by byte", () =>
    Effect.gen(function*() {
      const response = `http/1.1 100 Continue\n\n${ok}Odd : x\nTransfer-Encoding: chunked\n\n6 ;x\n${body}\n0\n`
      const origin = yield* serveRaw((socket) => {
        const bytes = response.split("")
        const writeNext = () => {
          const byte = bytes.shift()
          if (byte !== undefined) socket.write(byte, () => setImmediate(writeNext))
        }
        socket.setNoDelay(true)
        writeNext()
      })
      const { body: bytes, headers } = yield* fetch(origin.url)
      assert.deepStrictEqual([Buffer.from(bytes).toString(), headers["odd"]], [body, "x"])
      assert.strictEqual(yield* postTo(origin.url), "200")
      assert.strictEqual(origin.connections(), 2)
    }))

  live("shows the body of an odd response in the delivery log", () =>
    Effect.gen(function*() {
      const callback = yield* serveRaw((socket) => socket.write("HTTP/1.1 500 No\nContent-Length: 6\n\nbroken"))
      const parcel = {
        id: "1-1",
        callback: callback.url,
        contentType: "text/plain",
        body: Buffer.from("x"),
        headers: []
      }
      const { excerpt, status } = yield* Deliverer.use(({ post }) => post(parcel))
      assert.deepStrictEqual([status, excerpt], [500, "broken"])
    }))

  live("reads a large document whose fault is at its end", () =>
    Effect.gen(function*() {
      const large = "x".repeat(3_000_000)
      const origin = yield* serveRaw((socket) => {
        socket.write(`${chunked}${large.length.toString(16)}\r\n`)
        socket.end(`${large}\r\n0`)
      })
      assert.strictEqual((yield* fetch(origin.url)).body.length, large.length)
      assert.strictEqual(origin.connections(), 1)
    }))

  live("follows an odd redirect to an odd response, with a connection each", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket, request) => {
        socket.write(
          request.startsWith("GET /a ")
            ? "HTTP/1.1 302 Found\nLocation: /b\nContent-Length: 0\n\n"
            : `${counted}A : b\n\n${body}`
        )
      })
      const { finalUrl, status } = yield* fetch(`${origin.url}/a`)
      assert.deepStrictEqual([status, finalUrl], [200, `${origin.url}/b`])
      assert.strictEqual(origin.connections(), 2)
    }))

  live("reads an odd response on a connection that had a normal one", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => {
        socket.write(`${counted}\r\n${body}`)
        socket.on("data", () => socket.write(`${counted}Odd : x\r\n\r\nsecond`))
      })
      assert.strictEqual(Buffer.from((yield* fetch(origin.url)).body).toString(), body)
      assert.strictEqual(Buffer.from((yield* fetch(origin.url)).body).toString(), "second")
      assert.strictEqual(origin.connections(), 1)
      yield* origin.quiet
    }))

  live("keeps the limits of bytes and time", () =>
    Effect.gen(function*() {
      const large = yield* serveRaw((socket) => socket.write(`HTTP/1.1 200 OK\nContent-Length: 100\n\n`))
      assert.strictEqual(
        yield* failureOf({ url: large.url, maxBytes: 99 }),
        "TooLarge: 127.0.0.1: larger than 99 bytes"
      )
      yield* large.quiet
      const endless = yield* serveRaw((socket) => {
        socket.write("HTTP/1.1 200 OK\n\n")
        const pour = () => {
          while (!socket.destroyed && socket.write(Buffer.alloc(65_536, 32)));
        }
        socket.on("drain", pour)
        pour()
      })
      assert.strictEqual(
        yield* failureOf({ url: endless.url, maxBytes: 1_000_000 }),
        "TooLarge: 127.0.0.1: larger than 1000000 bytes"
      )
      yield* endless.quiet
      const silent = yield* serveRaw((socket) => socket.write("HTTP/1.1 200 OK\nContent-Length: 9\n\nhalf"))
      assert.match(
        yield* failureOf({ url: silent.url, deadline: 100 }),
        /^Timeout: 127\.0\.0\.1: no (?:answer|end of the answer) within 0\.1 s$/
      )
      yield* silent.quiet
    }))

  live("asks again when a connection ends within the header of an odd response", () =>
    Effect.gen(function*() {
      const origin = yield* serveRaw((socket) => {
        if (origin.connections() === 1) socket.end("HTTP/1.1 200 OK\nX: 1")
        else socket.write(`${counted}\r\n${body}`)
      })
      assert.strictEqual(Buffer.from((yield* fetch(origin.url)).body).toString(), body)
      assert.strictEqual(origin.connections(), 2)
    }))

  live("names the fault of a response that no client reads", () =>
    Effect.gen(function*() {
      const faults = {
        "220 mail.example ESMTP\r\n": "the answer does not begin with an HTTP status line",
        "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n": "the answer switches to another protocol (101)",
        [`${counted}Content-Length: 7\r\n\r\n${body}`]: "the answer has two different Content-Lengths",
        [`${ok}Content-Length: 6\x01\r\n\r\n${body}`]:
          "the Content-Length or Transfer-Encoding of the answer has a control character",
        [`${chunked}six\r\n`]: "the size of a chunk of the answer is no hexadecimal number"
      }
      for (const [response, fault] of Object.entries(faults)) {
        const origin = yield* serveRaw((socket) => socket.write(response))
        assert.strictEqual(yield* failureOf(origin.url), `Protocol: 127.0.0.1: ${fault}`)
        assert.strictEqual(origin.connections(), 1)
        yield* origin.quiet
      }
    }))

  live("abandons an odd response with its caller", () =>
    Effect.gen(function*() {
      const begun = yield* Latch.make()
      const origin = yield* serveRaw((socket) => {
        socket.write("HTTP/1.1 200 OK\n\nhalf", () => begun.openUnsafe())
      })
      const fiber = yield* Effect.forkChild(fetch(origin.url), { startImmediately: true })
      yield* begun.await
      yield* Effect.yieldNow
      fiber.interruptUnsafe()
      yield* origin.quiet
    }))

  it("passes header and body on once when undici refuses the body and its maximum cuts it", async () => {
    const received: Array<string> = []
    const server = createServer((socket) => {
      socket.once(
        "data",
        () => socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2 \nab\n2\ncd\n2\nef\n0\n\n")
      )
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    const pools = openPools()
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    server.on("connection", (socket) => socket.on("error", () => undefined).once("close", () => resolve()))
    new HttpExchange(pools, { url: new URL(`http://127.0.0.1:${port}/`), method: "GET", headers: [] }, {
      onHeaders: (status) => {
        received.push(String(status))
        return { maxBytes: 3, onExcess: "cut" }
      },
      onBody: (bytes) => void received.push(bytes.toString()),
      onFailure: ({ message }) => assert.fail(message),
      onTooLarge: () => assert.fail("too large")
    }).start()
    await closed
    assert.deepStrictEqual(received, ["200", "abc"])
    await pools.close()
    server.close()
  })

  it("records from the request on, and takes a socket over once", () => {
    const { calls, recorder, socket } = recordSocket()
    socket.push("early")
    recorder.start(exchangeOf(calls))
    socket.read()
    socket.destroy(refusal())
    assert.deepStrictEqual([calls, socket.destroyed], [[], true])

    const next = recordSocket()
    next.recorder.start(exchangeOf(next.calls))
    next.socket.push("first")
    assert.strictEqual(String(next.socket.read()), "first")
    next.socket.destroy(refusal())
    next.socket.destroy(refusal())
    next.socket.push("second")
    assert.isNull(next.socket.read())
    assert.deepStrictEqual([next.calls, next.socket.destroyed], [["refusal", "first", "second"], false])
    next.recorder.stop()
    next.socket.destroy(refusal())
    assert.isTrue(next.socket.destroyed)
  })

  it("leaves a socket whose end is no fault of the response", () => {
    for (
      const error of [undefined, new Error("reset"), Object.assign(new Error(), { code: "UND_ERR_HEADERS_OVERFLOW" })]
    ) {
      const { calls, recorder, socket } = recordSocket()
      recorder.start(exchangeOf(calls))
      socket.push("first")
      socket.read()
      socket.destroy(error)
      assert.deepStrictEqual([calls, socket.destroyed], [[], true])
    }
  })

  it("reads valid responses as undici does", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined).once("data", () => socket.end(bytesOf(served)))
    }).listen(0, "127.0.0.1")
    let served = ""
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    const pools = openPools()
    await fc.assert(
      fc.asyncProperty(validResponse, async ({ body, text }) => {
        served = text
        const strict = await readStrictly(pools, new URL(`http://127.0.0.1:${port}/`))
        assert.deepStrictEqual(readLeniently(text), strict)
        assert.strictEqual(strict.body, body)
      }),
      { numRuns: 150 }
    )
    await pools.close()
    server.close()
  })
})

const openPools = () =>
  new ConnectionPools({
    connect: buildConnector({}),
    maxConnectionsPerOrigin: 1,
    maxIdlePools: 1,
    keepAliveMs: 1_000
  })

const refusal = () => Object.assign(new Error("refused"), { code: "HPE_INVALID_HEADER_TOKEN" })

/** A recorder with a connected socket that has no peer. */
const recordSocket = () => {
  const recorder = new ResponseRecorder()
  const socket = new Socket()
  socket.on("error", () => undefined)
  recorder.wrap((_, callback) => callback(null, socket))({ hostname: "", protocol: "http:", port: "" }, () => undefined)
  const calls: Array<string> = []
  return { recorder, socket, calls }
}

const exchangeOf = (calls: Array<string>): RecordedExchange => ({
  bodySize: () => 0,
  onRefusal: () => void calls.push("refusal"),
  onRawData: (bytes) => void calls.push(bytes.toString()),
  onRawEnd: () => void calls.push("end")
})

interface Received {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: string
}

const readStrictly = (pools: ConnectionPools, url: URL): Promise<Received> => {
  const { promise, reject, resolve } = Promise.withResolvers<Received>()
  let head: Omit<Received, "body"> = { status: 0, headers: {} }
  new HttpExchange(pools, { url, method: "GET", headers: [] }, {
    onHeaders: (status, headers) => {
      head = { status, headers: { ...headers } }
      return { maxBytes: 100_000, onExcess: "fail" }
    },
    onBody: (bytes) => resolve({ ...head, body: bytes.toString("latin1") }),
    onFailure: reject,
    onTooLarge: () => reject(new Error("too large"))
  }).start()
  return promise
}

const readLeniently = (text: string): Received | undefined => {
  let received: Received | undefined
  let body = ""
  let head: Omit<Received, "body"> = { status: 0, headers: {} }
  const reader = new LenientResponseReader({
    onHead: (status, headers) => void (head = { status, headers: { ...headers } }),
    onData: (bytes) => void (body += bytes.toString("latin1")),
    onEnd: () => void (received = { ...head, body }),
    onFault: assert.fail
  })
  reader.read(bytesOf(text))
  reader.end()
  return received
}

/** Responses that follow RFC 9112 to the letter. */
const validResponse = fc.record({
  status: fc.constantFrom(200, 201, 203, 301, 400, 404, 503),
  fields: fc.array(
    fc.tuple(
      fc.stringMatching(/^x-[a-z0-9]{1,8}$/),
      fc.stringMatching(/^[!-~\xa0-\xff]([ -~\xa0-\xff]{0,20}[!-~\xa0-\xff])?$/)
    ),
    { maxLength: 6 }
  ),
  chunks: fc.array(fc.string({ unit: "binary-ascii", minLength: 1, maxLength: 50 }), { maxLength: 4 }),
  framing: fc.constantFrom("counted", "chunked", "untilClose"),
  hints: fc.nat(2)
}).map(({ chunks, fields, framing, hints, status }) => {
  const body = chunks.join("")
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")
  const chunkLines = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("")
  const framed = {
    counted: `Content-Length: ${body.length}\r\n\r\n${body}`,
    chunked: `Transfer-Encoding: chunked\r\n\r\n${chunkLines}0\r\n\r\n`,
    untilClose: `\r\n${body}`
  }[framing]
  const informational = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(hints)
  return { body, text: `${informational}HTTP/1.1 ${status} X\r\n${lines}${framed}` }
})
