import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/operations/Hub.ts"
import { anonymous } from "#domain/Account.ts"
import { statusOf } from "#domain/poll/Resource.ts"
import { DiskRoom } from "#domain/ports/DiskRoom.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { feed, hook, lines, started } from "#test/support/HubCalls.ts"
import { layer } from "#test/support/SimulatedWeb.ts"

const room = { isFree: true }
const withRoom = Layer.provide(layer, Layer.succeed(DiskRoom, { forStrangers: () => room.isFree }))

const subscribe = (callback: string, face: "api" | "hub", accountId = 0) =>
  Effect.flatMap(Hub, (hub) =>
    hub.subscribe({
      caller: { ...anonymous, account: { ...anonymous.account, id: accountId } },
      topic: feed,
      callback: hook(callback),
      face,
      retrieve: false,
      ...(face === "hub" && { verify: "sync" as const })
    }))

/** The status of the resource for its subscribers. */
const status = Effect.map(
  ResourceStore.use((store) => store.find(feed)),
  (found) => Option.match(found, { onNone: () => undefined, onSome: (state) => statusOf(state, feed).http })
)

describe("a disk without room", () => {
  it.effect("polls no resource that only strangers watch, and accepts none, until there is room", () =>
    Effect.gen(function*() {
      const web = yield* started
      room.isFree = true
      web.publish(feed, ["first"])
      yield* subscribe("good", "hub")
      room.isFree = false
      const before = lines(web, "poll").length
      web.publish(feed, ["b", "first"])
      yield* (yield* Hub).publish([feed])
      yield* TestClock.adjust("20 minutes")
      assert.strictEqual(lines(web, "poll").length, before)
      assert.match(
        (yield* status) ?? "",
        /^Not fetched for now: the topics of the open hub have filled their share of the disk/
      )
      const { reason } = yield* Effect.flip(subscribe("late", "hub"))
      assert.deepStrictEqual([reason._tag, "retryAfter" in reason ? reason.retryAfter : 0], ["Unavailable", 3_600])
      assert.match(reason.message, /nearly full/)
      room.isFree = true
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(web.parcels.length, 1)
      assert.match((yield* status) ?? "", /^Fetched/)
      room.isFree = false
      yield* TestClock.adjust("20 minutes")
      assert.match((yield* status) ?? "", /^Not fetched/)
      room.isFree = true
      yield* TestClock.adjust("2 minutes")
      assert.match((yield* status) ?? "", /^Fetched/, "also after a document without news")
    }).pipe(Effect.provide(withRoom)))

  it.effect("polls what an account watches", () =>
    Effect.gen(function*() {
      const web = yield* started
      room.isFree = false
      web.publish(feed, ["first"])
      yield* subscribe("mine", "api", 1)
      yield* TestClock.adjust("1 minute")
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("20 minutes")
      assert.strictEqual(web.parcels.length, 1)
    }).pipe(Effect.provide(withRoom)))
})
