import { assert, describe, it } from "@effect/vitest"
import {
  createReceiver,
  type Gap,
  type Notification,
  type ReceiverOptions,
  verifyRequest
} from "#packages/receiver/src/index.ts"
import { post, recording, secret, signed } from "./Requests.ts"

/** A generator of random numbers from 0 to 1 that a seed repeats. */
const randomsOf = (seed: number) => () => {
  seed = seed * 1_664_525 + 1_013_904_223 >>> 0
  return seed / 2 ** 32
}

/** The numbers as they arrive: 5 % are lost, 5 % come twice, and each may be overtaken by up to eight others. The last one arrives. */
const disturb = (count: number, random: () => number): ReadonlyArray<number> =>
  numbersTo(count).flatMap((sequence) => {
    const place = () => ({ sequence, at: sequence + random() * 8 })
    const chance = sequence === count ? 1 : random()
    return chance < 0.05 ? [] : chance < 0.1 ? [place(), place()] : [place()]
  }).toSorted((a, b) => a.at - b.at).map(({ sequence }) => sequence)

/** Windhover's answer to the question for missing numbers. */
const retrieve = async function*(gap: Gap): AsyncGenerator<Notification> {
  for (const sequence of gap.missing) yield await verifyRequest(post(signed({ sequence })), { secret })
}

const run = async (count: number, seed: number, options: Partial<ReceiverOptions>, atOnce: number) => {
  const asked: Array<number> = []
  const record = recording({
    expectsFirst: true,
    onGap: (gap) => {
      asked.push(...gap.missing)
      return retrieve(gap)
    },
    ...options
  })
  const receiver = createReceiver(record.options)
  const arriving = disturb(count, randomsOf(seed))
  const statuses = new Set<number>()
  const waiting = arriving.values()
  const sendInTurn = async () => {
    for (const sequence of waiting) statuses.add((await receiver.fetch(post(signed({ sequence })))).status)
  }
  await Promise.all(Array.from({ length: atOnce }, sendInTurn))
  return { ...record, asked, arriving, statuses: [...statuses] }
}

const numbersTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

describe("notifications that are lost, doubled and reordered", () => {
  for (
    const [name, count, options, atOnce] of [
      ["one after the other", 1_000, {}, 1],
      ["many at once", 1_000, {}, 16],
      ["many at once, with time for overtaken ones", 500, { reorderMs: 10 }, 64]
    ] as const
  ) {
    it(`run the handler once for each, in order: ${name}`, async () => {
      for (const seed of [1, 2, 3]) {
        const { arriving, errors, sequences, statuses } = await run(count, seed, options, atOnce)
        assert.isBelow(new Set(arriving).size, count * 0.97)
        assert.isAbove(arriving.length, new Set(arriving).size * 1.03)
        assert.deepStrictEqual(sequences(), numbersTo(count))
        assert.deepStrictEqual([statuses, errors], [[204], []])
      }
    })
  }

  it("are asked for when they are lost, and not when they are overtaken", async () => {
    const { arriving, asked, sequences } = await run(300, 4, { reorderMs: 1_000 }, 64)
    const lost = numbersTo(300).filter((sequence) => !arriving.includes(sequence))
    assert.isAbove(lost.length, 5)
    assert.deepStrictEqual(asked, lost)
    assert.deepStrictEqual(sequences(), numbersTo(300))
  })
})
