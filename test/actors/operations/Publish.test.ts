import { assert, describe, it } from "@effect/vitest"
import { Effect, Latch, Layer } from "effect"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { makePublish } from "#actors/operations/Publish.ts"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { type NewPing, Pings } from "#domain/ports/Pings.ts"
import { type PingedTopic, ResourceStore } from "#domain/ports/ResourceStore.ts"
import { StoreError } from "#domain/ports/StoreError.ts"

const page = "http://pages.example/"

const unwatched: PingedTopic = { fragments: [] }
const watched: PingedTopic = { resource: { id: 1, isWatched: true }, fragments: [] }

/** `publish` with a log of rows and pings, over a database that has these answers. */
const makeWorld = Effect.gen(function*() {
  const world = {
    log: [] as Array<string>,
    /** Whether this runner polls a resource. */
    isPolled: (_id: number): boolean => true,
    record: (_ping: NewPing): Effect.Effect<PingedTopic, StoreError> => Effect.succeed(watched)
  }
  const exchanges = new MemoryBudget({ maxBytes: 1024 })
  const note = (line: string) => Effect.sync(() => world.log.push(line))
  const publish = yield* Effect.provide(
    makePublish,
    Layer.mergeAll(
      Layer.mock(Pings, {
        record: (ping) => Effect.andThen(note(ping.mayWait === true ? "row may wait" : "row"), world.record(ping))
      }),
      Layer.mock(ResourceStore, { findPinged: () => Effect.succeed(unwatched) }),
      Layer.mock(EntryStore, {}),
      Layer.mock(Partitions, {
        ping: (_partition, id) => Effect.asVoid(note(`ping ${id}`)),
        pingIfPolled: (_partition, id) =>
          Effect.suspend(() => world.isPolled(id) ? Effect.as(note(`early ping ${id}`), true) : Effect.succeed(false))
      }),
      Layer.succeed(DocumentMemory, { fetches: new MemoryBudget(), reading: new MemoryBudget(), exchanges })
    )
  )
  /** Publishes, and returns what has happened. */
  const happens = Effect.fnUntraced(function*(...topics: ReadonlyArray<string>) {
    world.log.length = 0
    yield* Effect.ignore(publish(topics, { accountId: 1 }))
    yield* Effect.yieldNow
    return world.log
  })
  return { world, publish, happens, exchanges }
})

const away = Effect.fail(new StoreError({ reason: { _tag: "Unavailable", message: "away" } }))

describe("publish", () => {
  it.effect("pings what the last ping has reached before the row is written, once each", () =>
    Effect.gen(function*() {
      const { happens, world } = yield* makeWorld
      world.record = () => Effect.succeed({ ...watched, fragments: [2, 3] })
      assert.deepStrictEqual(yield* happens(page), ["row", "ping 1", "ping 2", "ping 3"])
      assert.deepStrictEqual(yield* happens(page), ["early ping 1", "early ping 2", "early ping 3", "row may wait"])
      world.record = () => Effect.succeed({ fragments: [3, 4] })
      assert.deepStrictEqual(
        yield* happens(page),
        ["early ping 1", "early ping 2", "early ping 3", "row may wait", "ping 4"]
      )
      assert.deepStrictEqual(yield* happens(page), ["early ping 3", "early ping 4", "row may wait"])
    }))

  it.effect("pings after the row what this runner does not poll, and what is not known to be watched", () =>
    Effect.gen(function*() {
      const { happens, world } = yield* makeWorld
      yield* happens(page)
      world.isPolled = () => false
      assert.deepStrictEqual(yield* happens(page), ["row", "ping 1"])
      world.isPolled = () => true
      world.record = () => Effect.succeed(unwatched)
      assert.deepStrictEqual(yield* happens(page), ["early ping 1", "row may wait"])
      assert.deepStrictEqual(yield* happens(page), ["row"])
    }))

  it.effect("pings each resource of a page once, before the row or after it", () =>
    Effect.gen(function*() {
      const { happens, world } = yield* makeWorld
      world.record = () => Effect.succeed({ ...watched, fragments: [2, 3] })
      yield* happens(page)
      world.isPolled = (id) => id !== 2
      assert.deepStrictEqual(yield* happens(page), ["early ping 1", "early ping 3", "row", "ping 2"])
    }))

  it.effect("pings each topic of a request once while no row can be written", () =>
    Effect.gen(function*() {
      const { happens, world } = yield* makeWorld
      const topics = ["a", "b", "c"].map((path) => page + path)
      yield* happens(...topics)
      // Rows share a statement, which goes on when a caller is interrupted.
      world.record = () => Effect.uninterruptible(Effect.andThen(Effect.yieldNow, away))
      assert.strictEqual((yield* happens(...topics)).filter((line) => line === "early ping 1").length, 3)
      assert.deepStrictEqual(yield* happens(...topics), ["row", "row", "row"])
    }))

  it.effect("pings once while no row can be written", () =>
    Effect.gen(function*() {
      const { happens, world } = yield* makeWorld
      yield* happens(page)
      world.record = () => away
      assert.deepStrictEqual(yield* happens(page), ["early ping 1", "row may wait"])
      assert.deepStrictEqual(yield* happens(page), ["row"])
    }))

  it.effect("writes the rows of all topics at once", () =>
    Effect.gen(function*() {
      const { happens, world } = yield* makeWorld
      const all = Latch.makeUnsafe(false)
      let rows = 0
      world.record = () => {
        if (++rows === 500) all.openUnsafe()
        return Effect.as(all.await, unwatched)
      }
      yield* happens(...Array.from({ length: 500 }, (_, i) => `${page}${i}`))
      assert.strictEqual(rows, 500)
    }))

  it.effect("releases the memory of content that reaches nobody", () =>
    Effect.gen(function*() {
      const { exchanges, publish, world } = yield* makeWorld
      world.record = () => Effect.succeed(unwatched)
      yield* publish([page], { accountId: 1, content: { contentType: "text/plain", body: new Uint8Array(1000) } })
      assert.isTrue(exchanges.reserve("another").tryGrow(1000))
    }))
})
