import { assert, describe, layer } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { createHmac } from "node:crypto"
import * as ConversationWorld from "#test/support/ConversationWorld.ts"
import { bytesOf, makeStage, type Stage } from "#test/support/WebSub.ts"

/**
 * The open hub against the W3C recommendation of 2018 (https://www.w3.org/TR/websub/). Titles begin with its section numbers.
 */
layer(ConversationWorld.layer, { excludeTestServices: true })("WebSub", (it) => {
  const test = (name: string, body: (stage: Stage) => Effect.Effect<void, never, Scope.Scope>) =>
    it.effect(name, () => Effect.flatMap(makeStage, body))

  describe("4 Discovery", () => {
    test("a GET of the hub describes it", ({ hub }) =>
      Effect.gen(function*() {
        const answer = yield* Effect.promise(() => fetch(hub))
        assert.strictEqual(answer.status, 200)
        assert.match(yield* Effect.promise(() => answer.text()), /open WebSub hub.*hub\.mode=subscribe/)
      }))
  })

  describe("5.1 Subscriber sends subscription request", () => {
    test("5.1.2 an accepted request gets 202 without a body, before the hub asks the callback", (stage) =>
      Effect.gen(function*() {
        const { body, status } = yield* stage.post(stage.subscription())
        assert.deepStrictEqual([status, body], [202, ""])
        yield* stage.nth("/callback", "GET", 1)
      }))

    test("5.1 the hub ignores unknown parameters", (stage) =>
      Effect.gen(function*() {
        yield* stage.subscribed({ "hub.foo": "bar", foo: "bar", "hub.x": "" })
        const { parameters } = yield* stage.nth("/callback", "GET", 1)
        assert.deepStrictEqual([...parameters.keys()], ["hub.mode", "hub.topic", "hub.challenge", "hub.lease_seconds"])
      }))

    for (const missing of ["hub.mode", "hub.topic", "hub.callback"]) {
      test(`5.1 ${missing} is required`, (stage) =>
        Effect.gen(function*() {
          const { [missing]: _, ...fields } = stage.subscription()
          const { body, status } = yield* stage.post(fields)
          assert.deepStrictEqual([status, body.includes(missing)], [422, true])
        }))
    }

    const wrong: ReadonlyArray<readonly [name: string, value: string]> = [
      ["hub.mode", "sing"],
      ["hub.topic", "nowhere"],
      ["hub.topic", "ftp://example.org/feed"],
      ["hub.callback", "nowhere"],
      ["hub.callback", "mailto:me@example.org"],
      ["hub.lease_seconds", "ten days"],
      ["hub.lease_seconds", "-1"],
      ["hub.signature", "md5"],
      ["hub.secret", "s".repeat(200)],
      ["hub.secret", "whsec_no base64"]
    ]
    test("5.1.2 a wrong request gets 4xx with a description as text", (stage) =>
      Effect.gen(function*() {
        for (const [name, value] of wrong) {
          const { body, headers, status } = yield* stage.post(stage.subscription({ [name]: value }))
          assert.strictEqual(status, 422, `${name}=${value}`)
          assert.match(body, /\w+ \w+.*\S$/, name)
          assert.strictEqual(headers.get("content-type"), "text/plain; charset=utf-8")
        }
        assert.deepStrictEqual(stage.calls("/callback", "GET"), [])
      }))

    test("5.1 a secret has fewer than 200 bytes", (stage) => stage.subscribed({ "hub.secret": "s".repeat(199) }))

    test("5.1 subscribing again replaces the subscription: one notification", (stage) =>
      Effect.gen(function*() {
        yield* stage.subscribed()
        yield* stage.subscribed()
        yield* stage.update("second")
        yield* stage.nth("/callback", "POST", 1)
        yield* stage.update("third")
        const bodies = [yield* stage.nth("/callback", "POST", 1), yield* stage.nth("/callback", "POST", 2)]
        assert.deepStrictEqual(bodies.map(({ body }) => body.toString()), ["second", "third"])
      }))

    test("5.1 each callback has its own subscription, and its query belongs to it", (stage) =>
      Effect.gen(function*() {
        yield* stage.subscribed({ "hub.callback": `${stage.url}/one?x=1` })
        yield* stage.subscribed({ "hub.callback": `${stage.url}/one?x=2` })
        yield* stage.subscribed({ "hub.callback": `${stage.url}/two` })
        yield* stage.update("second")
        const one = [yield* stage.nth("/one", "POST", 1), yield* stage.nth("/one", "POST", 2)]
        assert.deepStrictEqual(one.map(({ query }) => query).toSorted(), ["x=1", "x=2"])
        assert.strictEqual((yield* stage.nth("/two", "POST", 1)).body.toString(), "second")
      }))
  })

  describe("5.2 Subscription validation", () => {
    test("a subscription that fails after the 202 is denied with topic and reason", (stage) =>
      Effect.gen(function*() {
        stage.answer("/callback", () => ({ status: 404 }))
        assert.strictEqual((yield* stage.post(stage.subscription())).status, 202)
        const { parameters } = yield* stage.nth("/callback", "GET", 2)
        assert.deepStrictEqual(
          [parameters.get("hub.mode"), parameters.get("hub.topic"), parameters.has("hub.challenge")],
          ["denied", `${stage.url}/topic`, false]
        )
        assert.match(parameters.get("hub.reason") ?? "", /You returned 404/)
      }))
  })

  describe("5.3 Hub verifies intent of the subscriber", () => {
    test("asks with mode, topic, challenge and lease after the callback's own query", (stage) =>
      Effect.gen(function*() {
        yield* stage.subscribed({ "hub.callback": `${stage.url}/callback?a=1&b=%20&hub.mode=mine` })
        const { parameters, query } = yield* stage.nth("/callback", "GET", 1)
        assert.isTrue(query.startsWith("a=1&b=%20&hub.mode=mine&hub.mode=subscribe&"), query)
        assert.strictEqual(parameters.get("hub.topic"), `${stage.url}/topic`)
        assert.strictEqual(parameters.get("hub.lease_seconds"), "864000")
        assert.isAtLeast(parameters.get("hub.challenge")?.length ?? 0, 16)
      }))

    test("repeats the topic byte for byte, as the subscriber spelled it", (stage) =>
      Effect.gen(function*() {
        const topic = `${stage.url.replace("http", "HTTP")}/./topic?q=%7Ea&é=ü`
        yield* stage.subscribed({ "hub.topic": topic })
        assert.strictEqual((yield* stage.nth("/callback", "GET", 1)).parameters.get("hub.topic"), topic)
      }))

    test("uses a new challenge each time", (stage) =>
      Effect.gen(function*() {
        yield* stage.subscribed()
        yield* stage.subscribed()
        const challenges = stage.calls("/callback", "GET").map(({ parameters }) => parameters.get("hub.challenge"))
        assert.strictEqual(new Set(challenges).size, 2)
      }))

    test("grants the requested lease, between one and ninety days", (stage) =>
      Effect.gen(function*() {
        const granted: Array<string | null> = []
        for (const lease of ["1", "100000", "999999999999"]) {
          yield* stage.subscribed({ "hub.lease_seconds": lease })
          granted.push(stage.calls("/callback", "GET").at(-1)?.parameters.get("hub.lease_seconds") ?? null)
        }
        assert.deepStrictEqual(granted, ["86400", "100000", "7776000"])
      }))

    const refusals = [
      ["404", () => ({ status: 404 })],
      ["500 with the challenge", (challenge: string) => ({ status: 500, body: challenge })],
      ["an empty body", () => ({ status: 200, body: "" })],
      ["something else", () => ({ status: 200, body: "ok" })],
      ["the challenge within a page", (challenge: string) => ({ status: 200, body: `<p>${challenge}</p>` })],
      ["a redirect", () => ({ status: 302, location: "/agrees" })]
    ] as const
    for (const [name, reply] of refusals) {
      test(`5.3.1 ${name} is no consent`, (stage) =>
        Effect.gen(function*() {
          stage.answer("/callback", ({ parameters }) => reply(parameters.get("hub.challenge") ?? ""))
          yield* stage.subscribed({ "hub.callback": `${stage.url}/witness` })
          yield* stage.subscribed()
          yield* stage.nth("/callback", "GET", 2) // denied, so the request is finished
          yield* stage.update("second")
          yield* stage.nth("/witness", "POST", 1)
          yield* stage.update("third")
          yield* stage.nth("/witness", "POST", 2)
          assert.deepStrictEqual(stage.calls("/callback", "POST"), [])
          assert.deepStrictEqual(stage.calls("/agrees", "GET"), [])
        }))
    }

    test("5.3.1 any 2xx with the challenge is consent", (stage) =>
      Effect.gen(function*() {
        stage.answer("/callback", ({ parameters }) => ({ status: 201, body: parameters.get("hub.challenge") ?? "" }))
        yield* stage.subscribed()
        yield* stage.update("second")
        assert.strictEqual((yield* stage.nth("/callback", "POST", 1)).body.toString(), "second")
      }))

    test("a change right after the confirmation is delivered", (stage) =>
      Effect.gen(function*() {
        stage.answer("/callback", ({ parameters }) => {
          if (parameters.has("hub.challenge")) {
            stage.publish("/topic", { type: "text/plain", bytes: Buffer.from("at once") })
          }
          return { status: 200, body: parameters.get("hub.challenge") ?? "" }
        })
        yield* stage.subscribed()
        yield* stage.update("at once")
        assert.strictEqual((yield* stage.nth("/callback", "POST", 1)).body.toString(), "at once")
      }))
  })

  describe("5.3 Unsubscribing", () => {
    test("is verified like subscribing, and ends the deliveries", (stage) =>
      Effect.gen(function*() {
        yield* stage.subscribed()
        yield* stage.subscribed({ "hub.callback": `${stage.url}/witness` })
        yield* stage.update("second")
        yield* stage.nth("/callback", "POST", 1)
        yield* stage.subscribed({ "hub.mode": "unsubscribe" })
        const { parameters } = yield* stage.nth("/callback", "GET", 2)
        assert.deepStrictEqual([parameters.get("hub.mode"), parameters.get("hub.topic")], [
          "unsubscribe",
          `${stage.url}/topic`
        ])
        yield* stage.update("third")
        yield* stage.nth("/witness", "POST", 2)
        yield* stage.update("fourth")
        yield* stage.nth("/witness", "POST", 3)
        assert.strictEqual(stage.calls("/callback", "POST").length, 1)
      }))

    test("needs the callback's consent, and sends no denial", (stage) =>
      Effect.gen(function*() {
        yield* stage.subscribed()
        stage.answer("/callback", () => ({ status: 404 }))
        yield* stage.subscribed({ "hub.mode": "unsubscribe" })
        stage.answer("/callback", ({ parameters }) => ({ status: 200, body: parameters.get("hub.challenge") ?? "" }))
        yield* stage.update("second")
        yield* stage.nth("/callback", "POST", 1)
        assert.strictEqual(stage.calls("/callback", "GET").length, 2)
      }))

    test("without a subscription is an error of the request", (stage) =>
      Effect.gen(function*() {
        const { body, status } = yield* stage.post(stage.subscription({ "hub.mode": "unsubscribe" }))
        assert.deepStrictEqual([status, body.includes("is not subscribed to")], [422, true])
      }))
  })

  describe("6 Publishing", () => {
    test("needs hub.url or hub.topic, repeated or not", (stage) =>
      Effect.gen(function*() {
        const mode = ["hub.mode", "publish"] as const
        const unknown = ["hub.url", "http://unknown.example/"] as const
        const topic = ["hub.topic", `${stage.url}/topic`] as const
        yield* stage.subscribed()
        stage.publish("/topic", { type: "text/plain", bytes: Buffer.from("second") })
        assert.strictEqual((yield* stage.post([mode, unknown, topic])).status, 204)
        yield* stage.nth("/callback", "POST", 1)
        assert.strictEqual((yield* stage.post([mode])).status, 422)
      }))
  })

  describe("7 Content distribution", () => {
    const contents: ReadonlyArray<readonly [name: string, type: string, content: string | Uint8Array]> = [
      ["plain text in its own encoding", "text/plain; charset=iso-8859-1", Uint8Array.of(0x68, 0xe9, 0x0d, 0x0a, 0)],
      ["JSON", "application/json", "{\"a\" : [1,2, 3]}\n"],
      ["HTML", "text/html; charset=utf-8", "<!doctype html><title>é</title>"],
      [
        "a feed",
        "application/rss+xml; charset=utf-8",
        "<?xml version=\"1.0\"?>\n<!-- kept --><rss version=\"2.0\"><channel><title>T</title><item><guid>2</guid></item><item><guid>1</guid></item></channel></rss>"
      ]
    ]
    for (const [name, type, content] of contents) {
      test(`${name} comes whole, byte for byte, with its own Content-Type`, (stage) =>
        Effect.gen(function*() {
          const first = name === "a feed"
            ? "<rss version=\"2.0\"><channel><title>T</title><item><guid>1</guid></item></channel></rss>"
            : "first"
          stage.publish("/topic", { type, bytes: Buffer.from(first) })
          yield* stage.subscribed()
          yield* stage.update(content, type)
          const { body, headers } = yield* stage.nth("/callback", "POST", 1)
          assert.deepStrictEqual([headers["content-type"], body], [type, Buffer.from(bytesOf(content))])
        }))
    }

    test("names hub and topic in one Link header", (stage) =>
      Effect.gen(function*() {
        const topic = `${stage.url}/topic?`
        yield* stage.subscribed({ "hub.topic": topic })
        yield* stage.update("second")
        stage.publish("/topic", { type: "text/plain", bytes: Buffer.from("second") })
        yield* stage.post({ "hub.mode": "publish", "hub.url": topic })
        const call = yield* stage.nth("/callback", "POST", 1)
        assert.deepStrictEqual(call.all("link"), [
          `<http://windhover.test/hub>; rel="hub", <${topic}>; rel="self"`
        ])
      }))

    test("retries after a response other than 2xx, and follows no redirect", (stage) =>
      Effect.gen(function*() {
        yield* stage.subscribed()
        stage.answer("/callback", () =>
          stage.calls("/callback", "POST").length < 2 ? { status: 307, location: "/elsewhere" } : { status: 204 })
        yield* stage.update("second")
        const again = yield* stage.nth("/callback", "POST", 2)
        assert.strictEqual(again.body.toString(), "second")
        assert.deepStrictEqual(stage.calls("/elsewhere", "POST"), [])
      }))

    test("410 ends the subscription", (stage) =>
      Effect.gen(function*() {
        yield* stage.subscribed()
        yield* stage.subscribed({ "hub.callback": `${stage.url}/witness` })
        stage.answer("/callback", () => ({ status: 410 }))
        yield* stage.update("second")
        yield* stage.nth("/callback", "POST", 1)
        yield* stage.nth("/witness", "POST", 1)
        yield* stage.update("third")
        yield* stage.nth("/witness", "POST", 2)
        assert.strictEqual(stage.calls("/callback", "POST").length, 1)
      }))
  })

  describe("7.1 Authenticated content distribution", () => {
    for (const method of ["sha1", "sha256", "sha384", "sha512"]) {
      test(`8.1 signs the bytes of the body with ${method} when it is asked for`, (stage) =>
        Effect.gen(function*() {
          yield* stage.subscribed({ "hub.secret": "ünguessable", "hub.signature": method })
          yield* stage.update(Uint8Array.of(0, 255, 10))
          const { body, headers } = yield* stage.nth("/callback", "POST", 1)
          const expected = createHmac(method, "ünguessable").update(body).digest("hex")
          assert.strictEqual(headers["x-hub-signature"], `${method}=${expected}`)
          assert.isUndefined(headers["x-hub-signature-256"])
        }))
    }

    test("signs with SHA-1 by default, and not without a secret", (stage) =>
      Effect.gen(function*() {
        yield* stage.subscribed({ "hub.secret": "s" })
        yield* stage.subscribed({ "hub.callback": `${stage.url}/bare`, "hub.signature": "sha256" })
        yield* stage.update("second")
        const { body, headers } = yield* stage.nth("/callback", "POST", 1)
        assert.strictEqual(headers["x-hub-signature"], `sha1=${createHmac("sha1", "s").update(body).digest("hex")}`)
        const bare = yield* stage.nth("/bare", "POST", 1)
        assert.deepStrictEqual(Object.keys(bare.headers).filter((name) => name.startsWith("x-hub-")), [])
      }))
  })

  describe("PubSubHubbub 0.3", () => {
    test("hub.verify=sync gets 204 when the callback agrees, otherwise 422", (stage) =>
      Effect.gen(function*() {
        const sync = { "hub.verify": "sync", "hub.verify_token": "a b&c" }
        assert.strictEqual((yield* stage.post(stage.subscription(sync))).status, 204)
        const { parameters } = yield* stage.nth("/callback", "GET", 1)
        assert.strictEqual(parameters.get("hub.verify_token"), "a b&c")
        stage.answer("/callback", () => ({ status: 200, body: "no" }))
        const { body, status } = yield* stage.post(stage.subscription(sync))
        assert.deepStrictEqual([status, /didn't echo the challenge/.test(body)], [422, true])
        assert.strictEqual(stage.calls("/callback", "GET").length, 2)
      }))

    test("hub.verify=async is the default; other words are an error", (stage) =>
      Effect.gen(function*() {
        yield* stage.subscribed({ "hub.verify": "async" })
        assert.strictEqual((yield* stage.post(stage.subscription({ "hub.verify": "never" }))).status, 422)
      }))
  })
})
