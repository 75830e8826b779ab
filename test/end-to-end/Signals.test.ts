import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { once } from "node:events"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { authorization, outside, patience, type Service, start } from "#test/support/Service.ts"

const bin = `${import.meta.dirname}/../../bin/windhover`

/** How the process ended, asked before it does. */
const exitOf = (service: Service) => {
  const exit = once(service.process, "exit")
  return Effect.promise(() => exit)
}

const subscribe = Effect.fnUntraced(function*(service: Service, topic: string, callback: string) {
  const parameters = { "hub.mode": "subscribe", "hub.topic": topic, "hub.callback": callback, retrieve: "true" }
  assert.strictEqual((yield* service.call(parameters)).status, 200)
})

const ping = (service: Service, topic: string) => service.call({ "hub.mode": "publish", "hub.url": topic })

/** Opens a stream or a long poll and reads what comes until the service ends it; `began` when the first bytes are there. */
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

describe("a service that is told to stop", () => {
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
        world.hold = true
        world.publish("held")
        yield* ping(service, topic)
        yield* world.until(() => world.posted.length === 1)
        const exit = exitOf(service)
        service.process.kill("SIGINT")
        service.process.kill("SIGINT") // npm passes on what the terminal has sent already
        assert.strictEqual(yield* Effect.promise(() => stream.ended), "whole")
        assert.strictEqual(service.process.exitCode, null) // what is under way is waited for
        world.hold = false
        assert.deepStrictEqual(yield* exit, [0, null])
        assert.deepStrictEqual(world.posted.map(({ answer }) => answer), ["given"])

        const again = yield* start(settings)
        world.publish("after")
        yield* ping(again, topic)
        yield* world.until(() => world.posted[1]?.answer === "given")
        assert.deepStrictEqual(world.posted.map(({ ids, sequence }) => ({ ids, sequence })), [
          { ids: ["held"], sequence: 1 },
          { ids: ["after"], sequence: 2 }
        ])
        const hungUp = exitOf(again)
        again.process.kill("SIGHUP") // its terminal is closed
        assert.deepStrictEqual(yield* hungUp, [0, null])
      }).pipe(Effect.scoped, Effect.timeout(patience)),
    patience + 10_000
  )

  it.live(
    "ends at once when it is told a second time, and loses nothing by it; with nohup it outlives its terminal",
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
        const told = Effect.sync(() => service.process.kill("SIGTERM"))
        yield* Effect.forkChild(Effect.repeat(told, Schedule.spaced("500 millis"))) // by somebody who is impatient
        assert.deepStrictEqual(yield* exit, [143, null])
        assert.include(service.said.join("\n"), "SIGTERM a second time")
        world.hold = false
        yield* start(settings)
        yield* world.until(() => world.posted[1]?.answer === "given")
        assert.deepStrictEqual(world.posted.map(({ answer, ids, sequence }) => ({ answer, ids, sequence })), [
          { answer: "lost", ids: ["held"], sequence: 1 },
          { answer: "given", ids: ["held"], sequence: 1 }
        ])
      }).pipe(Effect.scoped, Effect.timeout(patience)),
    patience + 10_000
  )
})
