import type { Element } from "@xmpp/xml"
import { Effect, FiberSet } from "effect"
import { FifoSemaphore } from "#actors/limits/FifoSemaphore.ts"
import { Hub } from "#actors/operations/Hub.ts"
import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"
import { parseBounce } from "./BounceStanza.ts"

/** Number of bounces handled in parallel. The bounces of one subscription are handled in order. */
const concurrency = 8

/** Maximum of waiting bounces: of all senders, and of one bare JID. Further bounces are dropped. */
const maxBounces = 10_000
const maxBouncesPerJid = 1_000

/** Makes the handler of messages of type error. */
export const make = Effect.gen(function*() {
  const { recordBounce } = yield* Hub
  const run = yield* FiberSet.makeRuntime<never>()
  const waiting = new KeyedCounter({ maxTotal: maxBounces, maxPerKey: maxBouncesPerJid })
  const queues = Array.from({ length: concurrency }, () => new FifoSemaphore(1))

  return (error: Element): void => {
    const bounce = parseBounce(error)
    if (bounce === undefined) return
    const queue = queues[bounce.subscriptionId % concurrency]
    if (queue === undefined || !waiting.tryAdd(bounce.from)) return
    run(Effect.ensuring(queue.withPermit(recordBounce(bounce)), Effect.sync(() => waiting.remove(bounce.from))))
  }
})
