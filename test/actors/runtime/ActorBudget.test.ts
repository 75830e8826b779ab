import { assert, describe, it } from "@effect/vitest"
import { Budget } from "#actors/runtime/ActorBudget.ts"

/** A timer that fires when the test says so. */
const makeTimer = () => {
  let now = 0
  let pending: { readonly at: number; readonly wake: () => void } | undefined
  const timer = {
    now: () => now,
    after: (milliseconds: number, wake: () => void) => {
      pending = { at: now + milliseconds, wake }
      return () => void (pending = undefined)
    }
  }
  /** Fires the pending timer so many ms late. Returns false without one. */
  const fire = (lateMs: number): boolean => {
    const due = pending
    pending = undefined
    if (due === undefined) return false
    now = due.at + lateMs
    due.wake()
    return true
  }
  return { timer, fire }
}

const takeSlots = (budget: Budget, count: number, timer: ReturnType<typeof makeTimer>["timer"]) => {
  for (let i = 0; i < count; i++) budget.takeSlot(timer)
}

describe("the slots of a budget", () => {
  it("go to the group with the earliest alarm", () => {
    const budget = new Budget(0, 1)
    const { timer } = makeTimer()
    takeSlots(budget, 1, timer)
    const order: Array<number> = []
    const waiter = (dueAt: number) => ({
      dueAt,
      onSlot: () => {
        order.push(dueAt)
        budget.takeSlot(timer)
      }
    })
    for (const dueAt of [30, 10, 20]) budget.whenSlotFree(waiter(dueAt))
    for (let i = 0; i < 3; i++) budget.releaseSlot()
    assert.deepStrictEqual(order, [10, 20, 30])
  })

  it("become fewer while the timer is late, down to 32, and all again when it is punctual", () => {
    const budget = new Budget(0, 1_000)
    const { fire, timer } = makeTimer()
    takeSlots(budget, 32, timer)
    const limits = [200, 5, 4].map((lateMs) => {
      fire(lateMs)
      return budget.slotLimit
    })
    assert.deepStrictEqual(limits, [800, 640, 704])
    for (let i = 0; i < 20; i++) fire(5)
    assert.deepStrictEqual([budget.slotLimit, budget.hasSlot], [32, false])
    for (let i = 0; i < 40; i++) fire(0)
    assert.deepStrictEqual([budget.slotLimit, budget.hasSlot], [1_000, true])
  })

  it("are offered to waiting groups as they become more", () => {
    const budget = new Budget(0, 1_000)
    const { fire, timer } = makeTimer()
    takeSlots(budget, 32, timer)
    for (let i = 0; i < 20; i++) fire(5)
    let offered = 0
    for (let i = 0; i < 10; i++) {
      const onSlot = () => {
        offered++
        budget.takeSlot(timer)
      }
      budget.whenSlotFree({ dueAt: i, onSlot })
    }
    fire(0)
    assert.deepStrictEqual([offered, budget.slotLimit, budget.slotsInUse], [4, 36, 36])
  })

  it("need no timer while few are in use", () => {
    const budget = new Budget(0, 1_000)
    const { fire, timer } = makeTimer()
    takeSlots(budget, 31, timer)
    assert.isFalse(fire(0))
    budget.takeSlot(timer)
    budget.releaseSlot()
    assert.deepStrictEqual([fire(0), fire(0)], [true, false])
  })
})
