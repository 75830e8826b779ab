import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { rangesOf, sequenceOf, type SequenceRun, splitRun } from "#domain/delivery/SequenceRuns.ts"

const runs: ReadonlyArray<SequenceRun> = [
  { start: 1, offset: -9 },
  { start: 4, offset: undefined },
  { start: 6, offset: -7 },
  { start: 9, offset: -20 }
]

describe("SequenceRuns", () => {
  it("finds the numbers of sequences", () => {
    assert.deepStrictEqual(rangesOf(runs, 1, 10), [
      { from: 10, to: 12, offset: -9 },
      { from: 13, to: 15, offset: -7 },
      { from: 29, to: 30, offset: -20 }
    ])
    assert.deepStrictEqual(rangesOf(runs, 3, 6), [
      { from: 12, to: 12, offset: -9 },
      { from: 13, to: 13, offset: -7 }
    ])
    assert.deepStrictEqual(rangesOf(runs, 4, 5), [])
    assert.deepStrictEqual(rangesOf([], 1, 5), [])
  })

  it("finds the sequence of a number", () => {
    assert.deepStrictEqual(
      [9, 10, 12, 13, 15, 16, 28, 29, 30, 31].map((number) => sequenceOf(runs, number, 11)),
      [undefined, 1, 3, 6, 8, undefined, undefined, 9, 10, undefined]
    )
  })

  it("moves later sequences up when a sequence is split", () => {
    const split = (sequence: number) => splitRun(runs, sequence).map(({ offset, start }) => `${start}:${offset ?? ""}`)
    assert.deepStrictEqual(split(2), ["1:-9", "2:", "4:-8", "5:", "7:-6", "10:-19"])
    assert.deepStrictEqual(split(1), ["1:", "3:-8", "5:", "7:-6", "10:-19"])
    assert.deepStrictEqual(split(3), ["1:-9", "3:", "5:", "7:-6", "10:-19"])
    assert.deepStrictEqual(split(4), ["1:-9", "4:", "7:-6", "10:-19"])
    assert.deepStrictEqual(split(12), ["1:-9", "4:", "6:-7", "9:-20", "12:", "14:-19"])
  })

  it("keeps the notification of every sequence but the split one", () => {
    const steps = fc.array(fc.oneof(fc.constant("notify"), fc.constant("miss"), fc.constant("replay"), fc.nat(40)), {
      maxLength: 40
    })
    fc.assert(fc.property(steps, (steps) => {
      let [number, last] = [0, [] as ReadonlyArray<SequenceRun>]
      /** Number by sequence from 1; undefined without a number. */
      const model: Array<number | undefined> = []
      const begin = (offset: number | undefined) => {
        const run = last.at(-1)
        if (run === undefined || run.offset !== offset) last = [...last, { start: model.length + 1, offset }]
      }
      for (const step of steps) {
        if (step === "miss") number++
        else if (step === "notify") {
          begin(model.length + 1 - ++number)
          model.push(number)
        } else if (step === "replay") {
          begin(undefined)
          model.push(undefined)
        } else if (Number(step) < model.length) {
          last = splitRun(last, Number(step) + 1)
          model.splice(Number(step), 1, undefined, undefined)
        }
      }
      const known = rangesOf(last, 1, model.length).flatMap(({ from, offset, to }) =>
        Array.from({ length: to - from + 1 }, (_, i) => [from + i + offset, from + i] as const)
      )
      const expected = model.flatMap((number, i) => number === undefined ? [] : [[i + 1, number] as const])
      const kept = new Set(known.map(([sequence]) => sequence))
      assert.deepStrictEqual(known, expected.filter(([sequence]) => kept.has(sequence)))
      if (steps.length < 15) assert.strictEqual(known.length, expected.length)
    }))
  })
})
