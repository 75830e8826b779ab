import { assert, describe, it } from "@effect/vitest"
import { type AlarmSource, AlarmTimer, minSpacingMs, type Timer } from "#actors/runtime/AlarmTimer.ts"

/** A timer on a clock that the test moves, and sources that record their firings. */
const world = () => {
  let time = 1_000
  let waiting: { readonly at: number; readonly wake: () => void } | undefined
  let timers = 0
  const timer: Timer = {
    now: () => time,
    after: (milliseconds, wake) => {
      const mine = waiting = { at: time + milliseconds, wake }
      timers++
      return () => void (waiting = waiting === mine ? undefined : waiting)
    }
  }
  const alarmTimer = new AlarmTimer()
  const fired: Array<string> = []
  const makeSource = (name: string) => {
    const alarms: Array<number> = []
    const source: AlarmSource = {
      get next() {
        return alarms[0]
      },
      fire: (now) => {
        while ((alarms[0] ?? Infinity) <= now) fired.push(`${now} ${name} ${alarms.shift()}`)
      }
    }
    alarmTimer.add(source, timer)
    const set = (at: number) => {
      alarms.push(at)
      alarmTimer.fireAt(source, at)
    }
    return { source, set }
  }
  const advanceTo = (end: number) => {
    for (; waiting !== undefined && waiting.at <= end;) {
      const due = waiting
      waiting = undefined
      time = Math.max(time, due.at)
      due.wake()
    }
    time = end
  }
  return { alarmTimer, makeSource, fired, timer, advanceTo, timers: () => timers, nextWake: () => waiting?.at }
}

describe("AlarmTimer", () => {
  it("fires exactly on time after idling", () => {
    const { makeSource, fired, advanceTo } = world()
    makeSource("a").set(1_007)
    advanceTo(2_000)
    assert.deepStrictEqual(fired, ["1007 a 1007"])
  })

  it("fires alarms of all sources together that are due within its spacing of the last firing", () => {
    const { makeSource, fired, timers, advanceTo } = world()
    const [a, b] = [makeSource("a"), makeSource("b")]
    for (const at of [1_100, 1_105, 1_119]) a.set(at)
    for (const at of [1_101, 1_121]) b.set(at)
    advanceTo(2_000)
    assert.deepStrictEqual(fired, [
      "1100 a 1100",
      "1120 b 1101",
      "1120 a 1105",
      "1120 a 1119",
      "1140 b 1121"
    ])
    assert.deepStrictEqual([minSpacingMs, timers()], [20, 3])
  })

  it("replaces a later alarm by an earlier one, and ignores a later one", () => {
    const { makeSource, fired, timers, advanceTo, nextWake } = world()
    const [a, b] = [makeSource("a"), makeSource("b")]
    a.set(5_000)
    b.set(6_000)
    assert.deepStrictEqual([timers(), nextWake()], [1, 5_000])
    b.source.fire(6_000)
    b.set(3_000)
    assert.deepStrictEqual([timers(), nextWake()], [2, 3_000])
    advanceTo(9_000)
    assert.deepStrictEqual(fired, ["6000 b 6000", "3000 b 3000", "5000 a 5000"])
  })

  it("fires only due sources, and wakes once in vain for a source whose alarm has moved back", () => {
    const { alarmTimer, makeSource, fired, timer, advanceTo } = world()
    makeSource("a").set(1_500)
    const firings: Array<number> = []
    const late = { next: 1_100, fire: (now: number) => void firings.push(now) }
    alarmTimer.add(late, timer)
    alarmTimer.fireAt(late, 1_100)
    late.next = 1_800
    advanceTo(1_700)
    assert.deepStrictEqual([firings, fired], [[1_100], ["1500 a 1500"]])
    advanceTo(1_800)
    assert.deepStrictEqual(firings, [1_100, 1_800])
  })

  it("fires an overdue alarm at once, and stops with its last source", () => {
    const { alarmTimer, makeSource, fired, advanceTo, nextWake } = world()
    const [a, b] = [makeSource("a"), makeSource("b")]
    a.set(10)
    advanceTo(1_000)
    assert.deepStrictEqual(fired, ["1000 a 10"])
    b.set(2_000)
    alarmTimer.remove(a.source)
    assert.strictEqual(nextWake(), 2_000)
    alarmTimer.remove(b.source)
    assert.strictEqual(nextWake(), undefined)
  })
})
