import { assert, describe, it } from "@effect/vitest"
import { close, emptyWindow, fill, offer, release, removeOlder } from "#actors/subscription/DeliveryWindow.ts"
import type { Delivery } from "#domain/delivery/Notification.ts"

const delivery = (sequence: number, waitsSince = 0): Delivery => ({
  id: sequence,
  subscriptionId: 1,
  sequence,
  credits: 0,
  attempt: 0,
  dueAt: 0,
  waitsSince,
  notification: { id: sequence, resourceId: 1, createdAt: 0, status: {}, news: { _tag: "Failure" } }
})

/** A window that has read 1 and 2 from the outbox, and knows of no others. */
const filled = () => {
  const window = emptyWindow()
  fill(window, { deliveries: [delivery(1), delivery(2)], hasMore: false, nextSequence: 3 })
  return window
}

const shown = ({ deliveries, hasMore, nextSequence }: ReturnType<typeof emptyWindow>) => [
  deliveries.map(({ sequence }) => sequence),
  nextSequence,
  hasMore
]

describe("DeliveryWindow", () => {
  it("takes the next delivery, and ignores known ones", () => {
    const window = filled()
    for (const sequence of [2, 3]) offer(window, delivery(sequence))
    assert.deepStrictEqual(shown(window), [[1, 2, 3], 4, false])
  })

  it("leaves a delivery behind a gap to the outbox, and all later ones", () => {
    const window = filled()
    for (const sequence of [4, 3]) offer(window, delivery(sequence))
    assert.deepStrictEqual(shown(window), [[1, 2], 3, true])
  })

  it("reads the lowest waiting sequences first, also below the sent ones", () => {
    const window = filled()
    window.deliveries = [] // 1 and 2 are sent
    fill(window, { deliveries: [delivery(1)], hasMore: true, nextSequence: 9 })
    assert.deepStrictEqual(shown(window), [[1], 2, true])
    window.deliveries = []
    fill(window, { deliveries: [delivery(2)], hasMore: false, nextSequence: 9 })
    assert.deepStrictEqual(shown(window), [[2], 9, false])
    for (const sequence of [8, 9]) offer(window, delivery(sequence)) // 8 is sent
    assert.deepStrictEqual(shown(window), [[2, 9], 10, false])
  })

  it("expects no sequence again that it has sent, however old the answer of the outbox is", () => {
    const window = filled()
    window.deliveries = []
    fill(window, { deliveries: [], hasMore: false, nextSequence: 2 })
    assert.deepStrictEqual(shown(window), [[], 3, false])
  })

  it("reads released deliveries again", () => {
    const window = filled()
    release(window)
    assert.deepStrictEqual(shown(window), [[], 1, true])
  })

  it("removes old deliveries, and all of them when it closes", () => {
    const window = filled()
    window.deliveries = [delivery(1, 10), delivery(2, 20)]
    removeOlder(window, 10)
    assert.deepStrictEqual(shown(window), [[2], 3, false])
    close(window)
    assert.deepStrictEqual(shown(window), [[], 3, false])
  })
})
