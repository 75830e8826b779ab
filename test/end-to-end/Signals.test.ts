import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { withSettings } from "#scripts/Environment.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { findBinaries, startServer } from "#test/support/PostgresServer.ts"
import { authorization, outside, patience, type Service, start } from "#test/support/Service.ts"

const bin = `${import.meta.dirname}/../../bin/windhover`

/** Exit of the process. Call before its end; resolves after all output has been read. */
const exitOf = (service: Service) => {
  const exit = once(service.process, "close")
  return Effect.promise(() => exit)
}

const subscribe = Effect.fnUntraced(function*(service: Service, topic: string, callback: string) {
  const parameters = { "hub.mode": "subscribe", "hub.topic": topic, "hub.callback": callback, retrieve: "true" }
  assert.strictEqual((yield* service.call(parameters)).status, 200)
})

const ping = (service: Service, topic: string) => service.call({ "hub.mode": "publish", "hub.url": topic })

/** Opens a stream or a long poll and reads until the service ends it; `began` resolves with the first bytes. */
const listen = async (service: Service, topic: string, wait: string) => {
  const query = new URLSearchParams({ "hub.mode": "retrieve", "hub.topic": topic, wait, count: "1" })
  const response = await fetch(`${service.url}/?${query}`, { headers: { authorization, accept: "text/event-stream" } })
  const reader = response.body?.getReader()
  await reader?.read()
  const rest = async () => {
    while ((await reader?.read())?.done === false);
  }
  return { status: response.status, ended: rest().then(() => "whole", () => "cut off") }
}

describe("a service that gets a stop signal", () => {
  it.live(
    "ends its streams at once, finishes what is under way, leaves nothing unwritten, and exits with 0",
    () =>
      Effect.gen(function*() {
        const world = yield* outside
        const [topic = ""] = world.feeds
        const settings = { WINDHOVER_DATA_DIR: yield* temporaryDirectory }
        const service = yield* start(settings)
        yield* subscribe(service, topic, `${world.url}/hook`)
        const stream = yield* Effect.promise(() => listen(service, topic, "stream"))
        assert.strictEqual(stream.status, 200)
        world.publish("before")
        yield* ping(service, topic)
        yield* world.until(() => world.posted[0]?.answer === "given")
        world.hold = true
        world.publish("held")
        yield* ping(service, topic)
        yield* world.until(() => world.posted.length === 2)
        const exit = exitOf(service)
        service.process.kill("SIGINT")
        service.process.kill("SIGINT") // npm forwards the signal that the terminal has sent already
        assert.strictEqual(yield* Effect.promise(() => stream.ended), "whole")
        assert.strictEqual(service.process.exitCode, null) // the service waits for deliveries in flight
        world.hold = false
        assert.deepStrictEqual(yield* exit, [0, null])
        assert.deepStrictEqual(world.posted.map(({ answer }) => answer), ["given", "given"])

        const again = yield* start(settings)
        world.publish("after")
        yield* ping(again, topic)
        yield* world.until(() => world.posted[2]?.answer === "given")
        assert.deepStrictEqual(world.posted.map(({ ids, sequence }) => ({ ids, sequence })), [
          { ids: ["before"], sequence: 1 },
          { ids: ["held"], sequence: 2 },
          { ids: ["after"], sequence: 3 }
        ])
        const hungUp = exitOf(again)
        again.process.kill("SIGHUP") // the terminal closes
        assert.deepStrictEqual(yield* hungUp, [0, null])
      }).pipe(Effect.scoped, Effect.timeout(patience)),
    patience + 10_000
  )

  it.live(
    "ends at once at a second signal without a loss; with nohup it outlives its terminal",
    () =>
      Effect.gen(function*() {
        const world = yield* outside
        const [topic = ""] = world.feeds
        const settings = { WINDHOVER_DATA_DIR: yield* temporaryDirectory }
        const service = yield* start(settings, ["nohup", bin, "serve"])
        service.process.kill("SIGHUP")
        yield* subscribe(service, topic, `${world.url}/hook`)
        world.hold = true
        world.publish("held")
        yield* ping(service, topic)
        yield* world.until(() => world.posted.length === 1)
        const exit = exitOf(service)
        const sendSignal = Effect.sync(() => service.process.kill("SIGTERM"))
        yield* Effect.forkChild(Effect.repeat(sendSignal, Schedule.spaced("500 millis"))) // an impatient operator sends the signal again
        assert.deepStrictEqual(yield* exit, [143, null])
        assert.include(service.said.join("\n"), "A second signal: exiting at once.")
        world.hold = false
        yield* start(settings)
        yield* world.until(() => world.posted.some(({ answer }) => answer === "given"))
        // on a busy machine the stop may outlast the callback's timeout: then another attempt follows
        const tries = world.posted.map(({ answer, ids, sequence }) => ({ answer, ids, sequence }))
        assert.deepStrictEqual(tries.pop(), { answer: "given", ids: ["held"], sequence: 1 })
        assert.isNotEmpty(tries)
        for (const one of tries) assert.deepStrictEqual(one, { answer: "lost", ids: ["held"], sequence: 1 })
      }).pipe(Effect.scoped, Effect.timeout(patience)),
    patience + 10_000
  )
})

const binaries = findBinaries()

/** A server for this test alone, because the test stops the server. */
const server = Effect.acquireRelease(
  Effect.promise(() => startServer(binaries ?? "")),
  (server) =>
    Effect.promise(() => {
      server.signal("SIGCONT")
      return server.stop()
    })
)

describe.skipIf(binaries === undefined)("a service whose database is away", () => {
  it.live(
    "stops in order while it waits for the database, and while the database is away",
    () =>
      Effect.gen(function*() {
        const world = yield* outside
        const [topic = ""] = world.feeds
        const database = yield* server
        const settings = { WINDHOVER_DATABASE_URL: database.url("postgres") }

        yield* Effect.promise(database.kill)
        // the signal arrives while the service waits, before the service is ready
        const waiting = spawn(bin, ["serve"], {
          stdio: ["ignore", "ignore", "pipe"],
          env: withSettings({ ...settings, WINDHOVER_PORT: "0", WINDHOVER_HOST: "127.0.0.1" })
        })
        yield* Effect.addFinalizer(() => Effect.sync(() => waiting.kill("SIGKILL")))
        const exit = once(waiting, "exit")
        const [said] = yield* Effect.promise(() => once(createInterface({ input: waiting.stderr }), "line"))
        assert.include(said, "The start waits for PostgreSQL.\" reason=\"No PostgreSQL server answers")
        waiting.kill("SIGTERM")
        assert.deepStrictEqual(yield* Effect.promise(() => exit), [0, null])

        yield* Effect.promise(database.start)
        for (const goAway of [database.kill, async () => database.signal("SIGSTOP")]) {
          const service = yield* start(settings)
          yield* subscribe(service, topic, `${world.url}/hook`)
          yield* Effect.promise(goAway)
          const ended = exitOf(service)
          service.process.kill("SIGTERM")
          assert.deepStrictEqual(yield* ended, [0, null])
          if (goAway === database.kill) yield* Effect.promise(database.start)
        }
      }).pipe(Effect.scoped, Effect.timeout(patience)),
    patience + 10_000
  )
})
