import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { createHmac } from "node:crypto"
import { engines, serverDatabase, temporaryDirectory } from "#test/support/Databases.ts"
import {
  authorization,
  freePort,
  type Outside,
  outside,
  patience,
  received,
  type Service,
  start
} from "#test/support/Service.ts"

const hook = "/hook"
const secret = "a-publisher-of-the-outage"
/** Pushed entries, each in a notification of its own. */
const count = 200

const available = engines.some(({ available, name }) => name === "server" && available)

const subscribe = Effect.fnUntraced(function*(service: Service, { url }: Outside) {
  const { status } = yield* service.call({
    "hub.mode": "subscribe",
    "hub.topic": `${url}/feed`,
    "hub.callback": `${url}${hook}`,
    retrieve: "true"
  })
  assert.strictEqual(status, 200)
})

/**
 * Pushes a feed with a new entry, and returns when the entry is stored.
 *
 * Pushes that arrive together become one notification. The service fetches the feed in place of a push that it has not stored at its end,
 * and of pushes beyond its maximum.
 */
const push = Effect.fnUntraced(function*(service: Service, world: Outside, ids: ReadonlyArray<string>, id: string) {
  const items = [...ids.slice(-20), id].toReversed().map((one) =>
    `<item><title>${one}</title><guid isPermaLink="false">${one}</guid></item>`
  )
  const content = `<rss version="2.0"><channel><title>A feed</title>${items.join("")}</channel></rss>`
  const { status, text } = yield* service.call({
    "hub.mode": "publish",
    "hub.url": `${world.url}/feed`,
    "hub.content": content,
    "hub.signature": `sha256=${createHmac("sha256", secret).update(content).digest("hex")}`
  })
  assert.strictEqual(status, 204, text)
  yield* Effect.repeat(newestId(service, world), { until: (newest) => newest === id, schedule: spacing })
})

const spacing = Schedule.spaced("20 millis")

const newestId = (service: Service, { url }: Outside) =>
  Effect.promise(async () => {
    const query = new URLSearchParams({
      "hub.mode": "retrieve",
      "hub.topic": `${url}/feed`,
      format: "json",
      count: "1"
    })
    const response = await fetch(`${service.url}/?${query}`, { headers: { authorization } })
    const { items } = JSON.parse(await response.text()) as { readonly items: ReadonlyArray<{ readonly id: string }> }
    return items[0]?.id
  })

const undelivered = ({ url }: Service) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}/api/undelivered`, { headers: { authorization } })
    return JSON.parse(await response.text()) as { readonly undelivered: ReadonlyArray<unknown> }
  })

/**
 * Breaks a callback for 200 entries. `interrupt` kills a runner after half of them, and returns the one that goes on.
 *
 * The waits are the real ones of the default schedule: 5, 10, 15 and 60 s.
 */
const breakCallback = Effect.fnUntraced(function*<E, R>(
  world: Outside,
  first: Service,
  interrupt: Effect.Effect<Service, E, R>
) {
  yield* subscribe(first, world)
  world.refuse = true
  const ids: Array<string> = []
  let service = first
  for (let i = 0; i < count; i++) {
    if (i === count / 2) service = yield* interrupt
    yield* push(service, world, ids, `n${i}`)
    ids.push(`n${i}`)
  }
  yield* world.until(() => world.posted.filter(({ answer }) => answer === "refused").length >= 4)
  const refused = new Set(world.posted.map(({ sequence }) => sequence))
  assert.deepStrictEqual([...refused], [1]) // one notification waits for all behind it
  world.refuse = false
  yield* world.until(() => received(world.posted, hook).ids.length === count)
  assert.deepStrictEqual(received(world.posted, hook), { ids, faults: [] })
  const sequences = new Set(world.posted.map(({ sequence }) => sequence))
  assert.strictEqual(sequences.size, count)
  // confirmations are written within some milliseconds
  yield* Effect.repeat(undelivered(service), { until: (answer) => answer.undelivered.length === 0, schedule: spacing })
})

describe("a callback that is broken for 200 entries", () => {
  it.live("gets all of them in order, although the service is killed meanwhile", () =>
    Effect.gen(function*() {
      const world = yield* outside
      const settings = {
        WINDHOVER_DATA_DIR: yield* temporaryDirectory,
        WINDHOVER_MIN_PERIOD: "3600",
        WINDHOVER_PUBLISHERS: `${world.url}/feed ${secret}`
      }
      const service = yield* start(settings)
      yield* breakCallback(world, service, Effect.andThen(service.kill, start(settings)))
    }).pipe(Effect.scoped, Effect.timeout(patience)), patience + 10_000)

  it.live.skipIf(!available)(
    "gets all of them in order, although one of two runners is killed meanwhile",
    () =>
      Effect.gen(function*() {
        const world = yield* outside
        const database = yield* serverDatabase
        const runner = Effect.flatMap(freePort, (port) =>
          start({
            WINDHOVER_DATABASE_URL: database,
            WINDHOVER_MIN_PERIOD: "3600",
            WINDHOVER_RUNNER_ADDRESS: `127.0.0.1:${port}`,
            WINDHOVER_PUBLISHERS: `${world.url}/feed ${secret}`
          }))
        const [one, two] = [yield* runner, yield* runner]
        yield* Effect.forEach([one, two], ({ ready }) => ready)
        yield* breakCallback(world, one, Effect.as(one.kill, two))
      }).pipe(Effect.scoped, Effect.timeout(patience)),
    patience + 10_000
  )
})
