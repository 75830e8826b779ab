// Cost of an actor: bytes of an idle actor, and microseconds to wake an idle or a suspended actor. node --expose-gc bench/actors.ts
// [actors]
import { Effect } from "effect"
import * as ActorSystem from "#actors/runtime/ActorSystem.ts"
import { ActorBudget, Budget } from "#actors/runtime/ActorBudget.ts"

const count = Number(process.argv[2] ?? 100_000)
const rounds = 3

const heap = Effect.sync(() => {
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
})

const settle = Effect.sleep(50)

const measure = (maxResident: number) =>
  Effect.gen(function*() {
    let taken = 0
    const actors = yield* ActorSystem.make<{ count: number }, string, never, never>({
      name: "bench",
      alarm: "alarm",
      behavior: Effect.fnUntraced(function*(self) {
        self.state ??= { count: 0 }
        while (self.take() !== undefined) self.state.count++
        taken++
        return yield* Effect.succeed(Number.MAX_SAFE_INTEGER)
      })
    })
    const before = yield* heap
    for (let id = 0; id < count; id++) yield* actors.wakeAt(id, Number.MAX_SAFE_INTEGER)
    const alarms = yield* heap
    for (let id = 0; id < count; id++) yield* actors.tell(id, "work")
    yield* settle
    const resting = yield* heap
    const start = process.cpuUsage()
    for (let round = 0; round < rounds; round++) {
      for (let id = 0; id < count; id++) yield* actors.tell(id, "work")
      yield* settle
    }
    const { user, system } = process.cpuUsage(start)
    return {
      "resident at most": maxResident,
      "bytes an alarm": Math.round((alarms - before) / count),
      "bytes a resting actor": maxResident === 0 ? 0 : Math.round((resting - alarms) / count),
      "µs CPU a message": Math.round(10 * (user + system) / (rounds * count)) / 10,
      runs: taken
    }
  }).pipe(Effect.scoped, Effect.provideService(ActorBudget, new Budget(maxResident, Infinity)))

const results = [await Effect.runPromise(measure(Infinity)), await Effect.runPromise(measure(0))]
console.table(results)
