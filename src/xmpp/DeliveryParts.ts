import { Clock, Effect } from "effect"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import type { OutgoingQueue, SendResult } from "./OutgoingQueue.ts"

/** Maximum of messages and characters in a part, unless a single message has more. A part fits into a batch of the queue. */
const maxPartMessages = 32
const maxPartSize = 1024 * 1024

/** Maximum of deliveries whose accepted parts are remembered. */
const maxRemembered = 1_000

/** The number of accepted messages. A delivery of another total was rendered in another shape, and starts again. */
interface Progress {
  readonly accepted: number
  readonly total: number
}

/**
 * Makes the function that sends a delivery in parts, one after the other.
 *
 * A notification of many entries has as many messages. In parts, a broken connection repeats one part and not the delivery. The next attempt
 * of a delivery starts at its first part without a receipt.
 */
export const makeSendInParts = (outgoing: OutgoingQueue) => {
  const progress = new BoundedMap<string, Progress>(maxRemembered)

  return Effect.fnUntraced(
    function*(
      id: string,
      messages: ReadonlyArray<string>,
      isHeld?: () => boolean
    ): Effect.fn.Return<SendResult> {
      const total = messages.length
      const before = progress.get(id)
      let accepted = before?.total === total ? before.accepted : 0
      while (accepted < total) {
        const part = messages.slice(accepted, accepted + countPart(messages, accepted))
        const partId = accepted === 0 ? id : `${id}+${accepted}`
        const result = yield* outgoing.send(partId, part, yield* Clock.currentTimeMillis, isHeld)
        if (result !== "accepted") return result
        accepted += part.length
        if (accepted < total) progress.set(id, { accepted, total })
      }
      if (before !== undefined || total > 1) progress.delete(id)
      return "accepted"
    }
  )
}

/** Number of messages in the part that starts at `from`; at least one. */
const countPart = (messages: ReadonlyArray<string>, from: number): number => {
  let count = 0
  let size = 0
  for (const { length } of messages.slice(from, from + maxPartMessages)) {
    if (count > 0 && size + length > maxPartSize) break
    count++
    size += length
  }
  return count
}
