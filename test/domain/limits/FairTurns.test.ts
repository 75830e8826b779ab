import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { allocate, fairTurns, maxOrderedTurns, type TurnLimits } from "#domain/limits/FairTurns.ts"
import type { SlidingWindow } from "#domain/limits/SlidingWindow.ts"

const limits: TurnLimits = { limit: 500, perMinute: 2, maxPerNetwork: 100, maxPerTarget: 100, ends: "both" }
const idle = { networks: new Map<string, number>(), targets: new Map<string, number>() }
const none = (): SlidingWindow => []

/** Requests from texts such as `network site target`; the target is the site without a third word. */
const requests = (...texts: ReadonlyArray<string>) =>
  texts.map((text, id) => {
    const [network = "", site = "", target = site] = text.split(" ")
    return { id, network, site, target }
  })

const ids = (claimants: ReadonlyArray<{ readonly id: number }>) => claimants.map(({ id }) => id)

describe("FairTurns", () => {
  it("lets networks take turns, and starts with the network that has the fewest requests in flight", () => {
    const due = requests("a s", "a s", "a s", "b s", "c s", "b s")
    assert.deepStrictEqual(ids(fairTurns(due, idle.networks, "both")), [0, 3, 4, 1, 5, 2])
    assert.deepStrictEqual(ids(fairTurns(due, new Map([["a", 2], ["c", 1]]), "both")), [3, 5, 4, 0, 1, 2])
  })

  it("serves a long queue from both ends, and a queue of an account by age", () => {
    const due = requests(...Array.from({ length: maxOrderedTurns + 3 }, () => "a s"))
    assert.deepStrictEqual(ids(fairTurns(due, idle.networks, "both")).slice(0, 7), [0, 22, 1, 21, 2, 20, 3])
    assert.deepStrictEqual(ids(fairTurns(due, idle.networks, "both", true)).slice(0, 5), [22, 0, 21, 1, 20])
    assert.deepStrictEqual(ids(fairTurns(due, idle.networks, "oldest")), ids(due))
  })

  it("allows each site its own rate, up to a limit", () => {
    const due = requests("n a", "n a", "n b", "n a", "n c")
    const taken = (key: string): SlidingWindow => key === "b" ? [0, 1] : []
    const { allowed, deferred, windows } = allocate(due, taken, idle, 1_000, limits)
    assert.deepStrictEqual(ids(allowed), [0, 1, 4])
    assert.deepStrictEqual(deferred.map(({ dueAt, request }) => [request.id, dueAt]), [[2, 60_000], [3, 61_000]])
    assert.deepStrictEqual([...windows], [["a", [1_000, 1_000]], ["c", [1_000]]])
    const few = allocate(due, taken, idle, 1_000, { ...limits, limit: 2 })
    assert.deepStrictEqual([ids(few.allowed), few.deferred], [[0, 1], []])
  })

  it("allows the names under one network twelve times the rate of a site", () => {
    const due = requests(...Array.from({ length: 30 }, (_, i) => `n${i} s${i} t`))
    const { allowed, deferred } = allocate(due, none, idle, 1_000, limits)
    assert.deepStrictEqual([allowed.length, deferred[0]?.dueAt], [24, 61_000])
  })

  it("defers a request by two seconds while its target is busy, and leaves the requests of a busy network due", () => {
    const due = requests("n a", "m b", "o c")
    const busy = { networks: new Map([["n", 100]]), targets: new Map([["b", 100]]) }
    const { allowed, deferred } = allocate(due, none, busy, 1_000, limits)
    assert.deepStrictEqual(ids(allowed), [2])
    assert.deepStrictEqual(
      new Set(deferred.map(({ dueAt, request }) => `${request.id} ${dueAt}`)),
      new Set(["1 3000"])
    )
  })

  it("holds every limit, and neither allows nor defers a request of a busy network only", () => {
    const word = fc.integer({ min: 0, max: 3 }).map(String)
    fc.assert(fc.property(fc.array(fc.tuple(word, word, word), { maxLength: 60 }), (words) => {
      const due = requests(...words.map((one) => one.join(" ")))
      const bounds = { ...limits, maxPerNetwork: 5, maxPerTarget: 4 }
      const { allowed, deferred } = allocate(due, none, idle, 0, bounds)
      const most = (key: "network" | "site" | "target") =>
        Math.max(0, ...[...Map.groupBy(allowed, (one) => one[key]).values()].map(({ length }) => length))
      assert.isAtMost(most("network"), 5)
      assert.isAtMost(most("target"), 4)
      assert.isAtMost(most("site"), 2)
      const left = due.filter((one) => !allowed.includes(one) && !deferred.some(({ request }) => request === one))
      const busy = new Set(
        [...Map.groupBy(allowed, ({ network }) => network)].filter(([, all]) => all.length === 5).map(([name]) => name)
      )
      assert.deepStrictEqual(left.filter(({ network }) => !busy.has(network)), [])
    }))
  })
})
