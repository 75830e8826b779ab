import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as net from "node:net"
import { engines, serverDatabase } from "#test/support/Databases.ts"
import { outside, received, start } from "#test/support/Service.ts"

const freePort = Effect.callback<number>((resume) => {
  const server = net.createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as net.AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

const available = engines.some(({ available, name }) => name === "server" && available)

describe.skipIf(!available)("two runners on one database", () => {
  it.live("take over from each other without losing anything", () =>
    Effect.gen(function*() {
      const world = yield* outside
      const database = yield* serverDatabase
      const runner = Effect.gen(function*() {
        const port = yield* freePort
        return yield* start({ WINDHOVER_DATABASE_URL: database, WINDHOVER_RUNNER_ADDRESS: `127.0.0.1:${port}` })
      })
      const [one, two] = [yield* runner, yield* runner]
      for (const [i, feed] of world.feeds.entries()) {
        const { status } = yield* one.call({
          "hub.mode": "subscribe",
          "hub.topic": feed,
          "hub.callback": `${world.url}/hook${i}`,
          retrieve: "true"
        })
        assert.strictEqual(status, 200)
      }
      const published: Array<string> = []
      const all = () => world.feeds.every((_, i) => received(world.posted, `/hook${i}`).ids.length === published.length)
      const publish = (id: string) => {
        published.push(id)
        world.publish(id)
      }
      publish("before")
      yield* world.until(all)
      yield* one.kill
      publish("between")
      yield* two.call({ "hub.mode": "publish", "hub.url": world.feeds.join(",") })
      publish("after")
      yield* world.until(all)
      for (const i of world.feeds.keys()) {
        assert.deepStrictEqual(received(world.posted, `/hook${i}`), { ids: published, gapless: true })
      }
    }).pipe(Effect.scoped, Effect.timeout("100 seconds")), 120_000)
})
