import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Layer, Option, Scope } from "effect"
import { ClusterError, RunnerAddress, RunnerStorage, ShardId } from "effect/cluster"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/operations/Hub.ts"
import * as ShardLease from "#actors/cluster/ShardLease.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import * as Settings from "#layers/Settings.ts"
import { feed, hook, lines, subscribe, watched } from "#test/support/Core.ts"
import { hangs, layerOutside, layerRunner, statusOnly } from "#test/support/World.ts"

const here = RunnerAddress.make("127.0.0.1", 1)
const [mine, lost, unknown] = [1, 2, 3].map((id) => ShardId.make("default", id)) as [
  ShardId.ShardId,
  ShardId.ShardId,
  ShardId.ShardId
]

/** A database that takes a second for each answer, and gives two locks and confirms one. It fails over the third. */
const storage = Layer.mock(RunnerStorage.RunnerStorage, {
  acquire: (_, shards) => {
    const asked = [...shards]
    return asked.includes(unknown)
      ? Effect.fail(new ClusterError.PersistenceError({ cause: "the connection is gone" }))
      : Effect.as(Effect.sleep("1 second"), asked)
  },
  refresh: () => Effect.as(Effect.sleep("1 second"), [mine])
})

/** Whether a runner is sure of a shard at this moment. */
const isSure = Effect.fnUntraced(function*(shard: ShardId.ShardId) {
  const claim = (yield* ShardLease.ShardLeases).of(shard)
  const asking = yield* Effect.forkChild(claim.awaitHeld, { startImmediately: true })
  const answer = asking.pollUnsafe()
  yield* Fiber.interrupt(asking)
  assert.strictEqual(claim.isHeld(), answer !== undefined)
  return claim.isHeld()
})

/** Does something that takes a second. */
const done = Effect.fnUntraced(function*<A, E>(what: Effect.Effect<A, E>) {
  const doing = yield* Effect.forkChild(what)
  yield* TestClock.adjust("1 second")
  return yield* Fiber.join(doing)
})

describe("the tenure of a runner", () => {
  it.effect("ends eight seconds after the question whose answer was that it holds the lock", () =>
    Effect.gen(function*() {
      const { acquire, refresh } = yield* RunnerStorage.RunnerStorage
      assert.isFalse(yield* isSure(mine))
      assert.deepStrictEqual(yield* done(acquire(here, [mine, lost])), [mine, lost])
      assert.isTrue(yield* isSure(mine))
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* done(refresh(here, [mine, lost])), [mine])
      yield* TestClock.adjust("6999 millis")
      assert.isTrue(yield* isSure(mine))
      yield* TestClock.adjust("1 millis")
      assert.isFalse(yield* isSure(mine))
    }).pipe(Effect.provide(ShardLease.layer.pipe(Layer.provide(storage)))))

  it.effect("of a lock that was lost does not come back with another one", () =>
    Effect.gen(function*() {
      const { acquire, refresh } = yield* RunnerStorage.RunnerStorage
      const tenure = yield* ShardLease.ShardLeases
      yield* done(acquire(here, [mine, lost]))
      const [kept, first] = [tenure.of(mine), tenure.of(lost)]
      assert.deepStrictEqual([kept.isHeld(), first.isHeld()], [true, true])
      yield* done(refresh(here, [mine, lost]))
      assert.deepStrictEqual([kept.isHeld(), first.isHeld()], [true, false])
      yield* done(acquire(here, [lost]))
      assert.deepStrictEqual([first.isHeld(), tenure.of(lost).isHeld()], [false, true])
    }).pipe(Effect.provide(ShardLease.layer.pipe(Layer.provide(storage)))))

  it.effect("is in doubt once a question failed or was given up, until the next answer", () =>
    Effect.gen(function*() {
      const { acquire, refresh } = yield* RunnerStorage.RunnerStorage
      yield* done(acquire(here, [mine]))
      const claim = (yield* ShardLease.ShardLeases).of(mine)
      const states = [claim.isHeld()]
      const given = yield* Effect.forkChild(refresh(here, [mine]), { startImmediately: true })
      yield* Fiber.interrupt(given)
      states.push(claim.isHeld())
      yield* done(refresh(here, [mine]))
      states.push(claim.isHeld())
      const early = yield* Effect.forkChild(refresh(here, [mine]), { startImmediately: true })
      yield* Effect.flip(acquire(here, [unknown]))
      states.push(claim.isHeld())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(early), [mine])
      states.push(claim.isHeld())
      assert.deepStrictEqual(states, [true, false, true, false, false])
    }).pipe(Effect.provide(ShardLease.layer.pipe(Layer.provide(storage)))))

  it.effect("is waited for", () =>
    Effect.gen(function*() {
      const { acquire } = yield* RunnerStorage.RunnerStorage
      const waiting = yield* Effect.forkChild((yield* ShardLease.ShardLeases).of(mine).awaitHeld)
      yield* TestClock.adjust("10 seconds")
      assert.isUndefined(waiting.pollUnsafe())
      yield* done(acquire(here, [mine]))
      yield* TestClock.adjust("100 millis")
      assert.isDefined(waiting.pollUnsafe())
    }).pipe(Effect.provide(ShardLease.layer.pipe(Layer.provide(storage)))))
})

/** The tenure of a runner that is sure until it is not. */
const doubtful = () => {
  const latch = Latch.makeUnsafe(true)
  let isSure = true
  return {
    doubt: () => {
      isSure = false
      latch.closeUnsafe()
    },
    know: () => {
      isSure = true
      latch.openUnsafe()
    },
    tenure: Layer.succeed(ShardLease.ShardLeases, { of: () => ({ isHeld: () => isSure, awaitHeld: latch.await }) })
  }
}

describe("a partition whose runner is not sure of it", () => {
  it.effect("is sent nothing of and recorded nothing in, and goes on when it is", () =>
    Effect.gen(function*() {
      const { doubt, know, tenure } = doubtful()
      yield* Effect.gen(function*() {
        const world = yield* watched("good", "bad")
        world.answer(hook("bad"), () => Effect.succeed(503))
        world.publish(feed, ["b", "first"])
        yield* Hub.use((hub) => hub.publish([feed]))
        yield* TestClock.adjust("1 second")
        world.answer(hook("bad"), () => Effect.succeed(200))

        doubt()
        world.publish(feed, ["c", "b", "first"])
        yield* Hub.use((hub) => hub.publish([feed]))
        yield* TestClock.adjust("60 seconds")
        assert.deepStrictEqual(lines(world, "post"), [
          "2.01s post good.hooks.example/ b try 0",
          "2.01s post bad.hooks.example/ b try 0"
        ])
        const { id } = Option.getOrThrow(yield* ResourceStore.use((resources) => resources.find(feed)))
        const page = yield* EntryStore.use((entries) => entries.page({ resourceIds: [id], count: 10 }))
        assert.deepStrictEqual(page._tag === "Page" ? page.entries.map(({ entry }) => entry.id) : [], ["b", "first"])

        know()
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(lines(world, "post").slice(2), [
          "63s post good.hooks.example/ c try 0",
          "63.01s post bad.hooks.example/ b try 1",
          "63.01s post bad.hooks.example/ c try 0"
        ])
      }).pipe(Effect.provide(layerRunner.pipe(Layer.provide(tenure))))
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues())))

  it.effect("notes of what is left alone, and was never fetched, nothing over what another owner may have found", () =>
    Effect.gen(function*() {
      const { doubt, know, tenure } = doubtful()
      yield* Effect.gen(function*() {
        const world = yield* watched("good")
        const other = `${feed}/other`
        const noted = Effect.map(
          ResourceStore.use((resources) => resources.find(other)),
          (found) => Option.getOrThrow(found).http
        )
        world.serve(feed, () => Effect.succeed(statusOnly(429, { "retry-after": "600" })))
        yield* Hub.use((hub) => hub.publish([feed]))
        yield* TestClock.adjust("1 second")

        doubt()
        yield* subscribe("good", { topic: other })
        yield* TestClock.adjust("1 second")
        assert.isUndefined(yield* noted)

        know()
        yield* TestClock.adjust("1 second")
        assert.include(yield* noted, "asked to be left alone")
      }).pipe(Effect.provide(layerRunner.pipe(Layer.provide(tenure))))
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues())))

  it.effect("does not send what waited for a place when it was still sure; that is no try", () =>
    Effect.gen(function*() {
      const { doubt, know, tenure } = doubtful()
      yield* Effect.gen(function*() {
        const world = yield* watched("hanging", "good")
        world.answer(hook("hanging"), hangs)
        world.publish(feed, ["b", "first"])
        yield* Hub.use((hub) => hub.publish([feed]))
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(lines(world, "post"), ["2.01s post hanging.hooks.example/ b try 0"])

        doubt()
        yield* TestClock.adjust("60 seconds")
        assert.strictEqual(lines(world, "post").length, 1)

        world.answer(hook("hanging"), () => Effect.succeed(200))
        know()
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(lines(world, "post").slice(1).toSorted(), [
          "63.01s post good.hooks.example/ b try 0",
          "63.01s post hanging.hooks.example/ b try 1"
        ])
      }).pipe(Effect.provide(layerRunner.pipe(Layer.provide(tenure))))
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues({ maxDeliveries: 1 }))))

  it.effect("is stopped without waiting for that", () =>
    Effect.gen(function*() {
      const { doubt, tenure } = doubtful()
      const scope = yield* Scope.make()
      const runner = yield* Layer.build(layerRunner.pipe(Layer.provide(tenure))).pipe(Scope.provide(scope))
      yield* Effect.gen(function*() {
        const world = yield* watched("bad")
        world.answer(hook("bad"), () => Effect.succeed(503))
        world.publish(feed, ["b", "first"])
        yield* Hub.use((hub) => hub.publish([feed]))
        yield* TestClock.adjust("1 second")
        doubt()
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(lines(world, "post"), ["2.01s post bad.hooks.example/ b try 0"])
      }).pipe(Effect.provide(runner))
      const stopping = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("1 second")
      assert.isDefined(stopping.pollUnsafe())
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues())))
})
