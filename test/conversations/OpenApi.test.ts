import { assert, layer } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { readFileSync } from "node:fs"
import { operations } from "#http/api/Operations.ts"
import { describeApi } from "#http/OpenApi.ts"
import { managementRoutes, streamedRoutes } from "#http/management/ManagementRoutes.ts"
import * as ResponseSchemas from "#http/api/ResponseSchemas.ts"
import { version } from "#layers/outbound/Version.ts"
import * as ConversationWorld from "#test/support/ConversationWorld.ts"
import type { RawAnswer } from "#test/support/RawHttp.ts"

const settings = { baseUrl: "http://windhover.test", hubOpen: true }

type Path = "/" | "/stream" | "/hub"

/** The OpenAPI document as a program reads it. */
const described = JSON.parse(JSON.stringify(describeApi(settings, version)))

/** Alice with a subscription to a feed, and the service over a real socket. */
const opened = Effect.gen(function*() {
  const world = yield* ConversationWorld.makeWorld
  yield* world.perform(`/feed is a feed of two, one`)
  yield* world.perform("alice subscribed /push to /feed format=json")
  const topic = encodeURIComponent(`${world.words["outside"]}/feed`)
  const exchange = Effect.fnUntraced(function*(start: string, headers: ReadonlyArray<string>, body = "") {
    const connection = yield* world.connect
    const header = [`${start} HTTP/1.1`, "Host: a", "Connection: close", ...headers]
    yield* connection.send(`${header.join("\r\n")}\r\n\r\n${body}`)
    return yield* connection.receive()
  }, Effect.scoped)
  const get = (target: string, ...headers: ReadonlyArray<string>) =>
    exchange(`GET ${target}`, [`Authorization: ${world.words["alice"]}`, ...headers])
  const post = (target: string, parameters: { readonly [name: string]: string }, type = form) => {
    const body = new URLSearchParams(parameters).toString()
    return exchange(`POST ${target}`, [`Content-Type: ${type}`, `Content-Length: ${body.length}`], body)
  }
  return { get, post, topic, world }
})

const form = "application/x-www-form-urlencoded"

/** The difference between a JSON response and its schema; undefined when the schema describes all of the response. */
const problemOf = (schema: Schema.Codec<unknown>, { body }: Pick<RawAnswer, "body">): string | undefined =>
  Result.match(Schema.decodeUnknownResult(schema)(JSON.parse(body), { onExcessProperty: "error" }), {
    onSuccess: () => undefined,
    onFailure: String
  })

layer(ConversationWorld.layer, { excludeTestServices: true })("the OpenAPI document", (it) => {
  it.effect("is served without credentials, and comes from the schemas", () =>
    Effect.gen(function*() {
      const { get } = yield* opened
      const served = yield* get("/openapi.json")
      assert.strictEqual(served.headers.get("content-type"), "application/json; charset=utf-8")
      const described = JSON.parse(served.body)
      assert.deepStrictEqual(described, JSON.parse(JSON.stringify(describeApi(settings, version))))
      assert.strictEqual(described.openapi, "3.1.0")
      assert.strictEqual(described.info.version, version)
      const paths = Object.keys(described.paths)
      assert.deepStrictEqual(
        paths.filter((path) => !path.startsWith("/api/")),
        ["/", "/stream", "/hub", "/healthz", "/readyz"]
      )
      assert.deepStrictEqual(
        paths.filter((path) => path.startsWith("/api/")),
        [...new Set([...managementRoutes, ...streamedRoutes].map(({ path }) => path))]
      )
      assert.notInclude(served.body, "$ref")
      const [list, , , replay] = described.paths["/"].get.parameters[0].schema.oneOf
      assert.deepInclude(list.properties.by_page, { type: "integer", minimum: 1, maximum: 500, default: 20 })
      assert.deepInclude(replay.properties.count, { type: "integer", minimum: 1, maximum: 50, default: 1 })
      assert.deepStrictEqual(replay.required, ["hub.mode", "hub.topic", "hub.callback"])
      const [subscribe] = described.paths["/"].post.requestBody.content["application/json"].schema.oneOf
      assert.strictEqual(subscribe.properties["hub.topic"].maxLength, 2048)
      assert.strictEqual(subscribe.properties["hub.callback"].maxLength, 2048)
    }))

  it.effect("describes every key of real responses", () =>
    Effect.gen(function*() {
      const { get, topic } = yield* opened
      const cases = [
        [ResponseSchemas.Subscriptions, "/?hub.mode=list"],
        [ResponseSchemas.DetailedSubscriptions, "/?hub.mode=list&detailed=true&search[format]=json"],
        [ResponseSchemas.Retrieved, `/?hub.mode=retrieve&format=json&hub.topic=${topic}`],
        [ResponseSchemas.GrantedRights, "/?hub.mode=authenticate&rights=true"]
      ] as const
      for (const [schema, target] of cases) {
        const answer = yield* get(target)
        assert.strictEqual(answer.status, 200, target)
        assert.isUndefined(problemOf(schema, answer), target)
      }
      const list = yield* get("/?hub.mode=list")
      assert.match(problemOf(ResponseSchemas.DetailedSubscriptions, list) ?? "", /Expected SubscriptionsInDetail/)
    }))

  it.effect("describes every header and key of real notifications", () =>
    Effect.gen(function*() {
      const { post: send, world } = yield* opened
      const { post } = described.webhooks.notification
      const names: ReadonlyArray<string> = post.parameters.map(({ name }: { readonly name: string }) =>
        name.toLowerCase()
      )
      yield* world.perform("/feed is a feed of three, two, one")
      yield* send("/hub", { "hub.mode": "publish", "hub.url": `${world.words["outside"]}/feed` })
      const notification = yield* world.received
      const own = [...notification.headers.keys()].filter((name) => /^(x-(?!superfeedr)|link)/.test(name))
      assert.deepStrictEqual(own.filter((name) => !names.includes(name)), [])
      const required = post.parameters.filter((one: { readonly required: boolean }) => one.required)
      for (const { name } of required) assert.isTrue(notification.headers.has(name.toLowerCase()), name)
      assert.isUndefined(problemOf(ResponseSchemas.Notification, notification))
      const text = readFileSync(new URL("../../docs/webhooks.md", import.meta.url), "utf8")
      const failure = text.split("\n").find((line) => line.startsWith(`{"status":{"code":500`)) ?? ""
      assert.isUndefined(problemOf(ResponseSchemas.Failure, { body: failure }))
      assert.isDefined(problemOf(ResponseSchemas.Notification, { body: failure }))
    }))

  it.effect("names the limits of parameters", () =>
    Effect.gen(function*() {
      const { get, topic } = yield* opened
      const described = describeApi(settings, version).paths as unknown as {
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

  it.effect("names each status of docs/http.md for each path", () =>
    Effect.sync(() => {
      const text = readFileSync(new URL("../../docs/http.md", import.meta.url), "utf8")
      const listed = [...text.slice(text.indexOf("## Errors")).matchAll(/^\| (\d{3}) /gm)].map(([, status]) => status)
      const statuses = (path: Path, method: "get" | "post") =>
        Object.keys(described.paths[path][method].responses).filter((status) => status >= "400")
      for (const [path, method] of [["/", "get"], ["/", "post"], ["/stream", "get"]] as const) {
        assert.deepStrictEqual(statuses(path, method), listed)
      }
      const ofHub = listed.filter((status) => status !== "401" && status !== "403" && status !== "404")
      assert.deepStrictEqual([statuses("/hub", "get"), statuses("/hub", "post")], [ofHub, ofHub])
      assert.notProperty(describeApi({ ...settings, hubOpen: false }, version).paths, "/hub")
    }))

  it.effect("describes the open hub's responses", () =>
    Effect.gen(function*() {
      const { get, post, world } = yield* opened
      const outside = world.words["outside"] ?? ""
      const subscribe = { "hub.mode": "subscribe", "hub.topic": `${outside}/feed`, "hub.callback": `${outside}/push` }
      const tooLong = `X-Long: ${"x".repeat(40_000)}`
      const got = [yield* get("/hub"), yield* get("/hub?hub.mode=subscribe"), yield* get("/hub", tooLong)]
      const posted = [
        yield* post("/hub", subscribe),
        yield* post("/hub", { "hub.mode": "publish", "hub.url": `${outside}/feed` }),
        yield* post("/hub", { ...subscribe, "hub.callback": "" }),
        yield* post("/hub", subscribe, "text/html"),
        yield* post("/hub", Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`x${i}`, "y"])))
      ]
      yield* world.perform("the database is away")
      posted.push(yield* post("/hub", subscribe))
      yield* world.perform("the database is back")
      const statuses = (answers: ReadonlyArray<RawAnswer>) => answers.map(({ status }) => status)
      assert.deepStrictEqual(statuses(got), [200, 405, 431])
      assert.deepStrictEqual(statuses(posted), [202, 204, 422, 415, 413, 503])
      for (const status of statuses(got)) assert.property(described.paths["/hub"].get.responses, String(status))
      for (const status of statuses(posted)) assert.property(described.paths["/hub"].post.responses, String(status))
    }))

  it.effect("describes the open hub's parameters and their limits", () =>
    Effect.gen(function*() {
      const { post, world } = yield* opened
      const outside = world.words["outside"] ?? ""
      const { content } = described.paths["/hub"].post.requestBody
      assert.deepStrictEqual(Object.keys(content), [form, "application/json", "multipart/form-data"])
      const [subscribe, unsubscribe, publish] = content[form].schema.oneOf
      assert.deepStrictEqual([subscribe.required, unsubscribe.required, publish.required], [
        ["hub.mode", "hub.topic", "hub.callback"],
        ["hub.mode", "hub.topic", "hub.callback"],
        ["hub.mode", "hub.url"]
      ])
      const lease = subscribe.properties["hub.lease_seconds"]
      const { maxLength } = subscribe.properties["hub.secret"]
      const token = subscribe.properties["hub.verify_token"].maxLength
      assert.deepStrictEqual([lease.minimum, lease.default, maxLength, token], [0, 864_000, 199, 1024])
      const methods: ReadonlyArray<string> = subscribe.properties["hub.signature"].enum
      const taken = [
        ["hub.lease_seconds", String(lease.minimum)],
        ["hub.lease_seconds", String(lease.maximum)],
        ["hub.secret", "s".repeat(maxLength)],
        ["hub.verify_token", "t".repeat(token)],
        ...methods.map((method) => ["hub.signature", method] as const)
      ] as const
      const refused = [
        ["hub.lease_seconds", String(lease.minimum - 1)],
        ["hub.lease_seconds", String(lease.maximum + 1)],
        ["hub.secret", "s".repeat(maxLength + 1)],
        ["hub.verify_token", "t".repeat(token + 1)],
        ["hub.signature", "md5"]
      ] as const
      const ask = ([name, value]: readonly [string, string], index: number) =>
        Effect.map(
          post("/hub", {
            "hub.mode": "subscribe",
            "hub.topic": `${outside}/feed`,
            "hub.callback": `${outside}/of/${name}/${index}`,
            [name]: value
          }),
          ({ status }) => status
        )
      assert.deepStrictEqual(yield* Effect.forEach(taken, ask), taken.map(() => 202))
      assert.deepStrictEqual(yield* Effect.forEach(refused, ask), refused.map(() => 422))
    }))

  it.effect("has a page with each operation, which makes no requests to other sites", () =>
    Effect.gen(function*() {
      const { get } = yield* opened
      const page = yield* get("/docs/reference")
      assert.strictEqual(page.status, 200)
      assert.match(page.headers.get("content-type") ?? "", /^text\/html/)
      assert.match(page.headers.get("content-security-policy") ?? "", /^default-src 'none'.*connect-src 'self'/)
      assert.notMatch(page.body, /<(?:script|link|img|iframe)[^>]*(?:src|href)="(?!\/assets\/)/)
      for (const mode of Object.keys(operations)) assert.include(page.body, `hub.mode=${mode}</span>`)
      for (const { path } of [...managementRoutes, ...streamedRoutes]) assert.include(page.body, `<code>${path}</code>`)
    }))
})

interface Described {
  readonly oneOf: ReadonlyArray<{
    readonly properties: {
      readonly [name: string]: { readonly maximum?: number; readonly enum?: ReadonlyArray<string> }
    }
  }>
}
