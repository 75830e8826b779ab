import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { MemoryBudget, type MemoryReservation } from "#domain/collections/MemoryBudget.ts"

describe("MemoryBudget", () => {
  it("grows reservations up to the maxima of total, strangers and key", () => {
    const budget = new MemoryBudget({ maxBytes: 100, maxBytesOfStrangers: 50, maxBytesPerKey: 40 })
    const [a, b, c] = [budget.reserve("a"), budget.reserve("b", true), budget.reserve("c", true)]
    assert.deepStrictEqual([a.tryGrow(40), a.tryGrow(1)], [true, false])
    assert.deepStrictEqual([b.tryGrow(30), c.tryGrow(21), c.tryGrow(20)], [true, false, true])
    const [d, e] = [budget.reserve("d"), budget.reserve("e")]
    assert.deepStrictEqual([d.tryGrow(11), d.tryGrow(10), e.tryGrow(1)], [false, true, false])
    assert.deepStrictEqual([budget.bytes, a.bytes], [100, 40])
    a.release()
    a.release()
    assert.deepStrictEqual([budget.bytes, a.tryGrow(1), e.tryGrow(40)], [60, false, true])
  })

  it("shares the maximum of a key between its reservations, and forgets an unused key", () => {
    const budget = new MemoryBudget({ maxBytesPerKey: 10 })
    const [first, second] = [budget.reserve("a"), budget.reserve("a")]
    assert.deepStrictEqual([first.tryGrow(6), second.tryGrow(5), second.tryGrow(4)], [true, false, true])
    first.release()
    second.release()
    assert.isTrue(budget.reserve("a").tryGrow(10))
  })

  it("exempts the first reservation that waits, until its release", () => {
    const budget = new MemoryBudget({ maxBytes: 10 })
    const [a, b] = [budget.reserve("a"), budget.reserve("b")]
    const grown: Array<string> = []
    assert.deepStrictEqual([a.tryGrow(5), b.tryGrow(5)], [true, true])
    a.grow(5, () => grown.push("a"))
    b.grow(5, () => grown.push("b"))
    assert.deepStrictEqual([grown, budget.bytes], [["a"], 15])
    assert.isTrue(a.tryGrow(100))
    a.release()
    assert.deepStrictEqual([grown, budget.bytes], [["a", "b"], 10])
  })

  it("lets keys take turns, and reservations of one key wait in order", () => {
    const budget = new MemoryBudget({ maxBytes: 10 })
    const holder = budget.reserve("holder")
    holder.grow(11, () => {})
    const grown: Array<string> = []
    const waiting = ["a", "a", "a", "b"].map((key, index) => {
      const reservation = budget.reserve(key)
      reservation.grow(10, () => grown.push(`${key}${index}`))
      return reservation
    })
    for (const reservation of [holder, waiting[0], waiting[3], waiting[1], waiting[2]]) reservation?.release()
    assert.deepStrictEqual(grown, ["a0", "b3", "a1", "a2"])
    assert.strictEqual(budget.bytes, 0)
  })

  it("lets the oldest reservation of a key become complete first, whichever waits longer", () => {
    const budget = new MemoryBudget({ maxBytesPerKey: 10 })
    const [first, second, third] = [budget.reserve("a"), budget.reserve("a"), budget.reserve("a")]
    const grown: Array<string> = []
    assert.deepStrictEqual([first.tryGrow(2), second.tryGrow(8)], [true, true])
    third.grow(1, () => grown.push("third"))
    first.grow(8, () => grown.push("first"))
    third.release()
    second.release()
    assert.deepStrictEqual([grown, first.bytes], [["third", "first"], 10])
  })

  it("tells a waiter when its wait begins and ends", () => {
    const budget = new MemoryBudget({ maxBytes: 10 })
    const [holder, next] = [budget.reserve("a"), budget.reserve("b")]
    holder.grow(11, () => {})
    const waits: Array<boolean> = []
    const waiting = budget.reserve("c", false, { onWait: (isWaiting) => waits.push(isWaiting) })
    assert.isFalse(next.tryGrow(1))
    waiting.grow(1, () => assert.deepStrictEqual(waits, [true, false]))
    assert.deepStrictEqual(waits, [true])
    holder.release()
    assert.deepStrictEqual(waits, [true, false])
  })

  it("admits further reservations after a callback that throws", () => {
    const budget = new MemoryBudget({ maxBytes: 10 })
    const [holder, throwing, other] = [budget.reserve("a"), budget.reserve("b"), budget.reserve("c")]
    holder.grow(11, () => {})
    throwing.grow(10, () => {
      throw new Error("broken")
    })
    let hasRoom = false
    other.grow(10, () => hasRoom = true)
    assert.throws(() => holder.release(), "broken")
    throwing.release()
    assert.isTrue(hasRoom)
  })

  it("withdraws the wait of a released reservation", () => {
    const budget = new MemoryBudget({ maxBytes: 10 })
    const holder = budget.reserve("a")
    holder.grow(11, () => {})
    const waiting = budget.reserve("b")
    waiting.grow(1, () => assert.fail("released"))
    waiting.release()
    holder.release()
    waiting.grow(1, () => assert.fail("released"))
    assert.strictEqual(budget.bytes, 0)
  })

  it("returns some bytes to the waiting reservations", () => {
    const budget = new MemoryBudget({ maxBytes: 10 })
    const [holder, full, waiting] = [budget.reserve("a"), budget.reserve("b"), budget.reserve("c")]
    holder.grow(10, () => {})
    full.grow(1, () => {})
    let hasRoom = false
    waiting.grow(4, () => hasRoom = true)
    holder.shrink(4)
    assert.isFalse(hasRoom)
    holder.shrink(1)
    assert.deepStrictEqual([hasRoom, budget.bytes], [true, 10])
  })

  it("guarantees to accounts the bytes beyond the share of strangers, while a document of strangers exceeds its share", () => {
    const budget = new MemoryBudget({ maxBytes: 100, maxBytesOfStrangers: 60 })
    const strangers = budget.reserve("a", true)
    strangers.grow(150, () => {})
    const [account, next] = [budget.reserve("a"), budget.reserve("b")]
    assert.deepStrictEqual([account.tryGrow(40), next.tryGrow(1)], [true, false])
    let hasRoom = false
    next.grow(1, () => hasRoom = true)
    assert.deepStrictEqual([hasRoom, budget.bytes], [true, 191], "accounts have an exemption of their own")
  })

  it("lets no account wait behind strangers of the same key", () => {
    const budget = new MemoryBudget({ maxBytes: 100, maxBytesOfStrangers: 50, maxBytesPerKey: 50 })
    const grown: Array<string> = []
    for (const size of [50, 50, 50]) budget.reserve("a", true).grow(size, () => grown.push("stranger"))
    budget.reserve("a").grow(20, () => grown.push("account"))
    assert.deepStrictEqual(grown, ["stranger", "stranger", "account"])
  })

  it("exempts one whole reservation of accounts and one of strangers, and only above the maximum of a key", () => {
    const budget = new MemoryBudget({ maxBytes: 100, maxBytesOfStrangers: 50, maxBytesPerKey: 50, reservesWhole: true })
    const grown: Array<string> = []
    const reserve = (name: string, bytes: number, isForStrangers = false) => {
      const reservation = budget.reserve(name, isForStrangers)
      reservation.grow(bytes, () => grown.push(name))
      return reservation
    }
    const large = reserve("large", 90)
    const [second, small] = [reserve("second", 90), reserve("small", 30)]
    const other = reserve("other", 30)
    reserve("strangers", 90, true)
    assert.deepStrictEqual([grown, budget.bytes], [["large", "small", "strangers"], 210])
    small.release()
    large.release()
    assert.deepStrictEqual([grown.slice(3), budget.bytes], [["other", "second"], 210])
    for (const reservation of [second, other]) reservation.release()
    assert.strictEqual(budget.bytes, 90)
    assert.isTrue(budget.reserve("last").tryGrow(50))
  })

  it("serves all reservations in the end, and exceeds a maximum by one document of accounts and one of strangers at most", () => {
    const size = fc.integer({ min: 1, max: 12 })
    const document = fc.record({ key: fc.constantFrom("a", "b", "c"), isForStrangers: fc.boolean(), size })
    fc.assert(fc.property(fc.array(document, { maxLength: 30 }), (documents) => {
      const budget = new MemoryBudget({ maxBytes: 20, maxBytesOfStrangers: 12, maxBytesPerKey: 8 })
      const complete: Array<MemoryReservation> = []
      let done = 0
      const receive = (reservation: MemoryReservation, missing: number): void => {
        assert.isAtMost(budget.bytes, 20 + 2 * 12)
        if (missing === 0) return void complete.push(reservation)
        reservation.grow(1, () => receive(reservation, missing - 1))
      }
      for (const { isForStrangers, key, size } of documents) receive(budget.reserve(key, isForStrangers), size)
      for (let next = complete.shift(); next !== undefined; next = complete.shift()) {
        done++
        next.release()
      }
      assert.deepStrictEqual([done, budget.bytes], [documents.length, 0])
    }))
  })
})
