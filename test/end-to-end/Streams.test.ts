import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { once } from "node:events"
import { engines, serverDatabase } from "#test/support/Databases.ts"
import { entryIds, listenTo } from "#test/support/EventStream.ts"
import { authorization, freePort, outside, patience, start } from "#test/support/Service.ts"

const available = engines.some(({ available, name }) => name === "server" && available)

describe.skipIf(!available)("streams of two runners on one database", () => {
  it.live(
    "tell every entry once, whichever runner holds the resource, and when it is killed",
    () =>
      Effect.gen(function*() {
        const world = yield* outside
        const database = yield* serverDatabase
        const runner = Effect.gen(function*() {
          const port = yield* freePort
          return yield* start({ WINDHOVER_DATABASE_URL: database, WINDHOVER_RUNNER_ADDRESS: `127.0.0.1:${port}` })
        })
        const [one, two] = [yield* runner, yield* runner]
        yield* Effect.forEach([one, two], ({ ready }) => ready)
        for (const feed of world.feeds) {
          yield* two.call({
            "hub.mode": "subscribe",
            "hub.topic": feed,
            "hub.callback": "http://localhost:8080/dev/null",
            retrieve: "true"
          })
        }
        const listen = (addresses: ReadonlyArray<string>) => (feed: string) =>
          listenTo(addresses, `/stream?hub.mode=retrieve&hub.topic=${encodeURIComponent(feed)}`, authorization)
        const staying = yield* Effect.forEach(world.feeds, listen([two.url]))
        const moving = yield* Effect.forEach(world.feeds, listen([one.url, two.url]))
        const clients = [...staying, ...moving]

        const published = ["first"]
        const publish = (id: string) => {
          published.push(id)
          world.publish(id)
        }
        const heardAll = Effect.forEach(
          clients,
          (client) => client.until(() => new Set(entryIds(client)).size === published.length),
          { concurrency: "unbounded", discard: true }
        )
        yield* heardAll
        publish("before")
        yield* heardAll

        const publisher = yield* Effect.forkChild(
          Effect.forEach(
            Array.from({ length: 20 }, (_, i) => `during ${i}`),
            (id) => Effect.delay(Effect.sync(() => publish(id)), "200 millis")
          )
        )
        yield* Effect.sleep("2 seconds")
        yield* one.kill
        yield* Fiber.join(publisher)
        publish("after")
        yield* heardAll
        for (const client of clients) {
          assert.deepStrictEqual(entryIds(client), published)
          assert.isFalse(client.events.some(({ name }) => name === "gap"))
        }
        assert.isTrue(staying.every(({ connections }) => connections === 1))
        assert.isTrue(moving.every(({ connections }) => connections > 1))
      }).pipe(Effect.scoped),
    patience
  )

  it.live(
    "tell every entry once while partitions move and nobody dies: one runner comes, the other one leaves in order",
    () =>
      Effect.gen(function*() {
        const world = yield* outside
        const database = yield* serverDatabase
        const runner = Effect.gen(function*() {
          const port = yield* freePort
          return yield* start({ WINDHOVER_DATABASE_URL: database, WINDHOVER_RUNNER_ADDRESS: `127.0.0.1:${port}` })
        })
        const one = yield* runner
        yield* one.ready
        const topics = world.feeds
        for (const feed of topics) {
          yield* one.call({
            "hub.mode": "subscribe",
            "hub.topic": feed,
            "hub.callback": "http://localhost:8080/dev/null",
            retrieve: "true"
          })
        }
        const two = yield* runner
        const clients = yield* Effect.forEach(topics, (feed) =>
          listenTo([two.url], `/stream?hub.mode=retrieve&hub.topic=${encodeURIComponent(feed)}`, authorization))
        const published = ["first"]
        const publish = (id: string) => {
          published.push(id)
          world.publish(id)
        }
        const heardAll = Effect.forEach(
          clients,
          (client) =>
            client.until(() => new Set(entryIds(client)).size === published.length),
          { concurrency: "unbounded", discard: true }
        )
        const publisher = yield* Effect.forkChild(
          Effect.forEach(
            Array.from({ length: 20 }, (_, i) => `while one comes ${i}`),
            (id) => Effect.delay(Effect.sync(() => publish(id)), "200 millis")
          )
        )
        yield* two.ready
        yield* Fiber.join(publisher)
        yield* heardAll
        const left = Effect.promise(() => once(one.process, "exit"))
        const leaving = yield* Effect.forkChild(left, { startImmediately: true })
        yield* Effect.sync(() => void one.process.kill("SIGTERM"))
        for (let i = 0; i < 10; i++) {
          yield* Effect.delay(Effect.sync(() => publish(`while one leaves ${i}`)), "200 millis")
        }
        assert.deepStrictEqual(yield* Fiber.join(leaving), [0, null])
        publish("after")
        yield* heardAll
        for (const client of clients) {
          assert.deepStrictEqual(entryIds(client), published)
          assert.isFalse(client.events.some(({ name }) => name === "gap"))
          assert.strictEqual(client.connections, 1)
        }
      }).pipe(Effect.scoped),
    patience
  )
})
