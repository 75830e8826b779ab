import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { findBinaries, startServer } from "#test/support/PostgresServer.ts"
import { freePort, outside, patience, received, type Service, start, untilHealth } from "#test/support/Service.ts"

const binaries = findBinaries()

/** A server for this test alone, because the test stops the server. */
const server = Effect.acquireRelease(
  Effect.promise(() => startServer(binaries ?? "")),
  (server) => Effect.promise(() => server.stop())
)

const hooks = ["/one", "/two", "/three"]

/** The service's answer to a call that needs the database. */
const ask = (service: Service) => service.call({ "hub.mode": "list" })

const waitFor = (service: Service, status: number) =>
  ask(service).pipe(
    Effect.repeat({ until: (answer) => answer.status === status, schedule: Schedule.spaced("200 millis") })
  )

const settings = {
  "one process": Effect.succeed({}),
  "a runner of a cluster": Effect.map(freePort, (port) => ({ WINDHOVER_RUNNER_ADDRESS: `127.0.0.1:${port}` }))
}

describe.skipIf(binaries === undefined)("a database that goes away and comes back", () => {
  for (const [name, cluster] of Object.entries(settings)) {
    it.live(`is waited for by ${name}, and nothing is lost`, () =>
      Effect.gen(function*() {
        const world = yield* outside
        const database = yield* server
        const service = yield* start({ WINDHOVER_DATABASE_URL: database.url("postgres"), ...(yield* cluster) })
        yield* service.ready
        for (const [i, hook] of hooks.entries()) {
          const { status } = yield* service.call({
            "hub.mode": "subscribe",
            "hub.topic": world.feeds[i] ?? "",
            "hub.callback": `${world.url}${hook}`,
            retrieve: "true"
          })
          assert.strictEqual(status, 200)
        }
        const published: Array<string> = []
        const publish = (id: string) => {
          published.push(id)
          world.publish(id)
        }
        const ping = service.call({ "hub.mode": "publish", "hub.url": world.feeds.slice(0, hooks.length).join(",") })
        const all = () => hooks.every((hook) => received(world.posted, hook).ids.length === published.length)
        publish("before")
        assert.strictEqual((yield* ping).status, 204)
        yield* world.until(all)

        for (const round of [1, 2]) {
          world.hold = true // in flight when the database stops: confirmations cannot be stored
          const before = world.posted.length
          publish(`${round} on its way`)
          yield* ping
          yield* world.until(() => world.posted.length >= before + hooks.length)
          yield* Effect.promise(() => database.kill())
          world.hold = false
          const away = yield* waitFor(service, 503)
          assert.match(away.text, /\.$/)
          assert.match(away.retryAfter ?? "", /^[1-9]\d*$/)
          yield* untilHealth(service, "503 The database does not answer.")
          publish(`${round} nobody can write down`)
          assert.strictEqual((yield* ping).status, 503) // no success without a stored result
          yield* Effect.sleep("3 seconds") // resources become due without a database
          publish(`${round} while it is away`)
          yield* Effect.promise(() => database.start())
          yield* waitFor(service, 200)
          yield* service.ready
          publish(`${round} after`)
          yield* ping
          yield* world.until(all)
        }
        for (const hook of hooks) assert.deepStrictEqual(received(world.posted, hook), { ids: published, faults: [] })
        assert.strictEqual(service.process.exitCode, null)
      }).pipe(Effect.scoped, Effect.timeout(patience)), patience + 10_000)
  }
})
