import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { hold, parse, type World } from "#test/support/Conversation.ts"
import type { RawAnswer } from "#test/support/RawHttp.ts"

const manners = [["pubsubhubbub-version", "0.3"], ["access-control-allow-origin", "*"], [
  "cache-control",
  "no-store"
]] as const

/** A world with the same answer to every request; records the requests. */
const makeWorld = (answer: { readonly status: number; readonly body: string; readonly type?: string }) => {
  const sent: Array<string> = []
  const done: Array<string> = []
  const headers = new Map<string, string>([...manners, ["content-type", answer.type ?? "text/plain; charset=utf-8"]])
  const reply: RawAnswer = { status: answer.status, body: answer.body, headers }
  const world: World = {
    connect: Effect.succeed({
      send: (bytes) => Effect.sync(() => void sent.push(String(bytes))),
      receive: () => Effect.succeed(reply),
      receiveHead: Effect.succeed({ ...reply, body: "" }),
      receiveLines: (count) => Effect.succeed(answer.body.split("\n").slice(0, count)),
      pause: Effect.void,
      goOn: Effect.void,
      closed: Effect.void,
      isClosed: () => false
    }),
    received: Effect.never,
    perform: (words) => Effect.sync(() => void done.push(words)),
    words: { alice: "Basic abc" }
  }
  return { sent, done, world }
}

const outcome = (answer: Parameters<typeof makeWorld>[0], text: string) => {
  const { world } = makeWorld(answer)
  return hold(parse(text), world).pipe(
    Effect.scoped,
    Effect.as("held"),
    Effect.catchDefect(() => Effect.succeed("failed"))
  )
}

describe("Conversation", () => {
  it.effect("sends what is written, with a Host, a length and the words of the world", () =>
    Effect.gen(function*() {
      const { done, sent, world } = makeWorld({ status: 204, body: "" })
      const conversation = parse(
        "# About\n# this.\n= a feed\n= a reader\n\n> POST / HTTP/1.1\n> Authorization: {{alice}}\n> \n> a=1\n\n< 204\n"
      )
      assert.strictEqual(conversation.about, "About this.")
      yield* Effect.scoped(hold(conversation, world))
      assert.deepStrictEqual(done, ["a feed", "a reader"])
      assert.deepStrictEqual(sent, [
        "POST / HTTP/1.1\r\nAuthorization: Basic abc\r\nHost: windhover.test\r\nContent-Length: 3\r\n\r\na=1"
      ])
    }))

  it.effect("holds when the answer is as written, and only then", () =>
    Effect.gen(function*() {
      const json = { status: 200, body: "{\"a\":1,\"b\":[2,3]}", type: "application/json; charset=utf-8" }
      const start = "> GET / HTTP/1.1\n\n< "
      assert.strictEqual(
        yield* outcome(json, `${start}200\n< Content-Type: /application.json.*/\n< \n< {"b":[2,"…"],"a":"…"}`),
        "held"
      )
      for (
        const wrong of [
          "201",
          "200\n< Content-Type: text/plain",
          "200\n< ETag: x",
          "200\n< !Content-Type",
          "200\n< \n< {\"a\":1}",
          "200\n< \n< {\"a\":1,\"b\":[2,4]}",
          "200\n< \n< {\"a\":1,\"b\":[2,3],\"c\":\"…\"}",
          "200\n< \n< /no/"
        ]
      ) assert.strictEqual(yield* outcome(json, start + wrong), "failed", wrong)
    }))

  it.effect("compares the lines of a body that goes on, each itself or with a pattern", () =>
    Effect.gen(function*() {
      const stream = { status: 200, body: "id: 1\ndata: {}\n\nid: 2" }
      const start = "> GET / HTTP/1.1\n\n< 200\n\n"
      for (const right of ["~ id: 1", "~ id: /\\d/\n~ data: {}\n~ "]) {
        assert.strictEqual(yield* outcome(stream, start + right), "held", right)
      }
      for (const wrong of ["~ id: 2", "~ id: /[a-z]/", "~ /1/", "~ id: 1\n~ "]) {
        assert.strictEqual(yield* outcome(stream, start + wrong), "failed", wrong)
      }
    }))

  it.effect("does not hold when an error comes without a sentence", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* outcome({ status: 422, body: "" }, "> GET / HTTP/1.1\n\n< 422"), "failed")
      assert.strictEqual(yield* outcome({ status: 422, body: "Not so." }, "> GET / HTTP/1.1\n\n< 422"), "held")
      assert.strictEqual(
        yield* outcome({ status: 422, body: "{}", type: "application/json" }, "> GET / HTTP/1.1\n\n< 422"),
        "failed"
      )
    }))

  it("tells its author of a line that it does not understand", () => {
    assert.throws(() => parse("GET / HTTP/1.1"), /line 1 starts with none of/)
  })
})
