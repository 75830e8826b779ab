import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Metric, Schedule, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { ActorOptions } from "#actors/runtime/Actor.ts"
import * as ActorSystem from "#actors/runtime/ActorSystem.ts"
import { actorCrashes } from "#actors/runtime/Metrics.ts"
import { ActorBudget, Budget } from "#actors/runtime/ActorBudget.ts"

const withBudget = (budget: Budget) => Effect.provideService(ActorBudget, budget)

const ample = () => withBudget(new Budget(1000, 1000))

/** Lines of events with their times, such as `1s b`. */
const makeJournal = () => {
  const lines: Array<string> = []
  const note = (line: string) => Effect.map(Clock.currentTimeMillis, (now) => void lines.push(`${now / 1000}s ${line}`))
  return { lines, note }
}

/** Actors that count their messages in their state and handle each. */
const makeCounting = (
  handle: (id: number, message: string, count: number) => Effect.Effect<void, string>,
  options: Partial<ActorOptions<{ count: number }, string, string, never>> = {}
) =>
  ActorSystem.make<{ count: number }, string, string, never>({
    name: "test",
    alarm: "alarm",
    behavior: Effect.fnUntraced(function*(self) {
      self.state ??= { count: 0 }
      for (let message = self.take(); message !== undefined; message = self.take()) {
        yield* handle(self.id, message, ++self.state.count)
      }
      return undefined
    }),
    ...options
  })

describe("ActorSystem", () => {
  it.effect("takes messages one by one, in order, and keeps the state in between", () =>
    Effect.gen(function*() {
      const { lines, note } = makeJournal()
      const actors = yield* makeCounting((id, message, count) =>
        Effect.andThen(Effect.sleep(100), note(`${id} ${message} ${count}`))
      )
      yield* actors.tell(1, "a")
      yield* actors.tell(1, "b")
      yield* actors.tell(2, "c")
      yield* TestClock.adjust("1 second")
      yield* actors.tell(1, "d")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(lines, ["0.1s 1 a 1", "0.1s 2 c 1", "0.2s 1 b 2", "1.1s 1 d 3"])
    }).pipe(Effect.scoped, ample()))

  it.effect("fires an alarm exactly on time, and replaces an alarm that is set again", () =>
    Effect.gen(function*() {
      const { lines, note } = makeJournal()
      const actors = yield* ActorSystem.make<never, string, never, never>({
        name: "test",
        alarm: "alarm",
        behavior: Effect.fnUntraced(function*(self) {
          yield* note(`${self.id} ${self.take()}`)
          return (yield* Clock.currentTimeMillis) + 60_000
        })
      })
      yield* actors.wakeAt(1, 90_000)
      yield* actors.wakeAt(1, 10_000)
      yield* actors.wakeAt(2, 15_000)
      yield* TestClock.adjust("100 seconds")
      assert.deepStrictEqual(lines, ["10s 1 alarm", "15s 2 alarm", "70s 1 alarm", "75s 2 alarm"])
      assert.deepStrictEqual(yield* actors.counts, { running: 0, resident: 2, alarms: 2 })
      assert.deepStrictEqual([1, 2, 3].map((id) => actors.hasAlarm(id)), [true, true, false])
    }).pipe(Effect.scoped, ample()))

  it.effect("runs again for a message that arrives while the behavior ends", () =>
    Effect.gen(function*() {
      const { lines, note } = makeJournal()
      const actors = yield* ActorSystem.make<never, string, never, never>({
        name: "test",
        alarm: "alarm",
        behavior: Effect.fnUntraced(function*(self) {
          yield* note(String(self.take()))
          yield* Effect.sleep(100)
          return undefined
        })
      })
      yield* actors.tell(1, "a")
      yield* TestClock.adjust(50)
      yield* actors.tell(1, "b")
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(lines, ["0s a", "0.1s b"])
    }).pipe(Effect.scoped, ample()))

  it.effect("restarts a crashed actor without its state, and with the messages that it had not taken", () =>
    Effect.gen(function*() {
      const { lines, note } = makeJournal()
      const actors = yield* makeCounting((_id, message, count) =>
        message === "fail"
          ? Effect.fail("failure")
          : message === "die"
          ? Effect.die("defect")
          : note(`${message} ${count}`)
      )
      for (const message of ["a", "fail", "b", "die", "c"]) yield* actors.tell(1, message)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(lines, ["0s a 1", "0.25s b 1", "0.75s c 1"])
    }).pipe(Effect.scoped, ample()))

  it.effect("suspends an actor that always crashes for five minutes, and resets the waits after a completed run", () =>
    Effect.gen(function*() {
      const { lines, note } = makeJournal()
      let broken = true
      const actors = yield* makeCounting(
        () => Effect.andThen(note("runs"), broken ? Effect.die("defect") : Effect.void),
        {
          restarts: Schedule.exponential("1 second").pipe(Schedule.upTo({ times: 2 }))
        }
      )
      for (let i = 0; i < 4; i++) yield* actors.tell(1, "work")
      yield* TestClock.adjust("302 seconds")
      assert.deepStrictEqual(lines, ["0s runs", "1s runs", "3s runs"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(lines.slice(3), ["303s runs"])
      broken = false
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(lines.slice(4), ["304s runs"])
      broken = true
      yield* actors.tell(1, "work")
      yield* TestClock.adjust(0)
      broken = false
      yield* actors.tell(1, "work")
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(lines.slice(5), ["304s runs"])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(lines.slice(5), ["304s runs", "305s runs"])
    }).pipe(Effect.scoped, ample()))

  it.effect("passivates the least recently used actor beyond the budget of the runner, which then starts without state", () =>
    Effect.gen(function*() {
      const counts: Array<string> = []
      const budget = new Budget(2, 1000)
      const make = makeCounting((id, _, count) => Effect.sync(() => void counts.push(`${id} ${count}`))).pipe(
        withBudget(budget)
      )
      const [one, other] = [yield* make, yield* make]
      for (const [actors, id] of [[one, 1], [other, 2], [one, 1], [one, 3], [one, 1], [other, 2]] as const) {
        yield* actors.tell(id, "work")
        yield* TestClock.adjust(0)
      }
      assert.deepStrictEqual(counts, ["1 1", "2 1", "1 2", "3 1", "1 3", "2 1"])
      assert.deepStrictEqual([(yield* one.counts).resident, (yield* other.counts).resident, budget.idleCount], [
        1,
        1,
        2
      ])
    }).pipe(Effect.scoped))

  it.effect("never passivates a pinned actor", () =>
    Effect.gen(function*() {
      const starts: Array<number> = []
      const actors = yield* ActorSystem.make<true, string, never, never>({
        name: "test",
        alarm: "alarm",
        behavior: (self) =>
          Effect.sync(() => {
            if (self.state === undefined) starts.push(self.id)
            self.state = true
            self.pinned = self.take() === "keep"
            return undefined
          })
      })
      for (const [message, resident] of [["keep", 1], ["work", 0]] as const) {
        yield* actors.tell(1, message)
        yield* TestClock.adjust(0)
        assert.strictEqual((yield* actors.counts).resident, resident)
      }
      assert.deepStrictEqual(starts, [1])
    }).pipe(Effect.scoped, withBudget(new Budget(0, 1000))))

  it.effect("delays alarms of actors that need a slot while the runner has none", () =>
    Effect.gen(function*() {
      let [running, maxRunning, fired] = [0, 0, 0]
      const budget = new Budget(0, 10)
      const make = makeCounting(
        Effect.fnUntraced(function*() {
          maxRunning = Math.max(maxRunning, ++running)
          yield* Effect.sleep(100)
          running--
          fired++
        }),
        { needsSlot: true }
      ).pipe(withBudget(budget))
      const partitions = [yield* make, yield* make, yield* make]
      for (const actors of partitions) for (let id = 0; id < 100; id++) yield* actors.wakeAt(id, 0)
      yield* TestClock.adjust("2900 millis")
      assert.isBelow(fired, 300)
      yield* TestClock.adjust("200 millis")
      assert.deepStrictEqual([fired, maxRunning, budget.slotsInUse], [300, 10, 0])
    }).pipe(Effect.scoped))

  it.effect("interrupts a stopped actor, drops its mailbox and alarm, and counts no crash", () =>
    Effect.gen(function*() {
      const { lines, note } = makeJournal()
      const actors = yield* makeCounting(
        (_id, message) =>
          Effect.andThen(note(message), Effect.sleep("10 seconds")).pipe(Effect.onInterrupt(() => note("interrupted"))),
        {
          name: "stopped"
        }
      )
      yield* actors.tell(1, "a")
      yield* actors.tell(1, "b")
      yield* actors.wakeAt(1, 5000)
      yield* TestClock.adjust("1 second")
      yield* actors.stop(1)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(lines, ["0s a", "1s interrupted"])
      assert.strictEqual((yield* Metric.value(Metric.withAttributes(actorCrashes, { actor: "stopped" }))).count, 0)
      assert.deepStrictEqual(yield* actors.counts, { running: 0, resident: 0, alarms: 0 })
      yield* actors.tell(1, "c")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(lines.slice(2), ["61s c"])
    }).pipe(Effect.scoped, ample()))

  it.effect("passivates a pinned actor after a crash", () =>
    Effect.gen(function*() {
      const actors = yield* ActorSystem.make<never, string, never, never>({
        name: "test",
        alarm: "alarm",
        behavior: Effect.fnUntraced(function*(self) {
          if (self.take() === undefined) return undefined
          self.pinned = true
          return yield* Effect.die("a defect")
        })
      })
      yield* actors.tell(1, "a")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* actors.counts).resident, 0)
    }).pipe(Effect.scoped, withBudget(new Budget(0, 1000))))

  it.effect("drains: running actors finish their message and start no other; the end of the scope interrupts them", () =>
    Effect.gen(function*() {
      const { lines, note } = makeJournal()
      const scope = yield* Scope.make()
      const actors = yield* makeCounting((_id, message) =>
        Effect.andThen(Effect.sleep(`${Number(message)} seconds`), note(`${message} done`)).pipe(
          Effect.onInterrupt(() => note(`${message} interrupted`))
        )
      ).pipe(Scope.provide(scope))
      for (const message of ["3", "4"]) yield* actors.tell(1, message)
      yield* actors.tell(2, "8")
      yield* actors.wakeAt(3, 5000)
      yield* TestClock.adjust("1 second")
      const drained = yield* Deferred.make<void>()
      yield* Effect.forkChild(Effect.andThen(actors.drain, Deferred.succeed(drained, undefined)))
      yield* TestClock.adjust("6 seconds")
      assert.isFalse(yield* Deferred.isDone(drained))
      yield* TestClock.adjust("1 second")
      yield* Deferred.await(drained)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(lines, ["3s 3 done", "8s 8 done"])
      const running = yield* Scope.make()
      const others = yield* makeCounting(() =>
        Effect.andThen(Effect.sleep("1 minute"), note("done")).pipe(
          Effect.onInterrupt(() => note("interrupted"))
        )
      ).pipe(Scope.provide(running))
      yield* others.tell(1, "work")
      yield* TestClock.adjust("1 second")
      yield* Scope.close(running, Exit.void)
      assert.deepStrictEqual(lines.slice(2), ["9s interrupted"])
    }).pipe(Effect.scoped, ample()))

  it.effect("drains running actors that were idle before", () =>
    Effect.gen(function*() {
      const { lines, note } = makeJournal()
      const actors = yield* makeCounting((_id, message) =>
        Effect.andThen(Effect.sleep("3 seconds"), note(`${message} done`))
      )
      yield* actors.tell(1, "first")
      yield* TestClock.adjust("10 seconds")
      yield* actors.tell(1, "second")
      yield* TestClock.adjust("1 second")
      const drained = yield* Deferred.make<void>()
      yield* Effect.forkChild(Effect.andThen(actors.drain, Deferred.succeed(drained, undefined)))
      yield* TestClock.adjust("1 second")
      assert.isFalse(yield* Deferred.isDone(drained))
      yield* TestClock.adjust("1 second")
      yield* Deferred.await(drained)
      assert.deepStrictEqual(lines, ["3s first done", "13s second done"])
    }).pipe(Effect.scoped, ample()))

  it.effect("survives a defect of a mailbox while an alarm fires, and loses no alarm", () =>
    Effect.gen(function*() {
      const { lines, note } = makeJournal()
      let defects = 0
      const actors = yield* makeCounting((id, message) => note(`${id} ${message}`), {
        join: (waiting, message) => {
          if (defects++ < 1) throw new Error("defect")
          waiting.push(message)
        }
      })
      yield* actors.wakeAt(1, 1000)
      yield* actors.wakeAt(2, 1100)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(lines, ["1.1s 2 alarm", "2s 1 alarm"])
    }).pipe(Effect.scoped, ample()))
})
