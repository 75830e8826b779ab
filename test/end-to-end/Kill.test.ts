import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { outside, patience, received, type Service, start } from "#test/support/Service.ts"

const hooks = ["/one", "/two", "/three"]

const subscribe = Effect.fnUntraced(function*(service: Service, url: string) {
  for (const hook of hooks) {
    const { status } = yield* service.call({
      "hub.mode": "subscribe",
      "hub.topic": `${url}/feed`,
      "hub.callback": `${url}${hook}`,
      retrieve: "true"
    })
    assert.strictEqual(status, 200)
  }
})

const ping = (service: Service, url: string) => service.call({ "hub.mode": "publish", "hub.url": `${url}/feed` })

/** Returns when connections are refused: the service has begun to stop. */
const closed = (service: Service) =>
  Effect.tryPromise(() => fetch(service.url)).pipe(Effect.delay("20 millis"), Effect.forever, Effect.ignore)

describe("the service as a process", () => {
  it.live(
    "loses nothing when it is killed between an entry and its deliveries, and keeps the order",
    () =>
      Effect.gen(function*() {
        const world = yield* outside
        const directory = { WINDHOVER_DATA_DIR: yield* temporaryDirectory }
        const published: Array<string> = []
        const publish = (id: string) => {
          published.push(id)
          world.publish(id)
        }
        const all = () => hooks.every((hook) => received(world.posted, hook).ids.length === published.length)

        let service = yield* start(directory)
        yield* subscribe(service, world.url)
        for (const round of [1, 2]) {
          publish(`${round}a`)
          yield* ping(service, world.url)
          yield* world.until(all)

          world.hold = true // callbacks hold their confirmations back
          const before = world.posted.length
          publish(`${round}b`)
          yield* ping(service, world.url)
          const reached = round === 1 ? hooks.length : 1 // all callbacks have been called, or one of them
          yield* world.until(() => world.posted.length >= before + reached)
          for (const i of [1, 2, 3, 4, 5]) { // deliveries are in flight when the process dies, recorded by the database or not
            publish(`${round}c${i}`)
            yield* Effect.delay(ping(service, world.url), "50 millis")
          }
          yield* service.kill
          yield* world.until(() => world.posted.slice(before).every(({ answer }) => answer === "lost"))
          publish(`${round}d`) // while no service runs
          world.hold = false

          service = yield* start(directory)
          yield* ping(service, world.url)
          yield* world.until(all)
        }
        for (const hook of hooks) {
          assert.deepStrictEqual(received(world.posted, hook), { ids: published, faults: [] })
        }
      }).pipe(Effect.scoped, Effect.timeout(patience)),
    patience + 10_000
  )

  it.live("fetches pinged resources after a kill", () =>
    Effect.gen(function*() {
      const world = yield* outside
      // no poll is due for an hour, so only the ping causes the fetch
      const settings = { WINDHOVER_DATA_DIR: yield* temporaryDirectory, WINDHOVER_MIN_PERIOD: "3600" }
      const service = yield* start(settings)
      yield* subscribe(service, world.url)
      world.silent = true
      world.publish("a")
      assert.strictEqual((yield* ping(service, world.url)).status, 204)
      yield* service.kill
      world.silent = false
      yield* start(settings)
      yield* world.until(() => hooks.every((hook) => received(world.posted, hook).ids.length === 1))
    }).pipe(Effect.scoped, Effect.timeout(patience)), patience + 10_000)

  it.live("completes its work on SIGTERM, and exits with 0", () =>
    Effect.gen(function*() {
      const world = yield* outside
      const directory = { WINDHOVER_DATA_DIR: yield* temporaryDirectory }
      const service = yield* start(directory)
      yield* subscribe(service, world.url)
      world.hold = true
      world.publish("a")
      yield* ping(service, world.url)
      yield* world.until(() => world.posted.length === hooks.length)
      const exit = once(service.process, "exit")
      service.process.kill("SIGTERM")
      yield* closed(service)
      world.hold = false
      const [code] = yield* Effect.promise(() => exit)
      assert.strictEqual(code, 0)
      const again = yield* start(directory)
      world.publish("b")
      yield* ping(again, world.url)
      yield* world.until(() => hooks.every((hook) => received(world.posted, hook).ids.length === 2))
      assert.strictEqual(world.posted.length, 2 * hooks.length) // a confirmed notification is not repeated
    }).pipe(Effect.scoped, Effect.timeout(patience)), patience + 10_000)

  it.live("ends when its npm parent gets a signal", () =>
    Effect.gen(function*() {
      const directory = { WINDHOVER_DATA_DIR: yield* temporaryDirectory }
      const service = yield* start(directory, ["npm", "start"])
      const exit = once(service.process, "exit")
      service.process.kill("SIGTERM")
      yield* Effect.promise(() => exit)
      yield* start(directory) // the database refuses the drop while a connection is open
    }).pipe(Effect.scoped, Effect.timeout(patience)), patience + 10_000)

  it.live("prints its URL with a port that the system chose", () =>
    Effect.gen(function*() {
      const { said, url } = yield* start({ WINDHOVER_DATA_DIR: yield* temporaryDirectory })
      const { port } = new URL(url)
      assert.include(
        said.join("\n"),
        `ready on http://localhost:${port} (subscribers reach it at http://localhost:${port}); dashboard: http://localhost:${port}/dashboard`
      )
    }).pipe(Effect.scoped, Effect.timeout(patience)), patience + 10_000)

  it.live("refuses a second process on the same data directory by name", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      yield* start({ WINDHOVER_DATA_DIR: directory })
      const refused = yield* Effect.flip(start({ WINDHOVER_DATA_DIR: directory }))
      assert.include(refused.message, directory)
    }).pipe(Effect.scoped, Effect.timeout(patience)), patience + 10_000)
})
