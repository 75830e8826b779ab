import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { AlarmQueue } from "#actors/runtime/AlarmQueue.ts"

const drain = (alarms: AlarmQueue, now = Infinity): Array<number> => {
  const ids: Array<number> = []
  for (let id = alarms.takeDue(now); id !== undefined; id = alarms.takeDue(now)) ids.push(id)
  return ids
}

describe("AlarmQueue", () => {
  it("returns due alarms in order of time, and keeps the later ones", () => {
    const alarms = new AlarmQueue()
    alarms.set(7, 30)
    alarms.set(4, 10)
    alarms.set(9, 20)
    assert.deepStrictEqual(drain(alarms, 20), [4, 9])
    assert.strictEqual(alarms.next, 30)
    assert.strictEqual(alarms.size, 1)
  })

  it("reports a changed first alarm", () => {
    const alarms = new AlarmQueue()
    assert.deepStrictEqual([alarms.set(1, 10), alarms.set(2, 20), alarms.set(2, 5), alarms.set(1, 7)], [
      true,
      false,
      true,
      false
    ])
  })

  it("moves an alarm that is set again: a million changes leave one entry", () => {
    const alarms = new AlarmQueue()
    alarms.set(2, 500_000)
    for (let i = 0; i < 1_000_000; i++) alarms.set(1, i)
    assert.strictEqual(alarms.size, 2)
    assert.deepStrictEqual(drain(alarms), [2, 1])
  })

  it("behaves as a map sorted by time", () => {
    const step = fc.record({
      kind: fc.constantFrom("set", "set", "set", "clear", "takeDue", "reserve"),
      id: fc.integer({ min: 0, max: 60 }),
      at: fc.nat(1000)
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), fc.constantFrom(1, 256, 2 ** 31, 2 ** 40), (steps, stride) => {
        const alarms = new AlarmQueue()
        const model = new Map<number, number>()
        for (const { kind, id: index, at } of steps) {
          const id = index * stride
          if (kind === "set") {
            alarms.set(id, at)
            model.set(id, at)
          } else if (kind === "clear") {
            assert.strictEqual(alarms.clear(id), model.delete(id))
          } else if (kind === "reserve") {
            alarms.reserve(index)
          } else {
            const first = Math.min(...model.values())
            const due = alarms.takeDue(at)
            assert.strictEqual(due === undefined ? undefined : model.get(due), first <= at ? first : undefined)
            if (due !== undefined) model.delete(due)
          }
          assert.strictEqual(alarms.timeOf(id), model.get(id))
          assert.strictEqual(alarms.next, model.size === 0 ? undefined : Math.min(...model.values()))
          assert.strictEqual(alarms.size, model.size)
          const early: Array<number> = []
          alarms.forEachBefore(at, (visited) => void early.push(visited))
          assert.sameMembers(early, [...model].flatMap(([key, time]) => time < at ? [key] : []))
        }
        assert.deepStrictEqual(drain(alarms).map((id) => model.get(id)), [...model.values()].toSorted((a, b) => a - b))
      })
    )
  })
})
