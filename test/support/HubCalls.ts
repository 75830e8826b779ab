import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { Hub, type SubscribeRequest } from "#actors/operations/Hub.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { caller, SimulatedWeb } from "./SimulatedWeb.ts"

export const feed = "http://feeds.example/a"

/** URL of a callback by its short name. */
export const hook = (name: string) => `http://${name}.hooks.example/`

/** Subscribes without feed discovery; FeedDiscovery.test.ts tests that part. */
export const subscribe = Effect.fnUntraced(
  function*(name: string, options: Partial<SubscribeRequest> = {}) {
    const hub = yield* Hub
    const plain = { caller, topic: feed, callback: hook(name), face: "api", retrieve: false, discover: false } as const
    return yield* hub.subscribe({ ...plain, ...options })
  }
)

export const unsubscribe = Effect.fnUntraced(function*(name: string, topic = feed) {
  return yield* (yield* Hub).unsubscribe({ caller, topic, callback: hook(name), face: "api" })
})

/** Creates the account, wakes the partitions, and sets the clock to one second past the epoch. */
export const started = Effect.gen(function*() {
  yield* (yield* AccountStore).create("ann", Redacted.make("a password"))
  yield* TestClock.adjust("1 second")
  return yield* SimulatedWeb
})

/** A web with the feed entry `first`, fetched once, and with subscriptions of these names. */
export const watched = Effect.fnUntraced(function*(...names: ReadonlyArray<string>) {
  const web = yield* started
  web.publish(feed, ["first"])
  for (const name of names) yield* subscribe(name)
  yield* TestClock.adjust("1 second")
  web.log.length = 0
  return web
})

/** Lines of the log with `text`. */
export const lines = (web: SimulatedWeb["Service"], text: string) => web.log.filter((line) => line.includes(text))

/** Values of a header in the parcels for a callback. */
export const headers = (web: SimulatedWeb["Service"], name: string, header: string) =>
  web.parcels.filter(({ callback }) => callback === hook(name)).map((parcel) =>
    parcel.headers.find(([key]) => key === header)?.[1]
  )
