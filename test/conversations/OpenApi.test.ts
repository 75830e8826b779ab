import { assert, layer } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { Script } from "node:vm"
import { answers } from "#http/Contract.ts"
import { document } from "#http/OpenApi.ts"
import * as ConversationWorld from "#test/support/ConversationWorld.ts"
import type { RawAnswer } from "#test/support/RawHttp.ts"

/** Alice, with a subscription to a feed, and the service over a real socket. */
const opened = Effect.gen(function*() {
  const world = yield* ConversationWorld.makeWorld
  yield* world.perform(`/feed is a feed of two, one`)
  yield* world.perform("alice subscribed /push to /feed format=json")
  const topic = encodeURIComponent(`${world.words["outside"]}/feed`)
  const get = Effect.fnUntraced(function*(target: string) {
    const connection = yield* world.connect
    yield* connection.send(
      `GET ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: ${world.words["alice"]}\r\nConnection: close\r\n\r\n`
    )
    return yield* connection.receive()
  }, Effect.scoped)
  return { get, topic }
})

/** What a JSON answer says beside its schema; nothing, when the schema tells all of it. */
const problemOf = (schema: Schema.Codec<unknown>, { body }: RawAnswer): string | undefined =>
  Result.match(Schema.decodeUnknownResult(schema)(JSON.parse(body), { onExcessProperty: "error" }), {
    onSuccess: () => undefined,
    onFailure: String
  })

layer(ConversationWorld.layer, { excludeTestServices: true })("the description of the API", (it) => {
  it.effect("is served to anybody, and is the one of the schemas", () =>
    Effect.gen(function*() {
      const { get } = yield* opened
      const served = yield* get("/openapi.json")
      assert.strictEqual(served.headers.get("content-type"), "application/json; charset=utf-8")
      const described = JSON.parse(served.body)
      assert.deepStrictEqual(described, JSON.parse(JSON.stringify(document("http://windhover.test"))))
      assert.strictEqual(described.openapi, "3.1.0")
      assert.deepStrictEqual(Object.keys(described.paths), ["/", "/stream", "/healthz", "/readyz"])
      assert.notInclude(served.body, "$ref")
      const [list, , replay] = described.paths["/"].get.parameters[0].schema.oneOf
      assert.deepInclude(list.properties.by_page, { type: "integer", minimum: 1, maximum: 500, default: 20 })
      assert.deepInclude(replay.properties.count, { type: "integer", minimum: 1, maximum: 50, default: 1 })
      assert.deepStrictEqual(replay.required, ["hub.mode", "hub.topic", "hub.callback"])
      const [subscribe] = described.paths["/"].post.requestBody.content["application/json"].schema.oneOf
      assert.strictEqual(subscribe.properties["hub.topic"].maxLength, 2048)
      assert.strictEqual(subscribe.properties["hub.callback"].maxLength, 250)
    }))

  it.effect("tells all of what real answers hold", () =>
    Effect.gen(function*() {
      const { get, topic } = yield* opened
      const cases = [
        [answers.list, "/?hub.mode=list"],
        [answers.listDetailed, "/?hub.mode=list&detailed=true&search[format]=json"],
        [answers.retrieve, `/?hub.mode=retrieve&format=json&hub.topic=${topic}`],
        [answers.authenticate, "/?hub.mode=authenticate&rights=true"]
      ] as const
      for (const [schema, target] of cases) {
        const answer = yield* get(target)
        assert.strictEqual(answer.status, 200, target)
        assert.isUndefined(problemOf(schema, answer), target)
      }
      const list = yield* get("/?hub.mode=list")
      assert.match(problemOf(answers.listDetailed, list) ?? "", /Expected SubscriptionsInDetail/)
    }))

  it.effect("names the bounds at which requests are refused", () =>
    Effect.gen(function*() {
      const { get, topic } = yield* opened
      const described = document("").paths as {
        readonly "/": { readonly get: { readonly parameters: ReadonlyArray<{ readonly schema: Described }> } }
      }
      const modes = described["/"].get.parameters[0]?.schema.oneOf ?? []
      const bounded = modes.flatMap(({ properties }) =>
        Object.entries(properties).flatMap(([name, { maximum }]) =>
          maximum === undefined ? [] : [{ name, maximum, mode: properties["hub.mode"]?.enum?.[0] ?? "" }]
        )
      )
      assert.deepStrictEqual(bounded.map(({ mode, name }) => `${mode} ${name}`), [
        "list page",
        "list by_page",
        "retrieve count",
        "replay count"
      ])
      for (const { maximum, mode, name } of bounded) {
        const ask = (value: number) =>
          get(`/?hub.mode=${mode}&hub.topic=${topic}&hub.callback=http%3A%2F%2Fnobody.example%2F&${name}=${value}`)
        assert.strictEqual((yield* ask(maximum + 1)).status, 422, name)
        assert.notStrictEqual((yield* ask(maximum)).status, 422, name)
        assert.strictEqual((yield* ask(0)).status, 422, name)
      }
    }))

  it.effect("can be browsed, and the page asks nobody else for anything", () =>
    Effect.gen(function*() {
      const { get } = yield* opened
      const page = yield* get("/docs")
      assert.strictEqual(page.status, 200)
      assert.match(page.headers.get("content-type") ?? "", /^text\/html/)
      assert.match(page.headers.get("content-security-policy") ?? "", /^default-src 'none'.*connect-src 'self'/)
      assert.notMatch(page.body, /<(?:script|link|img|iframe)[^>]*(?:src|href)=/)
      assert.notMatch(page.body, /@import|url\(\s*["']?https?:/)
      const scripts = [...page.body.matchAll(/<script>(.*?)<\/script>/gs)].map(([, script = ""]) => script)
      assert.isAbove(scripts.length, 0)
      for (const script of scripts) assert.doesNotThrow(() => new Script(script))
      const described = /<script id="swagger-spec" type="application\/json">(.*?)<\/script>/s.exec(page.body)?.[1]
      assert.deepStrictEqual(JSON.parse(described ?? ""), JSON.parse(JSON.stringify(document("http://windhover.test"))))
    }))
})

interface Described {
  readonly oneOf: ReadonlyArray<{
    readonly properties: {
      readonly [name: string]: { readonly maximum?: number; readonly enum?: ReadonlyArray<string> }
    }
  }>
}
