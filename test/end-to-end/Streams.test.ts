import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { once } from "node:events"
import { engines, serverDatabase } from "#test/support/Databases.ts"
import { entryIds, openEventStream } from "#test/support/EventStream.ts"
import { authorization, freePort, outside, patience, type Service, start } from "#test/support/Service.ts"

const available = engines.some(({ available, name }) => name === "server" && available)

type Listener = Effect.Success<ReturnType<typeof openEventStream>>

/** Feeds, and runners on one database. */
const surroundings = Effect.gen(function*() {
  const world = yield* outside
  const database = yield* serverDatabase
  const runner = Effect.gen(function*() {
    const port = yield* freePort
    return yield* start({ WINDHOVER_DATABASE_URL: database, WINDHOVER_RUNNER_ADDRESS: `127.0.0.1:${port}` })
  })
  const published = ["first"]
  const publish = (id: string) => {
    published.push(id)
    world.publish(id)
  }
  return {
    feeds: world.feeds,
    runner,
    published,
    publish,
    /** Publishes the entries one after the other, in the background. */
    publishEach: (...ids: ReadonlyArray<string>) =>
      Effect.forEach(ids, (id) => Effect.delay(Effect.sync(() => publish(id)), "200 millis"), { discard: true }),
    subscribe: ({ call }: Service) =>
      Effect.forEach(world.feeds, (feed) =>
        call({
          "hub.mode": "subscribe",
          "hub.topic": feed,
          "hub.callback": "http://localhost:8080/dev/null",
          retrieve: "true"
        }), { discard: true }),
    listen: (...addresses: ReadonlyArray<string>) =>
      Effect.forEach(
        world.feeds,
        (feed) =>
          openEventStream(addresses, `/stream?hub.mode=retrieve&hub.topic=${encodeURIComponent(feed)}`, authorization)
      ),
    heardAll: (clients: ReadonlyArray<Listener>) =>
      Effect.forEach(
        clients,
        (client) => client.until(() => new Set(entryIds(client)).size === published.length),
        { concurrency: "unbounded", discard: true }
      )
  }
})

const assertAllOnce = (clients: ReadonlyArray<Listener>, published: ReadonlyArray<string>): void => {
  for (const client of clients) {
    assert.deepStrictEqual(entryIds(client), published)
    assert.isFalse(client.events.some(({ name }) => name === "gap"))
  }
}

describe.skipIf(!available)("streams of two runners on one database", () => {
  it.live(
    "tell every entry once, whichever runner holds the resource, and when it is killed",
    () =>
      Effect.gen(function*() {
        const { heardAll, listen, publish, publishEach, published, runner, subscribe } = yield* surroundings
        const [one, two] = [yield* runner, yield* runner]
        yield* Effect.forEach([one, two], ({ ready }) => ready)
        yield* subscribe(two)
        const staying = yield* listen(two.url)
        const moving = yield* listen(one.url, two.url)
        const clients = [...staying, ...moving]
        yield* heardAll(clients)
        publish("before")
        yield* heardAll(clients)

        const publisher = yield* Effect.forkChild(publishEach(...Array.from({ length: 20 }, (_, i) => `during ${i}`)))
        yield* Effect.sleep("2 seconds")
        yield* one.kill
        yield* Fiber.join(publisher)
        publish("after")
        yield* heardAll(clients)
        assertAllOnce(clients, published)
        assert.isTrue(staying.every(({ connections }) => connections === 1))
        assert.isTrue(moving.every(({ connections }) => connections > 1))
      }).pipe(Effect.scoped),
    patience
  )

  it.live(
    "tell every entry once while partitions move and nobody dies: one runner comes, the other one leaves in order",
    () =>
      Effect.gen(function*() {
        const { heardAll, listen, publish, publishEach, published, runner, subscribe } = yield* surroundings
        const one = yield* runner
        yield* one.ready
        yield* subscribe(one)
        const two = yield* runner
        const clients = yield* listen(two.url)
        const coming = Array.from({ length: 20 }, (_, i) => `while one comes ${i}`)
        const publisher = yield* Effect.forkChild(publishEach(...coming))
        yield* two.ready
        yield* Fiber.join(publisher)
        yield* heardAll(clients)
        const left = Effect.promise(() => once(one.process, "exit"))
        const leaving = yield* Effect.forkChild(left, { startImmediately: true })
        yield* Effect.sync(() => void one.process.kill("SIGTERM"))
        yield* publishEach(...Array.from({ length: 10 }, (_, i) => `while one leaves ${i}`))
        assert.deepStrictEqual(yield* Fiber.join(leaving), [0, null])
        publish("after")
        yield* heardAll(clients)
        assertAllOnce(clients, published)
        assert.isTrue(clients.every(({ connections }) => connections === 1))
      }).pipe(Effect.scoped),
    patience
  )
})
