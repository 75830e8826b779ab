import { assert, layer } from "@effect/vitest"
import { Effect, Option, Redacted, Schedule, type Scope } from "effect"
import { Hub } from "#actors/operations/Hub.ts"
import { rights } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { layerWith, openPublisherHub, type PublisherHub } from "#test/support/PublisherHub.ts"
import { unique } from "#test/support/StoreFixture.ts"

const atom = "application/atom+xml"

const feed = (ids: string, links = "") =>
  `<feed xmlns="http://www.w3.org/2005/Atom"><title>A feed</title>${links}${
    ids.split(" ").map((id) => `<entry><id>${id}</id><title>${id}</title></entry>`).join("")
  }</feed>`

const idsOf = (body: string) => [...body.matchAll(/<entry[^>]*>.*?<id>(.*?)<\/id>/gs)].map((match) => match[1])

/** Windhover subscribes at a publisher's hub. Polls are a minute apart, so no poll interferes. */
layer(layerWith(), { excludeTestServices: true })("a publisher's hub", (it) => {
  const test = (name: string, body: (hub: PublisherHub) => Effect.Effect<void, unknown, Services>) =>
    it.effect(name, () => Effect.flatMap(openPublisherHub, body))

  test("is found in the Link header first, and its pushes reach subscribers at once", (hub) =>
    Effect.gen(function*() {
      const topic = `${hub.url}/feed.xml`
      const links = "<link rel=\"hub\" href=\"http://127.0.0.1:9/\"/><link rel=\"self\" href=\"http://127.0.0.1:9/x\"/>"
      const link = `<${hub.hub}>; rel="hub", </feed.xml>; rel="self"`
      hub.serve("/feed.xml", { type: atom, body: feed("one", links), link })
      yield* watched(hub, "/feed.xml")
      yield* hub.until(() => hub.subscribers.size === 1)
      const [form] = hub.requests
      assert.deepStrictEqual([form?.get("hub.mode"), form?.get("hub.topic")], ["subscribe", topic])
      assert.match(form?.get("hub.callback") ?? "", /^http:\/\/127\.0\.0\.1:\d+\/upstream\/[\w-]{32}$/)
      assert.match(form?.get("hub.secret") ?? "", /^[\w-]{43}$/)
      assert.deepStrictEqual(yield* hub.distribute(topic, { type: atom, body: feed("two one") }), [202])
      yield* hub.until(() => hub.received.length === 1)
      assert.deepStrictEqual(idsOf(hub.received[0]?.body ?? ""), ["two"])
      assert.include(hub.received[0]?.body, "Fetched (push) 200 60 and parsed 1/2 entries")
      assert.strictEqual(hub.fetches("/feed.xml"), 1)
    }))

  test("may push new entries only: older entries stay known, and no entry is sent twice", (hub) =>
    Effect.gen(function*() {
      const topic = `${hub.url}/feed.xml`
      const many = Array.from({ length: 20 }, (_, i) => `e${i}`).join(" ")
      const links = `<link rel="hub" href="${hub.hub}"/><link rel="self" href="${topic}"/>`
      hub.serve("/feed.xml", { type: atom, body: feed(many, links) })
      yield* watched(hub, "/feed.xml")
      yield* hub.until(() => hub.subscribers.size === 1)
      for (const method of ["sha1", "sha256", "sha384", "sha512"]) {
        yield* hub.distribute(topic, { type: atom, body: feed(method) }, { method })
      }
      yield* hub.distribute(topic, { type: atom, body: feed("sha512") })
      hub.serve("/feed.xml", { type: atom, body: feed(`last sha512 sha384 sha256 sha1 ${many}`, links) })
      yield* (yield* Hub).publish([topic])
      yield* hub.until(() => hub.received.length === 5)
      assert.deepStrictEqual(hub.received.map(({ body }) => idsOf(body)), [
        ["sha1"],
        ["sha256"],
        ["sha384"],
        ["sha512"],
        [
          "last"
        ]
      ])
    }))

  test("is ignored with a wrong signature, and refused without one", (hub) =>
    Effect.gen(function*() {
      const topic = `${hub.url}/feed.xml`
      hub.serve("/feed.xml", { type: atom, body: feed("one"), link: `<${hub.hub}>; rel=hub, <${topic}>; rel=self` })
      yield* watched(hub, "/feed.xml")
      yield* hub.until(() => hub.subscribers.size === 1)
      const page = { type: atom, body: feed("forged") }
      for (const signature of [null, ""]) {
        assert.deepStrictEqual(yield* hub.distribute(topic, page, { signature }), [400])
      }
      for (const signature of ["sha256=", `sha256=${"0".repeat(64)}`, `md5=${"0".repeat(32)}`, "none"]) {
        assert.deepStrictEqual(yield* hub.distribute(topic, page, { signature }), [202])
      }
      assert.deepStrictEqual(yield* hub.distribute(topic, { type: atom, body: feed("true") }), [202])
      yield* hub.until(() => hub.received.length === 1)
      assert.deepStrictEqual(idsOf(hub.received[0]?.body ?? ""), ["true"])
    }))

  test("gets a confirmation only for Windhover's own request", (hub) =>
    Effect.gen(function*() {
      const topic = `${hub.url}/feed.xml`
      hub.serve("/feed.xml", { type: atom, body: feed("one"), link: `<${hub.hub}>; rel=hub, <${topic}>; rel=self` })
      yield* watched(hub, "/feed.xml")
      yield* hub.until(() => hub.subscribers.size === 1)
      const callback = hub.requests[0]?.get("hub.callback") ?? ""
      const right = { "hub.mode": "subscribe", "hub.topic": topic, "hub.challenge": "c", "hub.lease_seconds": "9" }
      const statuses = yield* Effect.forEach(
        [
          [callback, right],
          [callback.replace("/upstream", "//upstream"), right],
          [callback, { ...right, "hub.topic": `${topic}?x` }],
          [callback, { ...right, "hub.mode": "unsubscribe" }],
          [callback, { ...right, "hub.mode": "publish" }],
          [callback, {}],
          [callback.replace(/.{4}$/, "AAAA"), right],
          [callback.slice(0, -1), right],
          [new URL("/upstream/", callback).href, right]
        ] as const,
        ([url, parameters]) => Effect.map(hub.verify(url, parameters), ({ status }) => status)
      )
      assert.deepStrictEqual(statuses, [200, 200, 404, 404, 404, 404, 404, 404, 404])
    }))

  test("is followed through redirects, and unsubscribed without watchers", (hub) =>
    Effect.gen(function*() {
      const topic = `${hub.url}/data.json`
      hub.redirect = { status: 308, times: 2 }
      hub.serve("/data.json", {
        type: "application/json",
        body: "{\"a\":1}",
        link: `<${hub.hub}>; rel="hub", <${topic}>; rel="self"`
      })
      const { caller } = yield* watched(hub, "/data.json")
      yield* hub.until(() => hub.subscribers.size === 1)
      yield* hub.distribute(topic, { type: "application/json", body: "{\"a\":2}" })
      yield* hub.until(() => hub.received.length === 1)
      assert.deepStrictEqual([hub.received[0]?.type, hub.received[0]?.body], ["application/json", "{\"a\":2}"])
      const [subscriber] = [...hub.subscribers.values()]
      yield* (yield* Hub).unsubscribe({ caller, topic, callback: hub.webhook, face: "api" })
      yield* hub.until(() => hub.subscribers.size === 0)
      const gone = yield* Effect.promise(() => fetch(subscriber?.callback ?? "", { method: "POST", body: "x" }))
      assert.strictEqual(gone.status, 410)
    }))

  test("is found in the head of a page", (hub) =>
    Effect.gen(function*() {
      const topic = `${hub.url}/page`
      const page = (text: string) =>
        `<html><head><link rel=hub href="/hub"><link rel=self href="/page"></head><body><p>${text}</p></body></html>`
      hub.serve("/page", { type: "text/html", body: page("one") })
      yield* watched(hub, "/page", "#p")
      yield* hub.until(() => hub.subscribers.size === 1)
      hub.serve("/page", { type: "text/html", body: page("two") }) // a fragment needs a fetch of the page
      yield* hub.distribute(topic, { type: "text/html", body: page("pushed") })
      yield* hub.until(() => hub.received.length === 1)
      assert.strictEqual(hub.received[0]?.body, "<p>two</p>")
    }))
})

type Services = Hub | AccountStore | ResourceStore | Scope.Scope

/** Subscribes the webhook to this path, and waits for the first fetch. */
const watched = Effect.fnUntraced(function*(hub: PublisherHub, path: string, fragment = "") {
  const service = yield* Hub
  yield* service.ready.pipe(Effect.repeat({ until: (awake) => awake, schedule: Schedule.spaced("10 millis") }))
  const account = yield* (yield* AccountStore).create(unique("ann"), Redacted.make("a password"))
  const caller = { account, rights: new Set(rights), credential: "test" }
  const topic = `${hub.url}${path}${fragment}`
  yield* service.subscribe({ caller, topic, callback: hub.webhook, face: "api", retrieve: true })
  assert.isTrue(Option.exists(yield* (yield* ResourceStore).find(topic), ({ lastParse }) => lastParse !== undefined))
  return { caller }
})
