import { assert, describe, it } from "@effect/vitest"
import { type AlarmSource, AlarmTimer, minSpacingMs, type Timer } from "#actors/runtime/AlarmTimer.ts"

/** A bell whose time the test moves, and ringers that write down when they are rung. */
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
  const bell = new AlarmTimer()
  const rung: Array<string> = []
  const ringer = (name: string) => {
    const alarms: Array<number> = []
    const one: AlarmSource = {
      get next() {
        return alarms[0]
      },
      fire: (now) => {
        while ((alarms[0] ?? Infinity) <= now) rung.push(`${now} ${name} ${alarms.shift()}`)
      }
    }
    bell.add(one, timer)
    const set = (at: number) => {
      alarms.push(at)
      bell.expect(one, at)
    }
    return { one, set }
  }
  const until = (end: number) => {
    for (; waiting !== undefined && waiting.at <= end;) {
      const due = waiting
      waiting = undefined
      time = Math.max(time, due.at)
      due.wake()
    }
    time = end
  }
  return { bell, ringer, rung, timer, until, timers: () => timers, waits: () => waiting?.at }
}

describe("Bell", () => {
  it("rings at exactly its time after a silence", () => {
    const { ringer, rung, until } = world()
    ringer("a").set(1_007)
    until(2_000)
    assert.deepStrictEqual(rung, ["1007 a 1007"])
  })

  it("rings together what is due within its spacing of the last ring, whoever's it is", () => {
    const { ringer, rung, timers, until } = world()
    const [a, b] = [ringer("a"), ringer("b")]
    for (const at of [1_100, 1_105, 1_119]) a.set(at)
    for (const at of [1_101, 1_121]) b.set(at)
    until(2_000)
    assert.deepStrictEqual(rung, [
      "1100 a 1100",
      "1120 b 1101",
      "1120 a 1105",
      "1120 a 1119",
      "1140 b 1121"
    ])
    assert.deepStrictEqual([minSpacingMs, timers()], [20, 3])
  })

  it("an earlier alarm takes the place of a later one, a later one changes nothing", () => {
    const { ringer, rung, timers, until, waits } = world()
    const [a, b] = [ringer("a"), ringer("b")]
    a.set(5_000)
    b.set(6_000)
    assert.deepStrictEqual([timers(), waits()], [1, 5_000])
    b.one.fire(6_000)
    b.set(3_000)
    assert.deepStrictEqual([timers(), waits()], [2, 3_000])
    until(9_000)
    assert.deepStrictEqual(rung, ["6000 b 6000", "3000 b 3000", "5000 a 5000"])
  })

  it("rings those whose time has come and nobody else; in vain, once, where it has become later", () => {
    const { bell, ringer, rung, timer, until } = world()
    ringer("a").set(1_500)
    const asked: Array<number> = []
    const late = { next: 1_100, fire: (now: number) => void asked.push(now) }
    bell.add(late, timer)
    bell.expect(late, 1_100)
    late.next = 1_800
    until(1_700)
    assert.deepStrictEqual([asked, rung], [[1_100], ["1500 a 1500"]])
    until(1_800)
    assert.deepStrictEqual(asked, [1_100, 1_800])
  })

  it("rings what is overdue at once, and is silent when the last one has gone", () => {
    const { bell, ringer, rung, until, waits } = world()
    const [a, b] = [ringer("a"), ringer("b")]
    a.set(10)
    until(1_000)
    assert.deepStrictEqual(rung, ["1000 a 10"])
    b.set(2_000)
    bell.remove(a.one)
    assert.strictEqual(waits(), 2_000)
    bell.remove(b.one)
    assert.strictEqual(waits(), undefined)
  })
})
