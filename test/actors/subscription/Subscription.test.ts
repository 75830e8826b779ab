import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Layer, Option, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/operations/Hub.ts"
import { Recovery } from "#actors/operations/Recovery.ts"
import { type Sender, Senders } from "#actors/subscription/Senders.ts"
import { join, type Message } from "#actors/subscription/Subscription.ts"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import { hashBytes } from "#domain/Fingerprint.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import * as Topic from "#domain/Topic.ts"
import * as Settings from "#layers/Settings.ts"
import * as MemoryStores from "#test/fakes/MemoryStores.ts"
import { feed, headers, hook, lines, started, subscribe, unsubscribe, watched } from "#test/support/HubCalls.ts"
import { layerPartition, watchTopics } from "#test/support/PartitionActors.ts"
import {
  type Answer,
  caller,
  documentOf,
  hangs,
  layer,
  layerOutside,
  layerRunner,
  layerSending,
  layerWith
} from "#test/support/SimulatedWeb.ts"

/** A page that is no feed, as an answer. */
const pageOf = (text: string) => {
  const body = new TextEncoder().encode(text)
  return { ...documentOf([]), headers: { "content-type": "text/plain" }, body, signature: hashBytes(body) }
}

/** A subscription to `feed` whose notifications go to a JID. */
const subscribeJid = Effect.gen(function*() {
  const topic = Result.getOrThrow(Topic.parse(feed))
  yield* (yield* SubscriptionStore).subscribe({
    accountId: 1,
    topic,
    partition: Topic.partitionOf(topic.host),
    channel: "xmpp",
    endpoint: "ann@example.net",
    host: "example.net",
    face: "api",
    state: "active"
  })
  yield* TestClock.adjust("1 second")
  yield* (yield* Hub).publish([feed])
  yield* TestClock.adjust("1 second")
})

const ids = (count: number) => Array.from({ length: count }, (_, i) => `n${count - i}`)

/** A delivery whose document has so many bytes. */
const heavy = (sequence: number, bytes: number): Message => ({
  _tag: "Deliver",
  delivery: {
    id: sequence,
    subscriptionId: 1,
    sequence,
    credits: 0,
    attempt: 0,
    dueAt: 0,
    waitsSince: 0,
    notification: {
      id: sequence,
      resourceId: 1,
      createdAt: 0,
      status: {},
      news: { _tag: "Document", document: { contentType: "video/mp4", body: new Uint8Array(bytes) } }
    }
  }
})

describe("the mailbox of a subscription", () => {
  const joined = (sizes: ReadonlyArray<number>) => {
    const waiting: Array<Message> = []
    sizes.forEach((bytes, i) => join(waiting, heavy(i + 1, bytes)))
    return waiting.map((message) => message._tag === "Deliver" ? message.delivery.sequence : message._tag)
  }
  const most = 256 << 10

  it("holds at most 1 MiB of documents, none above 256 KiB; the outbox holds the others", () => {
    assert.deepStrictEqual(joined([most, most, most, most, 1]), [1, 2, 3, 4, "CheckOutbox"])
    assert.deepStrictEqual(joined([1, most + 1]), [1, "CheckOutbox"])
  })

  it("holds 64 deliveries at most", () => {
    assert.deepStrictEqual(joined(Array.from({ length: 100 }, () => 0)).length, 65)
  })
})

describe("a subscription", () => {
  it.effect("waits as long as its callback asks with Retry-After, an hour at most, and otherwise as always", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const answers = [
        { status: 503, retryAfter: "60" },
        { status: 429, retryAfter: "Thu, 01 Jan 1970 09:00:00 GMT" },
        { status: 500, retryAfter: "600" },
        { status: 200 }
      ]
      web.answer(hook("good"), () => Effect.sync(() => answers.shift() ?? { status: 200 }))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("2 hours")
      assert.deepStrictEqual(lines(web, "post"), [
        "61s post good.hooks.example/ b try 0",
        "121s post good.hooks.example/ b try 1",
        "3721s post good.hooks.example/ b try 2",
        "3736s post good.hooks.example/ b try 3"
      ])
      const log = yield* DeliveryLog.use(({ list }) => list({ limit: 10 }))
      assert.deepStrictEqual(log.items.filter(({ outcome }) => outcome === "failed").map(({ message }) => message), [
        "The callback answered 500.",
        "The callback answered 429. It asks to wait 3600 s.",
        "The callback answered 503. It asks to wait 60 s."
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("gets entries that are too large together in halves, in order, each with a number of its own", () =>
    Effect.gen(function*() {
      const web = yield* watched("good", "other")
      let most = 2
      web.answer(
        hook("good"),
        ({ body }) => Effect.sync(() => new TextDecoder().decode(body).split("<entry").length - 1 > most ? 413 : 200)
      )
      web.publish(feed, [...ids(5), "first"])
      yield* TestClock.adjust("60 seconds")
      most = 1
      web.publish(feed, ["z", "y", ...ids(5), "first"])
      yield* (yield* Hub).publish([feed])
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(lines(web, "post good"), [
        "61s post good.hooks.example/ n5,n4,n3,n2,n1 try 0",
        "61s post good.hooks.example/ n2,n1 try 0",
        "61s post good.hooks.example/ n5,n4,n3 try 0",
        "61s post good.hooks.example/ n3 try 0",
        "61s post good.hooks.example/ n5,n4 try 0",
        "62.3s post good.hooks.example/ z,y try 0",
        "62.3s post good.hooks.example/ y try 0",
        "62.3s post good.hooks.example/ z try 0"
      ])
      assert.deepStrictEqual(headers(web, "good", "X-Windhover-Sequence"), ["1", "1", "2", "2", "3", "4", "4", "5"])
      assert.deepStrictEqual(
        headers(web, "good", "X-Service-Credits").slice(0, 5),
        Array.from({ length: 5 }, () => "-1")
      )
      const known = headers(web, "good", "X-Windhover-Notification-Id")
      const [whole = assert.fail()] = known
      assert.deepStrictEqual(known.slice(0, 5), [whole, `${whole}-1`, `${whole}-2`, `${whole}-2`, `${whole}-3`])
      assert.deepStrictEqual(headers(web, "other", "X-Windhover-Sequence"), ["1", "2"])
    }).pipe(Effect.provide(layer)))

  it.effect("retries a resent notification that is too large and cannot be split, and drops it with the reason", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const post = "post good.hooks.example/ "
      let most = 2
      web.answer(
        hook("good"),
        ({ body }) => Effect.sync(() => new TextDecoder().decode(body).split("<entry").length - 1 > most ? 413 : 200)
      )
      web.publish(feed, [...ids(2), "first"])
      yield* TestClock.adjust("61 seconds")
      web.publish(feed, ["z", ...ids(2), "first"])
      yield* (yield* Hub).publish([feed])
      yield* TestClock.adjust("2 seconds")
      const sent = headers(web, "good", "X-Windhover-Sequence")
      assert.deepStrictEqual(sent, ["1", "2"])
      most = 1
      const recovery = yield* Recovery
      yield* recovery.resend({ caller, topic: feed, callback: hook("good"), sequences: [1] })
      yield* TestClock.adjust("2 minutes")
      const again = lines(web, "post").slice(2).map((line) => line.replace(post, "").replace(/^\S+ /, ""))
      assert.deepStrictEqual(again, ["n2,n1 try 0", "n2,n1 try 1", "n2,n1 try 2", "n2,n1 try 3"])
      assert.deepStrictEqual(headers(web, "good", "X-Windhover-Sequence").slice(2), ["1", "1", "1", "1"])
      const log = yield* DeliveryLog.use(({ list }) => list({ limit: 10 }))
      const message = "The callback answered 413. It takes no 2 entries at once; they are not split, because a later " +
        "sequence is used already."
      assert.deepStrictEqual(
        log.items.flatMap((one) => one.outcome === "failed" || one.outcome === "dropped" ? [one.message] : []),
        Array.from({ length: 4 }, () => message)
      )
    }).pipe(Effect.provide(layer)))

  it.effect("retries an entry that is too large alone, drops it with the reason, and gets the others", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.answer(
        hook("good"),
        ({ body }) => Effect.sync(() => new TextDecoder().decode(body).includes("<id>n1</id>") ? 413 : 200)
      )
      web.publish(feed, [...ids(2), "first"])
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(lines(web, "post").map((line) => line.replace("post good.hooks.example/ ", "")), [
        "61s n2,n1 try 0",
        "61s n1 try 0",
        "66s n1 try 1",
        "76s n1 try 2",
        "91s n1 try 3",
        "91s n2 try 0"
      ])
      const log = yield* DeliveryLog.use(({ list }) => list({ limit: 10 }))
      const dropped = log.items.find((one) => one.outcome === "dropped" && one.attempt === 4)
      assert.strictEqual(
        dropped?.message,
        "The callback answered 413. It takes no notification of this size; one entry cannot be split."
      )
    }).pipe(Effect.provide(layer)))

  it.effect("gets its notifications in order, one at a time", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      let failures = 2
      web.answer(hook("good"), () => Effect.succeed(failures-- > 0 ? 500 : 200))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("60 seconds")
      web.publish(feed, ["c", "b", "first"])
      yield* (yield* Hub).publish([feed])
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(lines(web, "post"), [
        "61s post good.hooks.example/ b try 0",
        "66s post good.hooks.example/ b try 1",
        "76s post good.hooks.example/ b try 2",
        "76s post good.hooks.example/ c try 0"
      ])
      assert.deepStrictEqual(headers(web, "good", "X-Windhover-Sequence"), ["1", "1", "1", "2"])
      assert.deepStrictEqual(headers(web, "good", "X-Service-Credits"), ["-1", "-1", "-1", "-2"])
      assert.deepStrictEqual(headers(web, "good", "X-Superfeedr-Credits"), ["-1", "-1", "-1", "-2"])
      assert.deepStrictEqual(headers(web, "good", "X-Service-Retried"), [undefined, "1", "2", undefined])
      const [one, same, , other] = headers(web, "good", "X-Windhover-Notification-Id")
      assert.strictEqual(one, same)
      assert.notStrictEqual(one, other)
    }).pipe(Effect.provide(layer)))

  it.effect("keeps a dropped notification, and sends the next one at once", () =>
    Effect.gen(function*() {
      const web = yield* watched("bad")
      web.answer(hook("bad"), () => Effect.succeed(lines(web, " b ").length <= 4 ? 500 : 200))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("60 seconds")
      web.answer(hook("bad"), (_, attempt) => Effect.succeed(attempt < 3 ? 500 : 404))
      web.publish(feed, ["c", "b", "first"])
      yield* TestClock.adjust("120 seconds")
      const list = yield* (yield* Hub).list({ caller, page: 1, byPage: 20, counted: true })
      assert.deepStrictEqual(list.items.map(({ deliveries }) => deliveries), [{ dropped: 2, waiting: 0 }])
      assert.deepStrictEqual(lines(web, "post").map((line) => line.replace(/ post \S+/, "")), [
        "61s b try 0",
        "66s b try 1",
        "76s b try 2",
        "91s b try 3",
        "121s c try 0",
        "126s c try 1",
        "136s c try 2",
        "151s c try 3"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("logs the time, reason and duration of each failed attempt, and the next attempt", () =>
    Effect.gen(function*() {
      const web = yield* watched("bad", "good")
      web.answer(hook("bad"), () => Effect.succeed(500))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("120 seconds")
      const { items: tries } = yield* (yield* DeliveryLog).list({ accountId: 1, limit: 10 })
      assert.deepStrictEqual(
        tries.flatMap((one) => one.outcome === "denied" ? [] : [one]).map(({
          attempt,
          code,
          endpoint,
          outcome,
          latency,
          nextTry,
          sequence,
          triedAt
        }) => [
          `${triedAt / 1000}s`,
          nextTry === undefined ? outcome : `${nextTry / 1000}s`,
          endpoint,
          sequence,
          attempt,
          code,
          latency
        ]),
        [
          ["91s", "dropped", hook("bad"), 1, 4, 500, 1],
          ["76s", "91s", hook("bad"), 1, 3, 500, 1],
          ["66s", "76s", hook("bad"), 1, 2, 500, 1],
          ["61s", "delivered", hook("good"), 1, 1, 200, 1],
          ["61s", "66s", hook("bad"), 1, 1, 500, 1]
        ]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("is not delayed by another one whose callback hangs", () =>
    Effect.gen(function*() {
      const web = yield* watched("hanging", "good")
      web.answer(hook("hanging"), hangs)
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("61 seconds")
      assert.deepStrictEqual(lines(web, "post"), [
        "61s post hanging.hooks.example/ b try 0",
        "61s post good.hooks.example/ b try 0"
      ])
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(lines(web, "hanging").slice(1), [
        "76s post hanging.hooks.example/ b try 1"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("pauses for 15 s, then 30 s, between notifications whose attempts all hang", () =>
    Effect.gen(function*() {
      const web = yield* watched("hanging")
      web.answer(hook("hanging"), hangs)
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("61 seconds")
      web.publish(feed, ["c", "b", "first"])
      yield* TestClock.adjust("60 seconds")
      web.publish(feed, ["d", "c", "b", "first"])
      yield* TestClock.adjust("137 seconds") // no attempt is under way then, for which a stop would wait
      assert.deepStrictEqual(lines(web, "post"), [
        "61s post hanging.hooks.example/ b try 0",
        "76s post hanging.hooks.example/ b try 1",
        "96s post hanging.hooks.example/ b try 2",
        "121s post hanging.hooks.example/ b try 3",
        "146s post hanging.hooks.example/ c try 0",
        "161s post hanging.hooks.example/ c try 1",
        "181s post hanging.hooks.example/ c try 2",
        "206s post hanging.hooks.example/ c try 3",
        "246s post hanging.hooks.example/ d try 0"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("ends when the callback answers 410", () =>
    Effect.gen(function*() {
      const web = yield* watched("gone", "good")
      web.answer(hook("gone"), () => Effect.succeed(410))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("61 seconds")
      web.publish(feed, ["c", "b", "first"])
      yield* TestClock.adjust("61 seconds")
      assert.deepStrictEqual(lines(web, "post gone"), ["61s post gone.hooks.example/ b try 0"])
      const log = yield* (yield* DeliveryLog).list({ accountId: 1, limit: 10 })
      const ends = log.items.filter(({ outcome }) => outcome === "ended")
      assert.deepStrictEqual(ends.map(({ code, endpoint, triedAt }) => [code, endpoint, triedAt]), [
        [410, hook("gone"), 61_000]
      ])
      assert.strictEqual(lines(web, "post good").length, 2)
      assert.strictEqual((yield* (yield* Hub).list({ caller, page: 1, byPage: 20 })).items.length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("stops the polls of its resource when it was the last subscription", () =>
    Effect.gen(function*() {
      const web = yield* watched("gone")
      web.answer(hook("gone"), () => Effect.succeed(410))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("61 seconds")
      web.log.length = 0
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(lines(web, "poll"), [])
    }).pipe(Effect.provide(layer)))

  it.effect("of the null device sends nothing, keeps nothing waiting, and counts for the credits", () =>
    Effect.gen(function*() {
      const web = yield* watched()
      yield* subscribe("null", { callback: "http://localhost:8080/dev/null" })
      yield* TestClock.adjust("1 second")
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("61 seconds")
      assert.deepStrictEqual(lines(web, "post"), [])
      const { items } = yield* (yield* Hub).list({ caller, page: 1, byPage: 20, counted: true })
      assert.deepStrictEqual(items.map(({ deliveries }) => deliveries), [{ dropped: 0, waiting: 0 }])
      assert.strictEqual(Option.getOrThrow(yield* (yield* AccountStore).find("ann")).credits, -1)
    }).pipe(Effect.provide(layer)))

  it.effect("of the null device ends with the lease that its address names, unless it is renewed", () =>
    Effect.gen(function*() {
      yield* watched()
      const renew = subscribe("null", { callback: "http://localhost:8080/dev/null?lease=600" })
      const count = Effect.map(
        Effect.flatMap(Hub, (hub) => hub.list({ caller, page: 1, byPage: 20, counted: true })),
        ({ items }) => items.length
      )
      yield* renew
      yield* TestClock.adjust("9 minutes")
      yield* renew
      yield* TestClock.adjust("9 minutes")
      assert.strictEqual(yield* count, 1)
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(yield* count, 0)
    }).pipe(Effect.provide(layer)))

  it.effect("waits while its channel is not served, and never uses another channel", () =>
    Effect.gen(function*() {
      const web = yield* watched()
      yield* subscribeJid
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(lines(web, "post"), [])
      const { items } = yield* (yield* Hub).list({ caller, page: 1, byPage: 20, counted: true })
      assert.deepStrictEqual(items.map(({ deliveries }) => deliveries), [{ dropped: 0, waiting: 1 }])
    }).pipe(Effect.provide(layer)))

  it.effect("checks an unavailable channel again after 15 s, without counting an attempt", () => {
    const tries: Array<string> = []
    const sender: Sender = (delivery) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        tries.push(`${now / 1000}s try ${delivery.attempt}`)
        return { verdict: now < 90_000 ? "unserved" : "delivered" }
      })
    const senders = layerSending(Layer.succeed(Senders, { xmpp: sender })).pipe(
      Layer.provideMerge(layerOutside),
      Layer.provideMerge(Settings.layerValues())
    )
    return Effect.gen(function*() {
      const web = yield* watched()
      yield* subscribeJid
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("118 seconds")
      assert.deepStrictEqual(tries, ["63s try 0", "78s try 0", "93s try 0"])
      const { items } = yield* (yield* Hub).list({ caller, page: 1, byPage: 20, counted: true })
      assert.deepStrictEqual(items.map(({ deliveries }) => deliveries), [{ dropped: 0, waiting: 0 }])
    }).pipe(Effect.provide(senders))
  })

  it.effect("keeps 64 deliveries in memory while one hangs, and finds the others in the outbox, in order", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      let first = true
      web.answer(hook("good"), (parcel, attempt) => {
        if (!first) return Effect.succeed(200)
        first = false
        return hangs(parcel, attempt)
      })
      const hub = yield* Hub
      for (let count = 1; count <= 200; count++) {
        web.publish(feed, [...ids(count), "first"])
        yield* hub.publish([feed])
        yield* TestClock.adjust("1 second")
      }
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(
        headers(web, "good", "X-Windhover-Sequence").map(Number),
        [1, ...Array.from({ length: 200 }, (_, i) => i + 1)]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("reads a large document only with room in memory, and returns the room", () => {
    const names = Array.from({ length: 8 }, (_, i) => `s${i}`)
    const exchanges = new MemoryBudget({ maxBytes: 1_200_000 })
    const memory = Layer.succeed(DocumentMemory, {
      fetches: new MemoryBudget(),
      reading: new MemoryBudget(),
      exchanges
    })
    return Effect.gen(function*() {
      const web = yield* started
      const serve = (size: number, letter: string) => web.serve(feed, () => Effect.succeed(pageOf(letter.repeat(size))))
      serve(1, "x")
      for (const name of names) yield* subscribe(name)
      for (const name of names) {
        web.answer(hook(name), (_, attempt) => attempt === 0 ? hangs(_, attempt) : Effect.succeed(200))
      }
      yield* TestClock.adjust("1 second")
      serve(300_000, "y")
      yield* Hub.use((hub) => hub.publish([feed]))
      yield* TestClock.adjust("2 seconds")
      // Two of 600,000 bytes, and the first one that waits.
      assert.deepStrictEqual([lines(web, "post").length, exchanges.bytes], [3, 1_800_000])
      yield* TestClock.adjust("5 minutes")
      for (const name of names) {
        assert.strictEqual(web.parcels.filter(({ callback }) => callback === hook(name)).length, 2, name)
      }
      assert.strictEqual(exchanges.bytes, 0)
    }).pipe(Effect.provide(Layer.provide(layer, memory)))
  })

  it.effect("reads a large document only with one of the 32 permits for large documents", () => {
    const names = Array.from({ length: 40 }, (_, i) => `s${i}`)
    /** Maximum numbers of deliveries in the outbox queries. */
    const requested: Array<number> = []
    const observed = Layer.effect(
      Outbox,
      Outbox.useSync((outbox) => ({
        ...outbox,
        backlog: (id: number, count: number, bytes?: number) => {
          requested.push(count)
          return outbox.backlog(id, count, bytes)
        }
      }))
    )
    return Effect.gen(function*() {
      const web = yield* started
      const serve = (size: number, letter: string) => web.serve(feed, () => Effect.succeed(pageOf(letter.repeat(size))))
      serve(1, "x")
      for (const name of names) yield* subscribe(name)
      for (const name of names) {
        web.answer(hook(name), (_, attempt) => attempt === 0 ? hangs(_, attempt) : Effect.succeed(200))
      }
      yield* TestClock.adjust("1 second")
      serve(300_000, "y")
      yield* Hub.use((hub) => hub.publish([feed]))
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(lines(web, "post").length, 32)
      assert.strictEqual(requested.filter((count) => count === 1).length, 32)

      serve(300_000, "z")
      yield* Hub.use((hub) => hub.publish([feed]))
      yield* TestClock.adjust("5 minutes")
      for (const name of names) {
        const bodies = web.parcels.filter(({ callback }) => callback === hook(name)).map(({ body }) =>
          body.length && String.fromCharCode(body[0] ?? 0)
        )
        assert.deepStrictEqual(bodies, ["y", "y", "z", "z"], name)
      }
      assert.strictEqual(requested.filter((count) => count === 1).length, 160)
    }).pipe(
      Effect.provide(layerRunner.pipe(Layer.provide(observed))),
      Effect.provide(layerOutside),
      Effect.provide(Settings.layerValues({ retry: "short" }))
    )
  })

  it.effect("stops running deliveries and cancels waiting ones at its end", () =>
    Effect.gen(function*() {
      const web = yield* watched("hanging")
      let interrupted = false
      web.answer(hook("hanging"), () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted = true)))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("60 seconds")
      web.publish(feed, ["c", "b", "first"])
      yield* (yield* Hub).publish([feed])
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(lines(web, "post"), ["61s post hanging.hooks.example/ b try 0"])
      assert.strictEqual(yield* unsubscribe("hanging"), "done")
      assert.isTrue(interrupted)
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(lines(web, "post"), ["61s post hanging.hooks.example/ b try 0"])
    }).pipe(Effect.provide(layer)))

  it.effect("holds no notification while it waits for a retry, and resumes in order", () => {
    const reads: Array<number> = []
    const watchedOutbox = Layer.effect(
      Outbox,
      Effect.gen(function*() {
        const outbox = yield* Outbox
        return Outbox.of({
          ...outbox,
          backlog: (...requested) =>
            Effect.tap(
              outbox.backlog(...requested),
              () => Effect.map(Clock.currentTimeMillis, (now) => void reads.push(now / 1000))
            )
        })
      })
    )
    return Effect.gen(function*() {
      const web = yield* watched("bad")
      web.answer(hook("bad"), (_, attempt) => Effect.succeed(attempt < 2 ? 500 : 200))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("61 seconds")
      reads.length = 0
      for (const ids of [["c", "b", "first"], ["d", "c", "b", "first"]]) {
        web.publish(feed, ids)
        yield* (yield* Hub).publish([feed])
        yield* TestClock.adjust("2 seconds")
      }
      yield* TestClock.adjust("60 seconds")
      assert.deepStrictEqual(lines(web, "post").slice(0, 4), [
        "61s post bad.hooks.example/ b try 0",
        "66s post bad.hooks.example/ b try 1",
        "76s post bad.hooks.example/ b try 2",
        "76s post bad.hooks.example/ c try 0"
      ])
      assert.deepStrictEqual(reads.slice(0, 2), [66, 76])
    }).pipe(
      Effect.provide(layerRunner.pipe(
        Layer.provideMerge(watchedOutbox),
        Layer.provideMerge(layerOutside),
        Layer.provideMerge(Settings.layerValues())
      ))
    )
  })

  it.effect("loses nothing while the database is away", () =>
    Effect.gen(function*() {
      const web = yield* watched("flaky")
      const faults = yield* MemoryStores.Faults
      let failures = 1
      web.answer(hook("flaky"), () => Effect.succeed(failures-- > 0 ? 500 : 200))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("58 seconds")
      yield* faults.down
      yield* TestClock.adjust("60 seconds")
      assert.deepStrictEqual(lines(web, "post"), [])
      yield* faults.up
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(lines(web, "post").map((line) => line.replace(/^.* post \S+/, "")), [
        " b try 0",
        " b try 1"
      ])
      failures = 1
      web.publish(feed, ["c", "b", "first"])
      yield* (yield* Hub).publish([feed])
      yield* TestClock.adjust(100)
      yield* faults.down
      yield* TestClock.adjust("60 seconds")
      yield* faults.up
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(lines(web, " c ").map((line) => line.replace(/^.* post \S+/, "")), [
        " c try 0",
        " c try 1"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("sends no second notification after a lost answer of the database", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const faults = yield* MemoryStores.Faults
      web.publish(feed, ["b", "first"])
      yield* faults.loseAnswer
      yield* TestClock.adjust("60 seconds")
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(headers(web, "good", "X-Windhover-Sequence"), ["1"])
    }).pipe(Effect.provide(layer)))

  it.effect("misses no notification while passive, and costs no memory", () =>
    Effect.gen(function*() {
      const web = yield* watched("good", "bad")
      web.answer(hook("bad"), () => Effect.succeed(500))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("68 seconds")
      web.publish(feed, ["c", "b", "first"])
      yield* TestClock.adjust("100 seconds")
      assert.deepStrictEqual(lines(web, "good").map((line) => line.replace(" post good.hooks.example/", "")), [
        "61s b try 0",
        "121s c try 0"
      ])
      assert.deepStrictEqual(lines(web, "bad").map((line) => line.replace(" post bad.hooks.example/", "")), [
        "61s b try 0",
        "66s b try 1",
        "76s b try 2",
        "91s b try 3",
        "121s c try 0",
        "126s c try 1",
        "136s c try 2",
        "151s c try 3"
      ])
    }).pipe(Effect.provide(layerWith({ maxResident: 0 }))))
})

/** Without the seconds: how soon a new owner is awake is the cluster's matter. */
const untimed = (log: ReadonlyArray<string>) => log.map((line) => line.replace(/^\S+ /, ""))

const runner = Effect.gen(function*() {
  const scope = yield* Scope.make()
  const context = yield* Layer.build(Layer.fresh(layerRunner)).pipe(Scope.provide(scope))
  return { context, stop: Scope.close(scope, Exit.void) }
})

/** A subscription of the open hub to the feed. */
const hubSubscription = Effect.gen(function*() {
  const topic = Result.getOrThrow(Topic.parse(feed))
  const { subscription } = yield* SubscriptionStore.use((store) =>
    store.subscribe({
      accountId: 1,
      topic,
      partition: Topic.partitionOf(topic.host),
      channel: "webhook",
      endpoint: hook("hub"),
      host: "hub.hooks.example",
      face: "hub",
      state: "active"
    })
  )
  return subscription.id
})

/** A subscription of the open hub to the feed, which gets a new entry every so many minutes, so many times. */
const published = Effect.fnUntraced(function*(count: number, minutes: number, answer: Answer) {
  const { web } = yield* watchTopics()
  const id = yield* hubSubscription
  web.answer(hook("hub"), answer)
  const ids = ["first"]
  web.publish(feed, ids)
  yield* TestClock.adjust("1 second") // the actors register their alarms
  yield* TestClock.adjust("1 hour")
  for (let i = 0; i < count; i++) {
    web.publish(feed, [`n${i}`, ...ids])
    ids.unshift(`n${i}`)
    yield* TestClock.adjust(minutes * 60_000)
  }
  const { deliveries } = yield* Outbox.use((outbox) => outbox.backlog(id, 1_000))
  return { web, waiting: deliveries.map(({ sequence }) => sequence) }
})

/** The sequences of the last `count` of `all`. */
const lastOf = (all: number, count: number) => Array.from({ length: count }, (_, i) => all - count + 1 + i)

describe("a callback that fails for days", () => {
  it.effect("reads the failures of the last day in order", () =>
    Effect.gen(function*() {
      const { waiting, web } = yield* published(80, 60, () => Effect.succeed(503))
      assert.isAtLeast(waiting.length, 22)
      assert.isAtMost(waiting.length, 25)
      assert.deepStrictEqual(waiting, lastOf(80, waiting.length))
      web.answer(hook("hub"), () => Effect.succeed(200))
      web.parcels.length = 0
      yield* TestClock.adjust("12 hours")
      assert.deepStrictEqual(headers(web, "hub", "X-Windhover-Sequence"), waiting.map(String))
    }).pipe(Effect.provide(layerPartition())))

  it.effect("reads no more than a day when failures take longer than the notifications", () =>
    Effect.gen(function*() {
      const slowly = () => Effect.as(Effect.sleep("1 hour"), 503)
      const { waiting, web } = yield* published(160, 30, slowly)
      assert.isAtLeast(waiting.length, 48)
      assert.isAtMost(waiting.length, 52)
      assert.deepStrictEqual(waiting, lastOf(160, waiting.length))
      web.answer(hook("hub"), () => Effect.succeed(200)) // a stop waits for what is under way
      yield* TestClock.adjust("2 hours")
    }).pipe(Effect.provide(layerPartition())))

  it.effect("gets later topics of the open hub soon after one that is too large", () =>
    Effect.gen(function*() {
      const isFirst = ({ headers: fields }: Parameters<Answer>[0]) =>
        fields.some(([name, value]) => name === "X-Windhover-Sequence" && value === "1")
      const { waiting, web } = yield* published(3, 60, (parcel) => Effect.succeed(isFirst(parcel) ? 413 : 200))
      const sequences = headers(web, "hub", "X-Windhover-Sequence")
      assert.deepStrictEqual([waiting, sequences.slice(0, 5)], [[], ["1", "1", "1", "1", "2"]])
    }).pipe(Effect.provide(layerPartition())))
})

/** Entries that an owner stored without waking the subscriptions. */
const recorded = Effect.fnUntraced(function*(...ids: ReadonlyArray<string>) {
  const resources = yield* ResourceStore
  const state = Option.getOrThrow(yield* resources.find(feed))
  for (const id of ids) {
    const wholeFeed = { contentType: "application/rss+xml", body: new TextEncoder().encode(id) }
    yield* resources.record({
      state,
      entries: [{ id }],
      updated: [],
      announce: { _tag: "Entries", ids: [id] },
      wholeFeed
    })
  }
})

describe("a partition that changes its owner", () => {
  it.effect("answers the pings that the former owner left", () =>
    Effect.gen(function*() {
      const first = yield* runner
      const web = yield* watched("good").pipe(Effect.provideContext(first.context))
      web.serve(feed, () => Effect.never)
      yield* Effect.provideContext(Hub.use((hub) => hub.publish([feed])), first.context)
      yield* TestClock.adjust("1 second")
      yield* first.stop
      web.serve(feed, () => Effect.succeed(documentOf(["b", "first"])))
      web.log.length = 0
      const second = yield* runner
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(untimed(web.log), ["poll feeds.example/a", "post good.hooks.example/ b try 0"])
      assert.isBelow(Number.parseFloat(web.log[0] ?? ""), 13) // long before the next poll
      yield* second.stop
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues({ retry: "short" }))))

  it.effect("continues after the former owner: each notification once, in order, without a gap", () =>
    Effect.gen(function*() {
      const first = yield* runner
      const web = yield* watched("good", "bad").pipe(Effect.provideContext(first.context))
      web.answer(hook("bad"), () => Effect.succeed(500))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("62 seconds")
      yield* first.stop
      web.answer(hook("bad"), () => Effect.succeed(200))
      web.publish(feed, ["c", "b", "first"])
      yield* TestClock.adjust("1 second")
      const second = yield* runner
      yield* TestClock.adjust("100 seconds")
      yield* second.stop
      assert.deepStrictEqual(lines(web, "post"), [
        "61s post good.hooks.example/ b try 0",
        "61s post bad.hooks.example/ b try 0",
        "66s post bad.hooks.example/ b try 1",
        "121s post good.hooks.example/ c try 0",
        "121s post bad.hooks.example/ c try 0"
      ])
      assert.deepStrictEqual(headers(web, "bad", "X-Windhover-Sequence"), ["1", "1", "2"])
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues({ retry: "short" }))))

  it.effect("continues its retries after a restart: two failed attempts before it, two behind it, then it is dropped", () =>
    Effect.gen(function*() {
      const first = yield* runner
      const web = yield* watched("bad").pipe(Effect.provideContext(first.context))
      web.answer(hook("bad"), () => Effect.succeed(500))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("67 seconds")
      yield* first.stop
      const second = yield* runner
      yield* TestClock.adjust("100 seconds")
      yield* second.stop
      assert.deepStrictEqual(lines(web, "post"), [
        "61s post bad.hooks.example/ b try 0",
        "66s post bad.hooks.example/ b try 1",
        "76s post bad.hooks.example/ b try 2",
        "91s post bad.hooks.example/ b try 3"
      ])
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues({ retry: "short" }))))

  it.effect("retries at once when a fast clock had planned the next attempt", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(100 * 86_400_000)
      const ahead = yield* runner
      const web = yield* watched("bad").pipe(Effect.provideContext(ahead.context))
      web.answer(hook("bad"), () => Effect.succeed(500))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("60 seconds")
      yield* ahead.stop
      web.log.length = 0
      yield* TestClock.setTime(0)
      const right = yield* runner
      yield* TestClock.adjust("11 seconds")
      yield* right.stop
      assert.deepStrictEqual(untimed(lines(web, "post")), [
        "post bad.hooks.example/ b try 1",
        "post bad.hooks.example/ b try 2"
      ])
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues({ retry: "short" }))))

  it.effect("counts no day without an owner, and none twice", () =>
    Effect.gen(function*() {
      const first = yield* runner
      const web = yield* watched("good").pipe(Effect.provideContext(first.context))
      const id = yield* hubSubscription
      yield* first.stop
      yield* recorded("b", "c")
      yield* TestClock.adjust("2 days")
      web.answer(hook("hub"), () => Effect.succeed(503))
      // the second of them was not away for long: it knows from the first that the waiting began anew
      for (const seconds of [3, 11]) {
        const owner = yield* runner
        yield* TestClock.adjust(seconds * 1_000)
        yield* owner.stop
      }
      const { deliveries } = yield* Outbox.use((outbox) => outbox.backlog(id, 10))
      const waiting = deliveries.map(({ attempt, sequence, waitsSince }) => ({
        attempt,
        sequence,
        days: Math.floor(waitsSince / 86_400_000)
      }))
      assert.deepStrictEqual(waiting, [{ attempt: 2, sequence: 1, days: 2 }, { attempt: 0, sequence: 2, days: 2 }])
      web.answer(hook("hub"), () => Effect.succeed(200))
      const last = yield* runner
      yield* TestClock.adjust("1 minute")
      yield* last.stop
      assert.deepStrictEqual(headers(web, "hub", "X-Windhover-Sequence"), ["1", "1", "1", "2"])
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues({ retry: "short" }))))

  it.effect("finds notifications that its former owner recorded and did not send", () =>
    Effect.gen(function*() {
      const first = yield* runner
      const web = yield* watched("good").pipe(Effect.provideContext(first.context))
      yield* first.stop
      yield* recorded("b", "c")
      const second = yield* runner
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(untimed(lines(web, "post")), [
        "post good.hooks.example/ b try 0",
        "post good.hooks.example/ c try 0"
      ])
      const [subscription] = yield* (yield* SubscriptionStore).findByTopic(1, feed)
      const backlog = yield* (yield* Outbox).backlog(subscription?.id ?? 0, 10)
      assert.deepStrictEqual(backlog, { deliveries: [], hasMore: false, nextSequence: 3 })
      yield* second.stop
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues({ retry: "short" }))))

  it.effect("lets running deliveries finish, and starts no other", () =>
    Effect.gen(function*() {
      const first = yield* runner
      const web = yield* watched("slow").pipe(Effect.provideContext(first.context))
      web.answer(hook("slow"), () => Effect.as(Effect.sleep("3 seconds"), 200))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("60 seconds")
      web.publish(feed, ["c", "b", "first"])
      yield* Hub.use((hub) => hub.publish([feed])).pipe(Effect.provideContext(first.context))
      yield* TestClock.adjust("1 second")
      let stopped = false
      yield* Effect.forkChild(Effect.andThen(first.stop, Effect.sync(() => stopped = true)))
      yield* TestClock.adjust("999 millis")
      assert.isFalse(stopped)
      yield* TestClock.adjust("1 millis")
      assert.isTrue(stopped)
      assert.deepStrictEqual(lines(web, "post"), ["61s post slow.hooks.example/ b try 0"])
      const second = yield* runner
      yield* TestClock.adjust("4 seconds")
      yield* second.stop
      assert.deepStrictEqual(untimed(lines(web, "post").slice(1)), ["post slow.hooks.example/ c try 0"])
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues({ retry: "short" }))))

  it.effect("waits at most ten seconds for a delivery, and the next owner sends it", () =>
    Effect.gen(function*() {
      const first = yield* runner
      const web = yield* watched("hanging").pipe(Effect.provideContext(first.context))
      web.answer(hook("hanging"), () => Effect.never)
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("61 seconds")
      let stopped = false
      yield* Effect.forkChild(Effect.andThen(first.stop, Effect.sync(() => stopped = true)))
      yield* TestClock.adjust("9 seconds")
      assert.isFalse(stopped)
      yield* TestClock.adjust("1 second")
      assert.isTrue(stopped)
      web.answer(hook("hanging"), () => Effect.succeed(200))
      const second = yield* runner
      yield* TestClock.adjust("1 second")
      yield* second.stop
      assert.deepStrictEqual(untimed(lines(web, "post")), [
        "post hanging.hooks.example/ b try 0",
        "post hanging.hooks.example/ b try 0"
      ])
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues({ retry: "short" }))))
})
