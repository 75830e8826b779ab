import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { emptyDatabase, engines, serverDatabase } from "#test/support/Databases.ts"
import { openPublisherHub } from "#test/support/PublisherHub.ts"
import { authorization, freePort, outside, patience, type Posted, received, start } from "#test/support/Service.ts"

const hook = (i: number) => `/hook${i}`

const isLost = ({ answer }: Posted) => answer === "lost"

const timesPosted = (posted: ReadonlyArray<Posted>, { notification }: Posted) =>
  posted.filter((one) => one.notification === notification).length

const available = engines.some(({ available, name }) => name === "server" && available)

/** Two runners that share sixteen feeds with a webhook each. All webhooks have received one entry. */
const twoRunners = Effect.gen(function*() {
  const world = yield* outside
  const database = yield* serverDatabase
  const runner = Effect.gen(function*() {
    const port = yield* freePort
    return yield* start({ WINDHOVER_DATABASE_URL: database, WINDHOVER_RUNNER_ADDRESS: `127.0.0.1:${port}` })
  })
  const [one, two] = [yield* runner, yield* runner]
  yield* Effect.forEach([one, two], ({ ready }) => ready)
  for (const [i, feed] of world.feeds.entries()) {
    const { status } = yield* (i % 2 === 0 ? one : two).call({
      "hub.mode": "subscribe",
      "hub.topic": feed,
      "hub.callback": `${world.url}${hook(i)}`,
      retrieve: "true"
    })
    assert.strictEqual(status, 200)
  }
  const hooks = world.feeds.map((_, i) => hook(i))
  const published: Array<string> = []
  const all = () => hooks.every((hook) => received(world.posted, hook).ids.length >= published.length)
  const publish = (id: string) => {
    published.push(id)
    world.publish(id)
  }
  const ping = two.call({ "hub.mode": "publish", "hub.url": world.feeds.join(",") })
  publish("before")
  yield* ping
  yield* world.until(all)
  return { world, one, hooks, published, publish, ping, all }
})

describe.skipIf(!available)("a runner whose address is taken", () => {
  it.live("says so, and which setting helps", () =>
    Effect.gen(function*() {
      const { url } = yield* outside
      const taken = new URL(url).host
      const database = yield* serverDatabase
      const { message } = yield* Effect.flip(
        start({ WINDHOVER_DATABASE_URL: database, WINDHOVER_RUNNER_ADDRESS: taken })
      )
      assert.include(message, `windhover: Port ${taken.split(":")[1]} of 127.0.0.1 is taken: `)
      assert.include(message, "set WINDHOVER_RUNNER_ADDRESS to another port.")
    }), patience)
})

describe.skipIf(!available)("runners that start together", () => {
  it.live("on an empty database all start, and one of them creates the first account", () =>
    Effect.gen(function*() {
      const database = yield* emptyDatabase
      const runner = Effect.flatMap(freePort, (port) =>
        start({ WINDHOVER_DATABASE_URL: database, WINDHOVER_RUNNER_ADDRESS: `127.0.0.1:${port}` }))
      const runners = yield* Effect.all([runner, runner, runner, runner], { concurrency: "unbounded" })
      const countLines = (text: string) =>
        runners.flatMap(({ said }) =>
          said.filter((line) => line.includes(text))
        ).length
      assert.strictEqual(countLines("The first account was created."), 1)
      assert.strictEqual(countLines("message=\"The schema of the database was migrated.\" migration=0001_schema"), 1)
      yield* Effect.forEach(runners, ({ ready }) => ready)

      const [first, ...others] = runners
      const listRunners = Effect.promise(async () => {
        const response = await fetch(`${first?.url}/api/runners`, { headers: { authorization } })
        const { runners } = await response.json() as {
          readonly runners: ReadonlyArray<{ readonly silent: boolean; readonly self: boolean }>
        }
        return runners.map(({ self, silent }) => silent ? "silent" : self ? "self" : "other").toSorted()
      })
      assert.deepStrictEqual(yield* listRunners, ["other", "other", "other", "self"])
      const last = others.at(-1)?.process
      const exit = new Promise((resolve) => {
        last?.once("exit", resolve)
      })
      last?.kill("SIGTERM")
      yield* Effect.promise(() => exit)
      assert.deepStrictEqual(yield* listRunners, ["other", "other", "self"])
    }).pipe(Effect.scoped, Effect.timeout(patience)), patience + 10_000)
})

describe.skipIf(!available)("two runners on one database", () => {
  it.live("take over from each other without a lost notification", () =>
    Effect.gen(function*() {
      const { all, hooks, one, ping, publish, published, world } = yield* twoRunners

      world.hold = true
      const before = world.posted.length
      const publisher = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: 20 }, (_, i) => `during ${i}`), (id) =>
          Effect.delay(Effect.sync(() => publish(id)), "100 millis"))
      )
      yield* ping
      yield* world.until(() =>
        world.posted.length >= before + hooks.length
      )
      yield* one.kill
      yield* world.until(() => world.posted.some(isLost))
      world.hold = false

      const lost = world.posted.filter(isLost)
      assert.isBelow(lost.length, hooks.length) // both runners had work
      yield* world.until(() => lost.every((one) => timesPosted(world.posted, one) > 1))
      yield* Fiber.join(publisher)
      yield* ping
      yield* world.until(all)
      for (const hook of hooks) {
        assert.deepStrictEqual(received(world.posted, hook), { ids: published, faults: [] })
      }
    }).pipe(Effect.scoped, Effect.timeout(patience)), patience + 10_000)

  it.live("repeat no notification after one was paused until the other had taken over", () =>
    Effect.gen(function*() {
      const { all, hooks, one, ping, publish, published, world } = yield* twoRunners

      world.refuse = true
      const before = world.posted.length
      for (const id of ["one", "two", "three", "four"]) {
        publish(id)
        yield* Effect.delay(ping, "1200 millis") // each gets a notification of its own, queued behind the first one, which waits for a retry
      }
      yield* world.until(() => world.posted.length >= before + hooks.length)
      one.process.kill("SIGSTOP")
      world.refuse = false
      yield* world.until(all)
      one.process.kill("SIGCONT")
      // overdue deliveries of the stopped runner would all arrive before this one
      publish("after")
      yield* Effect.delay(ping, "2 seconds")
      yield* world.until(all)
      for (const hook of hooks) {
        assert.deepStrictEqual(received(world.posted, hook), { ids: published, faults: [] })
      }
    }).pipe(Effect.scoped, Effect.timeout(patience)), patience + 10_000)

  it.live("accept pushes and verifications of a publisher's hub at either runner", () =>
    Effect.gen(function*() {
      const hub = yield* openPublisherHub
      const database = yield* serverDatabase
      const [portOfOne, ...addresses] = yield* Effect.all([freePort, freePort, freePort])
      const runner = (port: string, address: number) =>
        start({
          WINDHOVER_DATABASE_URL: database,
          WINDHOVER_RUNNER_ADDRESS: `127.0.0.1:${address}`,
          WINDHOVER_PORT: port,
          WINDHOVER_BASE_URL: `http://127.0.0.1:${portOfOne}`,
          WINDHOVER_UPSTREAM_HUBS: "true"
        })
      const one = yield* runner(String(portOfOne), addresses[0])
      const two = yield* runner("0", addresses[1])
      yield* Effect.forEach([one, two], ({ ready }) => ready)
      const topic = `${hub.url}/feed`
      const page = (id: string) => ({
        type: "application/rss+xml",
        body: `<rss version="2.0"><channel><title>A feed</title><item><guid isPermaLink="false">${id}</guid>` +
          `<title>${id}</title></item></channel></rss>`,
        link: `<${hub.hub}>; rel="hub", <${topic}>; rel="self"`
      })
      hub.serve("/feed", page("first"))
      const { status } = yield* one.call({
        "hub.mode": "subscribe",
        "hub.topic": topic,
        "hub.callback": hub.webhook,
        retrieve: "true"
      })
      assert.strictEqual(status, 200)
      yield* hub.until(() => hub.subscribers.size === 1)
      const callback = hub.requests[0]?.get("hub.callback") ?? ""
      // one of the runners does not hold the topic's partition
      for (const [i, { url }] of [one, two].entries()) {
        const elsewhere = new URL(new URL(callback).pathname, url).href
        const parameters = { "hub.mode": "subscribe", "hub.topic": topic, "hub.challenge": `c${i}` }
        assert.deepStrictEqual(yield* hub.verify(elsewhere, parameters), { status: 200, body: `c${i}` })
        assert.deepStrictEqual(yield* hub.distribute(topic, page(`pushed ${i}`), { origin: url }), [202])
        yield* hub.until(() => hub.received.length === i + 1)
      }
      assert.deepStrictEqual(hub.received.map(({ body }) => /<id>(pushed \d)<\/id>/.exec(body)?.[1]), [
        "pushed 0",
        "pushed 1"
      ])
    }).pipe(Effect.scoped, Effect.timeout(patience)), patience + 10_000)
})
