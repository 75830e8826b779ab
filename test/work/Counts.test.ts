import { assert, describe, it } from "@effect/vitest"
import { countsOf, findRises, type Measured, units } from "./Counts.ts"

const work = (options: Partial<Measured> = {}): Measured => ({
  statements: { select: 10, update: 20 },
  messages: 30,
  timers: {},
  allocatedBytes: 1_010_000,
  writtenBytes: 5_000,
  requests: 20,
  elapsedMs: 1_000,
  operations: 10,
  ...options
})

const idle = work({ statements: { sweep: 4 }, timers: { 500: 4 }, allocatedBytes: 20_000, elapsedMs: 2_000 })

describe("counts of work", () => {
  it("are averages of the operations", () => {
    assert.deepStrictEqual(countsOf(work(), idle), {
      statements: 3,
      messages: 3,
      writtenBytes: 500,
      requests: 2,
      timers: 0,
      allocatedBytes: 100_000
    })
  })

  it("have no statements and timers of the idle process, and no rare ones", () => {
    const counts = countsOf(work({ statements: { select: 30, sweep: 6, rare: 3 }, messages: 39 }), idle)
    assert.deepStrictEqual([counts.statements, counts.messages], [3, 3])
    const timers = [{ 20: 10, 500: 6 }, { 500: 13 }, { 7: 3, 8: 3 }].map((timers) =>
      countsOf(work({ timers }), idle).timers
    )
    assert.deepStrictEqual(timers, [1, 1, 0])
  })

  const recorded = { poll: countsOf(work({ timers: { 20: 10 } }), idle) }

  it.each(units)("name a rise of %s by more than a tenth", (unit) => {
    const counted = (factor: number) => ({ poll: { ...recorded.poll, [unit]: recorded.poll[unit] * factor } })
    assert.deepStrictEqual(findRises(recorded, counted(1.09)), [])
    const rises = findRises(recorded, counted(2))
    assert.deepStrictEqual(rises, [
      `poll: ${unit} rose from ${recorded.poll[unit]} to ${recorded.poll[unit] * 2} per operation.`
    ])
  })

  it("may be lower, and need a record", () => {
    assert.deepStrictEqual(findRises(recorded, { poll: countsOf(work({ statements: {} }), idle) }), [])
    assert.deepStrictEqual(findRises({}, recorded), ["poll is not in counts.json."])
  })
})
