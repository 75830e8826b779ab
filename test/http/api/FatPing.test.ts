import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { createHmac } from "node:crypto"
import type { PublishOptions } from "#actors/operations/Hub.ts"
import { refuse, Unavailable } from "#domain/Refusal.ts"
import { form, makeApi } from "#test/support/Api.ts"

const secret = "a secret of sixteen"

const sign = (content: string, method = "sha256", key = secret) =>
  `${method}=${createHmac(method, key).update(content).digest("hex")}`

const publishers = [
  { prefix: "http://a.example/", secret: Redacted.make(secret) },
  { prefix: "http://b.example/feed", secret: Redacted.make("another secret of b") }
]

const feed = "<feed><title>é</title></feed>"

/** The content that reached the hub, or the status and sentence of the refusal. */
const ping = Effect.fnUntraced(function*(fields: Record<string, string>, url = "http://a.example/feed") {
  let seen: PublishOptions | undefined
  const api = yield* makeApi(
    { publish: (_, publishing) => Effect.sync(() => void (seen = publishing)) },
    undefined,
    { publishers }
  )
  const { body, status } = yield* api("/", form({ "hub.mode": "publish", "hub.url": url, ...fields }))
  const content = seen?.content
  return status === 204
    ? content === undefined ? "no content" : { ...content, body: new TextDecoder().decode(content.body) }
    : `${status} ${body}`
})

describe("a fat ping", () => {
  it.effect.each(["sha1", "sha256", "sha384", "sha512"])("is signed with %s", (method) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* ping({ "hub.content": feed, "hub.signature": sign(feed, method) }), {
        contentType: "application/xml; charset=utf-8",
        body: feed
      })
    }))

  it.effect("may be JSON, and may have a SHA-1 signature without a method", () =>
    Effect.gen(function*() {
      const json = "{\"version\": \"https://jsonfeed.org/version/1\"}"
      const bare = sign(json, "sha1").replace("sha1=", "").toUpperCase()
      assert.deepStrictEqual(yield* ping({ "hub.content": json, "hub.signature": bare }), {
        contentType: "application/json",
        body: json
      })
    }))

  it.effect("counts as a plain ping when its content is repeated, for any topic of the publisher", () =>
    Effect.gen(function*() {
      const seen: Array<string | undefined> = []
      const api = yield* makeApi(
        { publish: (_, content) => Effect.sync(() => void seen.push(content?.content && "content")) },
        undefined,
        { publishers }
      )
      const send = (content: string, url: string) =>
        api(
          "/",
          form({ "hub.mode": "publish", "hub.url": url, "hub.content": content, "hub.signature": sign(content) })
        )
      const statuses = [
        yield* send(feed, "http://a.example/1"),
        yield* send(feed, "http://a.example/1"),
        yield* send(feed, "http://a.example/2"),
        yield* send(`${feed} `, "http://a.example/2")
      ].map(({ status }) => status)
      assert.deepStrictEqual(statuses, [204, 204, 204, 204])
      assert.deepStrictEqual(seen, ["content", undefined, undefined, "content"])
    }))

  it.effect("may be repeated after a failure", () =>
    Effect.gen(function*() {
      const seen: Array<string | undefined> = []
      let full = true
      const api = yield* makeApi(
        {
          publish: (_, publishing) =>
            Effect.suspend(() => {
              if (full) return Effect.fail(refuse(new Unavailable({ message: "Too much.", retryAfter: 10 })))
              return Effect.sync(() => void seen.push(publishing?.content && "content"))
            })
        },
        undefined,
        { publishers }
      )
      const fields = { "hub.mode": "publish", "hub.url": "http://a.example/1" }
      const send = api("/", form({ ...fields, "hub.content": feed, "hub.signature": sign(feed) }))
      const refused = yield* send
      assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [503, "10"])
      full = false
      assert.strictEqual((yield* send).status, 204)
      assert.deepStrictEqual(seen, ["content"])
    }))

  it.effect("is a plain ping without content", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* ping({}), "no content")
    }))

  const refused = "422 hub.signature does not match hub.content and the publisher's secret."
  const unknownPublisher = "422 hub.content is not accepted for this hub.url: its publisher has no secret here. " +
    "Without hub.content, Windhover fetches the URL."
  it.effect.each(
    [
      [{ "hub.content": feed, "hub.signature": sign(`${feed} `) }, undefined, refused],
      [{ "hub.content": feed, "hub.signature": sign(feed, "sha256", "another secret of b") }, undefined, refused],
      [{ "hub.content": feed, "hub.signature": sign(feed).replace("sha256", "md5") }, undefined, refused],
      [{ "hub.content": feed, "hub.signature": sign(feed).slice(0, 20) }, undefined, refused],
      [{ "hub.content": feed, "hub.signature": "sha256=" }, undefined, refused],
      [
        { "hub.content": feed },
        undefined,
        "422 Please provide a hub.signature: sha256=HEX, the HMAC of hub.content."
      ],
      [{ "hub.signature": sign(feed) }, undefined, "422 hub.signature came without the hub.content that it signs."],
      [{ "hub.content": feed, "hub.signature": sign(feed) }, "http://a.example.evil/feed", unknownPublisher],
      [{ "hub.content": feed, "hub.signature": sign(feed) }, "https://a.example/feed", unknownPublisher],
      [
        { "hub.content": feed, "hub.signature": sign(feed, "sha256", "another secret of b") },
        "http://b.example/feed2",
        unknownPublisher
      ],
      [
        { "hub.content": feed, "hub.signature": sign(feed) },
        "http://a.example/1,http://a.example/2",
        "422 hub.content is the content of one hub.url; received 2."
      ]
    ] as const
  )("%# is refused", ([fields, url, expected]) =>
    Effect.gen(function*() {
      assert.strictEqual(yield* ping(fields, url), expected)
    }))
})
