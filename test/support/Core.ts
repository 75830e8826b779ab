import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { Hub, type SubscribeRequest } from "#actors/operations/Hub.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { caller, World } from "./World.ts"

export const feed = "http://feeds.example/a"

/** The address of a callback, by its short name. */
export const hook = (name: string) => `http://${name}.hooks.example/`

/** Without a look at what is there; see Discovering.test.ts for that. */
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

/** The account exists, the partitions are awake, and it is one second past the epoch. */
export const started = Effect.gen(function*() {
  yield* (yield* AccountStore).create("ann", Redacted.make("a password"))
  yield* TestClock.adjust("1 second")
  return yield* World
})

/** A world whose feed holds `first`, fetched once, with subscriptions of these names. */
export const watched = Effect.fnUntraced(function*(...names: ReadonlyArray<string>) {
  const world = yield* started
  world.publish(feed, ["first"])
  for (const name of names) yield* subscribe(name)
  yield* TestClock.adjust("1 second")
  world.log.length = 0
  return world
})

/** Lines of the log that hold `text`. */
export const lines = (world: World["Service"], text: string) => world.log.filter((line) => line.includes(text))

/** A header of what was sent, by the callback's name. */
export const headers = (world: World["Service"], name: string, header: string) =>
  world.parcels.filter(({ callback }) => callback === hook(name)).map((parcel) =>
    parcel.headers.find(([key]) => key === header)?.[1]
  )
