import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpRejection } from "#http/HttpRejection.ts"
import { maxBodyBytes, withParameters } from "#http/RequestBody.ts"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"

const budget = new MemoryBudget({ maxBytes: maxBodyBytes + 1024 })
const read = (request: HttpServerRequest.HttpServerRequest) => withParameters(budget, request, Effect.succeed)

const sent = (body: RequestInit["body"], type: string | undefined, query = "") => {
  const bytes = typeof body === "string"
    ? { "content-length": String(Buffer.byteLength(body)) }
    : body === null
    ? undefined
    : { "transfer-encoding": "chunked" }
  const request = new Request(`http://windhover.test/${query}`, { method: "POST", body: body ?? null })
  const headers = new Headers({ ...bytes, ...(type !== undefined && { "content-type": type }) })
  if (type === undefined && body instanceof FormData) {
    headers.set("content-type", request.headers.get("content-type") ?? "")
  }
  return read(HttpServerRequest.fromWeb(new Request(request, { headers })))
}

const topics = (body: RequestInit["body"], type: string | undefined, query = "") =>
  Effect.map(sent(body, type, query), (parameters) => parameters.all("hub.topic"))

const refusal = (body: RequestInit["body"], type: string | undefined) =>
  Effect.map(
    Effect.flip(sent(body, type)),
    (error) => `${error instanceof HttpRejection ? error.status : 422} ${error.message}`
  )

const formType = "application/x-www-form-urlencoded"

describe("RequestBody", () => {
  it.effect("reads forms, JSON and multipart", () =>
    Effect.gen(function*() {
      const multipart = new FormData()
      multipart.append("hub.topic", "http://a/?b=c&d")
      for (
        const found of [
          yield* topics("hub.topic=http%3A%2F%2Fa%2F%3Fb%3Dc%26d", formType),
          yield* topics("hub.topic=http%3A%2F%2Fa%2F%3Fb%3Dc%26d", `${formType}; charset=UTF-8`),
          yield* topics("{\"hub.topic\":\"http://a/?b=c&d\"}", "application/json"),
          yield* topics("{\"hub\":{\"topic\":\"http://a/?b=c&d\"}}", "application/vnd.example+json"),
          yield* topics(" {\"hub.topic\":\"http://a/?b=c&d\"}", ""),
          yield* topics(multipart, undefined),
          yield* topics(null, undefined, "?hub.topic=http%3A%2F%2Fa%2F%3Fb%3Dc%26d")
        ]
      ) assert.deepStrictEqual(found, ["http://a/?b=c&d"])
    }))

  it.effect("reads JSON null as absent, booleans and numbers as text, and arrays as repetition", () =>
    Effect.gen(function*() {
      const parameters = yield* sent(
        JSON.stringify({
          "hub.secret": null,
          retrieve: true,
          count: 5,
          "hub.url": ["a", "b"],
          search: { feed: { url: "x" } }
        }),
        "application/json"
      )
      assert.isFalse(parameters.has("hub.secret"))
      assert.isTrue(yield* parameters.flag("retrieve"))
      assert.strictEqual(yield* parameters.one("count"), "5")
      assert.deepStrictEqual(parameters.all("hub.url"), ["a", "b"])
      assert.strictEqual(yield* parameters.one("search.feed.url"), "x")
    }))

  it.effect("reads a multipart file as text", () =>
    Effect.gen(function*() {
      const multipart = new FormData()
      multipart.append("hub.topic", new Blob(["http://a/"]), "topic.txt")
      assert.deepStrictEqual(yield* topics(multipart, undefined), ["http://a/"])
    }))

  it.effect("explains an unreadable body", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* refusal("{\"hub.mode\":", "application/json"),
        "400 The body is not valid JSON: it starts with \"{\\\"hub.mode\\\":\"."
      )
      assert.strictEqual(
        yield* refusal("[1]", "application/json"),
        "400 The JSON body has to be an object of parameters; received \"[1]\"."
      )
      assert.strictEqual(
        yield* refusal("{\"hub.topic\":\"http://a/\\ud800\"}", "application/json"),
        "422 hub.topic contains half of a surrogate pair, which is not a character; leave it out."
      )
      assert.strictEqual(
        yield* refusal("<a/>", "text/xml"),
        "415 The body has the Content-Type \"text/xml\"; send the parameters as application/x-www-form-urlencoded, " +
          "multipart/form-data or application/json."
      )
      assert.strictEqual(
        yield* refusal("--x", "multipart/form-data; boundary=y"),
        "400 The body is not valid multipart/form-data: check its boundary and that each part has a name."
      )
      assert.strictEqual(
        yield* refusal("x".repeat(maxBodyBytes + 1), formType),
        "413 The body of the request has more than 1048576 bytes; send less."
      )
    }))

  it.effect("rejects a compressed body", () =>
    Effect.gen(function*() {
      const request = new Request("http://windhover.test/", {
        method: "POST",
        headers: { "content-encoding": "gzip", "content-length": "3" },
        body: "abc"
      })
      const error = yield* Effect.flip(read(HttpServerRequest.fromWeb(request)))
      assert.strictEqual(error.message, "The body has the Content-Encoding \"gzip\"; send it uncompressed.")
    }))
})
