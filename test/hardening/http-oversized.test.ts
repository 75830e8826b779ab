import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { makePart } from "#layers/DocumentMemory.ts"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { basic } from "#test/support/Api.ts"
import { serveRoutes } from "#test/support/RoutesServer.ts"
import { countWorkDuring } from "#test/support/CountedWork.ts"

const authorization = `Authorization: ${basic().authorization}`

/** Status and sentence of the response to a POST with a body. */
const post = Effect.fnUntraced(function*(type: string, body: string, framing = `Content-Length: ${body.length}`) {
  const { connect } = yield* serveRoutes({})
  const connection = yield* connect
  yield* connection.send(
    `POST / HTTP/1.1\r\nHost: a\r\n${authorization}\r\nContent-Type: ${type}\r\n${framing}\r\n\r\n${body}`
  )
  const answer = yield* connection.receive()
  return `${answer.status} ${answer.body}`
})

const formType = "application/x-www-form-urlencoded"
const tooLarge = "413 The body of the request has more than 1048576 bytes; send less."
const tooMany = "413 The request has more than 1000 parameters; send fewer."

const multipart = (parts: number, value = "x") =>
  Array.from({ length: parts }, (_, i) => `--b\r\nContent-Disposition: form-data; name="p${i}"\r\n\r\n${value}\r\n`)
    .join("") +
  "--b--\r\n"

const pairs = (count: number) => Array.from({ length: count }, (_, i) => `p${i}=1`).join("&")

describe("oversized requests", () => {
  it.live("a body with a large Content-Length is rejected before it is read", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* post(formType, "hub.mode=list", "Content-Length: 99999999999"), tooLarge)
    }))

  it.live("a chunked body is rejected at the limit", () =>
    Effect.gen(function*() {
      const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`
      assert.strictEqual(yield* post(formType, chunk.repeat(20), "Transfer-Encoding: chunked"), tooLarge)
    }))

  it.live("bodies of one address take at most 16 MiB together, until the responses", () =>
    Effect.gen(function*() {
      const { connect } = yield* serveRoutes({})
      const head = `POST / HTTP/1.1\r\nHost: a\r\n${authorization}\r\nContent-Type: ${formType}\r\nContent-Length: `
      const size = 1024 * 1024
      // 16 bodies fit, and one may exceed the maximum. So at least one of 18 waits for 5 s and is rejected, in whatever order the bytes come.
      const sent = 1_000_000
      const slow = yield* Effect.forEach(Array.from({ length: 18 }), () => connect)
      yield* Effect.forEach(
        slow,
        (connection) => Effect.forkScoped(connection.send(`${head}${size}\r\n\r\n${"x".repeat(sent)}`))
      )
      // Two may be rejected in the same turn, so no answer is read in the race itself, which would lose the second one.
      const answered = yield* Effect.forEach(
        slow,
        (connection) =>
          Effect.map(
            Effect.forkScoped(connection.receive()),
            (reading) => ({ connection, answer: Fiber.join(reading) })
          )
      )
      const [refused, first] = yield* Effect.raceAllFirst(
        answered.map(({ answer, connection }) => Effect.map(answer, (received) => [connection, received] as const))
      )
      assert.deepStrictEqual([first.status, first.headers.get("retry-after"), first.body], [
        503,
        "5",
        "Too many large requests are under way. Please try again."
      ])
      const statuses = yield* Effect.forEach(
        answered.filter(({ connection }) => connection !== refused),
        ({ answer, connection }) =>
          Effect.andThen(connection.send("x".repeat(size - sent)), Effect.map(answer, ({ status }) => status)),
        { concurrency: "unbounded" }
      )
      assert.isAbove(statuses.filter((status) => status === 422).length, 8)
      assert.deepStrictEqual(statuses.filter((status) => status !== 422 && status !== 503), [])
      assert.match(yield* post(formType, "x".repeat(size)), /^422 /)
    }).pipe(Effect.provideService(DocumentMemory, {
      fetches: new MemoryBudget(),
      reading: new MemoryBudget(),
      exchanges: makePart(32 * 1024 * 1024) // half of the part is for one address
    })), 60_000)

  it.live("10,000 parameters are rejected in every format", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* post(formType, pairs(10_000)), tooMany)
      assert.strictEqual(yield* post(formType, "&".repeat(10_000)), tooMany)
      assert.strictEqual(yield* post("multipart/form-data; boundary=b", multipart(10_000)), tooMany)
      assert.strictEqual(
        yield* post("application/json", JSON.stringify({ a: Array.from({ length: 10_000 }, () => 1) })),
        tooMany
      )
      assert.strictEqual(yield* post("application/json", `{"a":[${"{},".repeat(10_000)}{}]}`), tooMany)
    }))

  it.live("query and body may have a thousand parameters each", () =>
    Effect.gen(function*() {
      assert.match(yield* post(formType, pairs(1_000)), /^422 Please provide a hub\.mode/)
    }))

  it.live("nesting depth is limited", () =>
    Effect.gen(function*() {
      const deep = 200_000
      assert.match(
        yield* post("application/json", `{"a":${"[".repeat(deep)}${"]".repeat(deep)}}`),
        /^400 .*nested deeper than 8 levels/
      )
      assert.match(yield* post("application/json", `{"a":${"[".repeat(deep)}`), /^400 The body is not valid JSON/)
      assert.match(yield* post(formType, `a${"[b]".repeat(50)}=1`), /^422 The name of a parameter is nested too deep/)
      assert.match(
        yield* post(formType, `${"[".repeat(1_000_000)}=1`),
        /^422 The name of a parameter has 1000000 characters/
      )
    }))

  it.live("each byte of the largest bodies is visited a few times at most", () =>
    Effect.gen(function*() {
      const size = 1024 * 1024
      const bodies: ReadonlyArray<readonly [type: string, body: string]> = [
        [formType, "%".repeat(size)],
        [formType, `hub.topic=${"%2".repeat(size / 2 - 10)}`],
        [formType, `authorization=${" ".repeat(size - 20)}`],
        [formType, `hub.url=${",http://".repeat(size / 8 - 10)}`],
        ["multipart/form-data; boundary=b", multipart(15_000)],
        ["multipart/form-data; boundary=b", "--b\r\n".repeat(size / 5 - 10)],
        [
          "multipart/form-data; boundary=b",
          `--b\r\nContent-Disposition: form-data; name="${"a;".repeat(size / 2 - 50)}"\r\n\r\n`
        ],
        ["application/json", `{${"\"a\":{},".repeat(size / 7 - 10)}"a":1}`],
        ["application/json", `"${"\\u0000".repeat(size / 6 - 10)}"`]
      ]
      for (const [type, body] of bodies) {
        const [work, answer] = yield* countWorkDuring(post(type, body))
        assert.match(answer, /^4\d\d ./)
        assert.isBelow(work, 10 * size, `${type} ${body.slice(0, 20)}`)
      }
    }))
})
