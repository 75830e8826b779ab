import { Context, type Effect } from "effect"
import type { PingOutcome } from "#domain/poll/PingOutcome.ts"
import type { StoreError } from "./StoreError.ts"

export interface NewPing {
  /** Undefined: through the open hub. */
  readonly accountId: number | undefined
  /** As the publisher wrote it. */
  readonly topic: string
  /** Undefined when nobody has ever watched it. */
  readonly resourceId: number | undefined
  /** The publisher sent the document along. */
  readonly withContent: boolean
}

/** A publisher's ping as it is shown. */
export interface Ping {
  readonly topic: string
  readonly withContent: boolean
  /** Epoch ms. */
  readonly receivedAt: number
  /** Undefined until the resource was fetched. */
  readonly outcome?: PingOutcome
  readonly answeredAt?: number
}

/** The record of publishers' pings; kept for a week. */
export class Pings extends Context.Service<Pings, {
  /** `outcome`: what is known at once. */
  readonly record: (ping: NewPing, outcome?: PingOutcome) => Effect.Effect<void, StoreError>
  /** Settles all pings of a resource that were received until `until` (epoch ms) and wait: one fetch answers them all. */
  readonly resolve: (resourceId: number, until: number, outcome: PingOutcome) => Effect.Effect<void, StoreError>
  /** Resources of these partitions with a ping that was received before `before` (epoch ms) and has no answer yet, once each. */
  readonly findUnanswered: (
    partitions: ReadonlyArray<number>,
    before: number
  ) => Effect.Effect<ReadonlyArray<{ readonly partition: number; readonly resourceId: number }>, StoreError>
  /** Newest first; of everybody without an account. */
  readonly list: (
    query: { readonly accountId?: number; readonly limit: number }
  ) => Effect.Effect<ReadonlyArray<Ping>, StoreError>
}>()("windhover/domain/ports/Pings") {}
