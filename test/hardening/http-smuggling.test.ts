import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { basic } from "#test/support/Api.ts"
import { serveRoutes } from "#test/support/RoutesServer.ts"

const smuggled =
  `GET /?hub.mode=publish&hub.url=http://smuggled/ HTTP/1.1\r\nHost: a\r\nAuthorization: ${basic().authorization}\r\n` +
  "X-HTTP-Method-Override: POST\r\n\r\n"

const head = (fields: string, line = "POST /?hub.mode=authenticate HTTP/1.1") =>
  `${line}\r\nHost: a\r\nAuthorization: ${basic().authorization}\r\n${fields}\r\n\r\n`

const chunked = "Transfer-Encoding: chunked"

/**
 * Requests with an ambiguous end. Behind a proxy, their rest could become the start of another client's request.
 */
const ambiguous: ReadonlyArray<readonly [name: string, bytes: string]> = [
  ["Content-Length and Transfer-Encoding", head(`Content-Length: 5\r\n${chunked}`) + `0\r\n\r\n${smuggled}`],
  ["two lengths", head("Content-Length: 0\r\nContent-Length: 5") + smuggled],
  ["a list of lengths", head("Content-Length: 0, 5") + smuggled],
  ["a signed length", head("Content-Length: +0") + smuggled],
  ["a negative length", head("Content-Length: -1") + smuggled],
  ["a hexadecimal length", head("Content-Length: 0x0") + smuggled],
  ["another encoding after chunked", head("Transfer-Encoding: chunked, identity") + `0\r\n\r\n${smuggled}`],
  ["a misspelt chunked", head("Transfer-Encoding: xchunked") + `0\r\n\r\n${smuggled}`],
  ["a vertical tab before chunked", head("Transfer-Encoding: \u000bchunked") + `0\r\n\r\n${smuggled}`],
  ["a space before the colon", head("Transfer-Encoding : chunked") + `0\r\n\r\n${smuggled}`],
  ["a folded header", head("X: 1\r\n Transfer-Encoding: chunked\r\nContent-Length: 5") + `0\r\n\r\n${smuggled}`],
  [
    "a line feed alone in the header",
    head("X: 1\nTransfer-Encoding: chunked\r\nContent-Length: 5") + `0\r\n\r\n${smuggled}`
  ],
  [
    "a carriage return alone in the header",
    head("X: 1\rTransfer-Encoding: chunked\r\nContent-Length: 5") + `0\r\n\r\n${smuggled}`
  ],
  ["a NUL in the header", head("X: a\0b\r\nContent-Length: 0") + smuggled],
  ["a chunk that is no number", head(chunked) + `zz\r\n${smuggled}`],
  ["a chunk of more than 2^64", head(chunked) + `10000000000000000\r\n${smuggled}`],
  ["a chunk that is longer than it says", head(chunked) + `1\r\nab\r\n0\r\n\r\n${smuggled}`],
  ["a line feed after the length of a chunk", head(chunked) + `1\nx\r\n0\r\n\r\n${smuggled}`]
]

describe("request smuggling", () => {
  it.live.each(ambiguous)("%s is rejected, and no later byte is read", ([, bytes]) =>
    Effect.gen(function*() {
      const published: Array<string> = []
      const { connect } = yield* serveRoutes({ publish: (topics) => Effect.sync(() => void published.push(...topics)) })
      const connection = yield* connect
      yield* connection.send(bytes)
      const { body, headers, status } = yield* connection.receive()
      assert.strictEqual(status, 400)
      assert.strictEqual(headers.get("connection"), "close")
      assert.notStrictEqual(body, "")
      yield* connection.closed
      assert.deepStrictEqual(published, [])
    }))

  it.live("pipelined requests are answered one by one, in order", () =>
    Effect.gen(function*() {
      const { connect } = yield* serveRoutes({ publish: () => Effect.void })
      const connection = yield* connect
      yield* connection.send(head("Content-Length: 0", "POST / HTTP/1.1") + smuggled)
      assert.strictEqual((yield* connection.receive()).status, 422)
      assert.strictEqual((yield* connection.receive()).status, 204)
    }))

  it.live("an absolute target is read as its path", () =>
    Effect.gen(function*() {
      const { connect } = yield* serveRoutes({})
      const connection = yield* connect
      yield* connection.send(head("Content-Length: 0", "GET http://elsewhere.example/?hub.mode=authenticate HTTP/1.1"))
      assert.strictEqual((yield* connection.receive()).status, 204)
    }))
})
