import { Effect } from "effect"
import { ownerOf } from "#domain/limits/IpNetwork.ts"
import { AddressCheck } from "#domain/ports/AddressCheck.ts"
import { VerificationQueue } from "#domain/ports/VerificationQueue.ts"
import type { Subscription } from "#domain/Subscription.ts"
import * as Topic from "#domain/Topic.ts"
import { warnOfStoreError } from "#domain/ports/StoreError.ts"

/**
 * Queues the question whether a callback still agrees: its name leads to another network, and a delivery failed there.
 *
 * A full queue takes no question. The next failure asks again.
 */
export const makeAskAgain = Effect.gen(function*() {
  const queue = yield* VerificationQueue
  const { resolveNetworks } = yield* AddressCheck
  return Effect.fnUntraced(
    function*({ accountId, channel, endpoint, face, host, state, topic: given }: Subscription) {
      const topic = Topic.parse(given)
      if (topic._tag === "Failure") return
      const subscription = { accountId, channel, endpoint, face, host, state, topic: topic.success }
      const partition = Topic.partitionOf(topic.success.host)
      const owner = `callbacks of ${ownerOf(host)}`
      const target = (yield* resolveNetworks(endpoint))?.customer ?? "unresolved"
      const origin = { asker: owner, network: owner, target: `confirmed ${target}` }
      yield* queue.add({ mode: "reconfirm", subscription: { ...subscription, partition } }, "confirmed", origin)
    },
    Effect.catchTag(
      "StoreError",
      warnOfStoreError("A callback that moved is not asked again before its next failure.")
    )
  )
})
