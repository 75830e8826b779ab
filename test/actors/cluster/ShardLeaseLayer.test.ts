import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Layer, Logger, Option, References, Scope } from "effect"
import { ClusterError, RunnerAddress, RunnerStorage, ShardId } from "effect/cluster"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/operations/Hub.ts"
import * as ShardLeaseLayer from "#actors/cluster/ShardLeaseLayer.ts"
import * as ShardLease from "#actors/runtime/ShardLease.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import * as Settings from "#layers/Settings.ts"
import { feed, hook, lines, subscribe, watched } from "#test/support/HubCalls.ts"
import { hangs, layerOutside, layerRunner, statusOnly } from "#test/support/SimulatedWeb.ts"

const here = RunnerAddress.make("127.0.0.1", 1)
const [mine, lost, unknown] = [1, 2, 3].map((id) => ShardId.make("default", id)) as [
  ShardId.ShardId,
  ShardId.ShardId,
  ShardId.ShardId
]

/** A database that answers after a second. It grants all locks but the third, and confirms the first only. */
const storage = Layer.mock(RunnerStorage.RunnerStorage, {
  acquire: (_, shards) => {
    const requested = [...shards]
    return requested.includes(unknown)
      ? Effect.fail(new ClusterError.PersistenceError({ cause: "the connection is gone" }))
      : Effect.as(Effect.sleep("1 second"), requested)
  },
  refresh: () => Effect.as(Effect.sleep("1 second"), [mine])
})

/** True when the runner holds the lease of a shard now. */
const isHeld = Effect.fnUntraced(function*(shard: ShardId.ShardId) {
  const lease = (yield* ShardLease.ShardLeases).of(shard)
  const awaiting = yield* Effect.forkChild(lease.awaitHeld, { startImmediately: true })
  const answer = awaiting.pollUnsafe()
  yield* Fiber.interrupt(awaiting)
  assert.strictEqual(lease.isHeld(), answer !== undefined)
  return lease.isHeld()
})

/** Runs an effect that takes a second. */
const runFor1s = Effect.fnUntraced(function*<A, E>(effect: Effect.Effect<A, E>) {
  const running = yield* Effect.forkChild(effect)
  yield* TestClock.adjust("1 second")
  return yield* Fiber.join(running)
})

describe("the lease of a runner", () => {
  it.effect("ends eight seconds after the start of the statement that confirmed the lock", () =>
    Effect.gen(function*() {
      const { acquire, refresh } = yield* RunnerStorage.RunnerStorage
      assert.isFalse(yield* isHeld(mine))
      assert.deepStrictEqual(yield* runFor1s(acquire(here, [mine, lost])), [mine, lost])
      assert.isTrue(yield* isHeld(mine))
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* runFor1s(refresh(here, [mine, lost])), [mine])
      yield* TestClock.adjust("6999 millis")
      assert.isTrue(yield* isHeld(mine))
      yield* TestClock.adjust("1 millis")
      assert.isFalse(yield* isHeld(mine))
    }).pipe(Effect.provide(ShardLeaseLayer.layer.pipe(Layer.provide(storage)))))

  it.effect("of a lost lock does not come back with the next lock", () =>
    Effect.gen(function*() {
      const { acquire, refresh } = yield* RunnerStorage.RunnerStorage
      const leases = yield* ShardLease.ShardLeases
      yield* runFor1s(acquire(here, [mine, lost]))
      const [kept, first] = [leases.of(mine), leases.of(lost)]
      assert.deepStrictEqual([kept.isHeld(), first.isHeld()], [true, true])
      yield* runFor1s(refresh(here, [mine, lost]))
      assert.deepStrictEqual([kept.isHeld(), first.isHeld()], [true, false])
      yield* runFor1s(acquire(here, [lost]))
      assert.deepStrictEqual([first.isHeld(), leases.of(lost).isHeld()], [false, true])
    }).pipe(Effect.provide(ShardLeaseLayer.layer.pipe(Layer.provide(storage)))))

  it.effect("is not held after a failed or interrupted statement until the next confirmation", () =>
    Effect.gen(function*() {
      const { acquire, refresh } = yield* RunnerStorage.RunnerStorage
      yield* runFor1s(acquire(here, [mine]))
      const lease = (yield* ShardLease.ShardLeases).of(mine)
      const states = [lease.isHeld()]
      const interrupted = yield* Effect.forkChild(refresh(here, [mine]), { startImmediately: true })
      yield* Fiber.interrupt(interrupted)
      states.push(lease.isHeld())
      yield* runFor1s(refresh(here, [mine]))
      states.push(lease.isHeld())
      const early = yield* Effect.forkChild(refresh(here, [mine]), { startImmediately: true })
      yield* Effect.flip(acquire(here, [unknown]))
      states.push(lease.isHeld())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(early), [mine])
      states.push(lease.isHeld())
      assert.deepStrictEqual(states, [true, false, true, false, false])
    }).pipe(Effect.provide(ShardLeaseLayer.layer.pipe(Layer.provide(storage)))))

  it.effect("is not held after a failed release, whose session took all locks along", () => {
    const tries: Array<number> = []
    const lines: Array<string> = []
    const failing = Layer.mock(RunnerStorage.RunnerStorage, {
      acquire: (_, shards) => Effect.succeed([...shards]),
      release: (_, { id }) =>
        Effect.suspend(() =>
          tries.push(id) < 3
            ? Effect.fail(new ClusterError.PersistenceError({ cause: new Error("Too slow.") }))
            : Effect.void
        )
    })
    const logger = Logger.make(({ fiber, message }) =>
      void lines.push(`${String(message)} ${String(fiber.getRef(References.CurrentLogAnnotations)["reason"])}`)
    )
    return Effect.gen(function*() {
      const { acquire, release } = yield* RunnerStorage.RunnerStorage
      yield* acquire(here, [mine, lost, unknown])
      assert.isTrue(yield* isHeld(mine))
      const releases = yield* Effect.forkChild(
        Effect.all([release(here, lost), release(here, unknown)], { concurrency: 2 }),
        { startImmediately: true }
      )
      assert.isFalse(yield* isHeld(mine))
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(releases)
      // One lock after the other, and one line for all failures.
      assert.deepStrictEqual(tries, [2, 2, 2, 3])
      assert.deepStrictEqual(lines, ["The lock of a shard could not be released; retrying every second. Too slow."])
    }).pipe(
      Effect.provide(ShardLeaseLayer.layer.pipe(Layer.provide(failing))),
      Effect.provide(Logger.layer([logger]))
    )
  })

  it.effect("can be awaited", () =>
    Effect.gen(function*() {
      const { acquire } = yield* RunnerStorage.RunnerStorage
      const waiting = yield* Effect.forkChild((yield* ShardLease.ShardLeases).of(mine).awaitHeld)
      yield* TestClock.adjust("10 seconds")
      assert.isUndefined(waiting.pollUnsafe())
      yield* runFor1s(acquire(here, [mine]))
      yield* TestClock.adjust("100 millis")
      assert.isDefined(waiting.pollUnsafe())
    }).pipe(Effect.provide(ShardLeaseLayer.layer.pipe(Layer.provide(storage)))))
})

/** Leases that the test suspends and confirms. */
const makeLeases = () => {
  const latch = Latch.makeUnsafe(true)
  let isLeaseHeld = true
  return {
    suspendLeases: () => {
      isLeaseHeld = false
      latch.closeUnsafe()
    },
    confirmLeases: () => {
      isLeaseHeld = true
      latch.openUnsafe()
    },
    layer: Layer.succeed(ShardLease.ShardLeases, {
      of: () => ({ isHeld: () => isLeaseHeld, awaitHeld: latch.await })
    })
  }
}

describe("a partition without its lease", () => {
  it.effect("sends and records nothing, and resumes with its lease", () =>
    Effect.gen(function*() {
      const { suspendLeases, confirmLeases, layer } = makeLeases()
      yield* Effect.gen(function*() {
        const web = yield* watched("good", "bad")
        web.answer(hook("bad"), () => Effect.succeed(503))
        web.publish(feed, ["b", "first"])
        yield* Hub.use((hub) => hub.publish([feed]))
        yield* TestClock.adjust("1 second")
        web.answer(hook("bad"), () => Effect.succeed(200))

        suspendLeases()
        web.publish(feed, ["c", "b", "first"])
        yield* Hub.use((hub) => hub.publish([feed]))
        yield* TestClock.adjust("60 seconds")
        assert.deepStrictEqual(lines(web, "post"), [
          "2.01s post good.hooks.example/ b try 0",
          "2.01s post bad.hooks.example/ b try 0"
        ])
        const { id } = Option.getOrThrow(yield* ResourceStore.use((resources) => resources.find(feed)))
        const page = yield* EntryStore.use((entries) => entries.page({ resourceIds: [id], count: 10 }))
        assert.deepStrictEqual(page._tag === "Page" ? page.entries.map(({ entry }) => entry.id) : [], ["b", "first"])

        confirmLeases()
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(lines(web, "post").slice(2), [
          "63s post good.hooks.example/ c try 0",
          "63.01s post bad.hooks.example/ b try 1",
          "63.01s post bad.hooks.example/ c try 0"
        ])
      }).pipe(Effect.provide(layerRunner.pipe(Layer.provide(layer))))
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues())))

  it.effect("writes no reason of a paused host over the results of another owner", () =>
    Effect.gen(function*() {
      const { suspendLeases, confirmLeases, layer } = makeLeases()
      yield* Effect.gen(function*() {
        const web = yield* watched("good")
        const other = `${feed}/other`
        const statusText = Effect.map(
          ResourceStore.use((resources) => resources.find(other)),
          (found) => Option.getOrThrow(found).http
        )
        web.serve(feed, () => Effect.succeed(statusOnly(429, { "retry-after": "600" })))
        yield* Hub.use((hub) => hub.publish([feed]))
        yield* TestClock.adjust("1 second")

        suspendLeases()
        yield* subscribe("good", { topic: other })
        yield* TestClock.adjust("1 second")
        assert.isUndefined(yield* statusText)

        confirmLeases()
        yield* TestClock.adjust("1 second")
        assert.include(yield* statusText, "asked to be left alone")
      }).pipe(Effect.provide(layerRunner.pipe(Layer.provide(layer))))
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues())))

  it.effect("does not send a delivery that waited for its permit, and counts no attempt", () =>
    Effect.gen(function*() {
      const { suspendLeases, confirmLeases, layer } = makeLeases()
      yield* Effect.gen(function*() {
        const web = yield* watched("hanging", "good")
        web.answer(hook("hanging"), hangs)
        web.publish(feed, ["b", "first"])
        yield* Hub.use((hub) => hub.publish([feed]))
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(lines(web, "post"), ["2.01s post hanging.hooks.example/ b try 0"])

        suspendLeases()
        yield* TestClock.adjust("60 seconds")
        assert.strictEqual(lines(web, "post").length, 1)

        web.answer(hook("hanging"), () => Effect.succeed(200))
        confirmLeases()
        yield* TestClock.adjust("1 second")
        // the delivery that waits gets its permit at the limiter's next look
        assert.deepStrictEqual(lines(web, "post").slice(1).map((line) => line.replace(/^63\.0\ds/, "63s")).toSorted(), [
          "63s post good.hooks.example/ b try 0",
          "63s post hanging.hooks.example/ b try 1"
        ])
      }).pipe(Effect.provide(layerRunner.pipe(Layer.provide(layer))))
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues({ maxDeliveries: 1 }))))

  it.effect("stops without waiting for its lease", () =>
    Effect.gen(function*() {
      const { suspendLeases, layer } = makeLeases()
      const scope = yield* Scope.make()
      const runner = yield* Layer.build(layerRunner.pipe(Layer.provide(layer))).pipe(Scope.provide(scope))
      yield* Effect.gen(function*() {
        const web = yield* watched("bad")
        web.answer(hook("bad"), () => Effect.succeed(503))
        web.publish(feed, ["b", "first"])
        yield* Hub.use((hub) => hub.publish([feed]))
        yield* TestClock.adjust("1 second")
        suspendLeases()
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(lines(web, "post"), ["2.01s post bad.hooks.example/ b try 0"])
      }).pipe(Effect.provide(runner))
      const stopping = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("1 second")
      assert.isDefined(stopping.pollUnsafe())
    }).pipe(Effect.provide(layerOutside), Effect.provide(Settings.layerValues())))
})
