import { Context, type Effect } from "effect"
import type { PingOutcome } from "#domain/poll/PingOutcome.ts"
import type { PingedTopic } from "./ResourceStore.ts"
import type { StoreError } from "./StoreError.ts"

export interface NewPing {
  /** Undefined for a ping through the open hub. */
  readonly accountId: number | undefined
  /** As the publisher wrote it. */
  readonly topic: string
  /** The canonical form of the topic; undefined for a text that is no topic. */
  readonly canonical: string | undefined
  /** True for a ping with the document. */
  readonly withContent: boolean
  /** True when nobody but the publisher waits for the record, which then shares a statement with others. False by default. */
  readonly mayWait?: boolean
}

/** A logged ping. */
export interface Ping {
  readonly topic: string
  readonly withContent: boolean
  /** Epoch ms. */
  readonly receivedAt: number
  /** Undefined until the fetch of the resource. */
  readonly outcome?: PingOutcome
  readonly answeredAt?: number
}

/** Pings that `listTopicsSince` looks at, newest first. */
export const maxRecentPings = 2_000

/** The log of publishers' pings; kept for a week. */
export class Pings extends Context.Service<Pings, {
  /**
   * Records a ping, and returns the resources that it reaches, with at most `maxFragments` fragments.
   *
   * The ping waits for a fetch of its resource, or of the first fragment if only fragments are watched. A ping of an unwatched topic is
   * settled at once.
   */
  readonly record: (ping: NewPing, maxFragments: number) => Effect.Effect<PingedTopic, StoreError>
  /**
   * Settles all waiting pings of a resource up to `until` (epoch ms): one fetch answers all of them.
   *
   * The outcome is stored some ms later, and a crash before that loses it. The other functions of this process see it at once.
   */
  readonly resolve: (resourceId: number, until: number, outcome: PingOutcome) => Effect.Effect<void>
  /** Resources of these partitions with a waiting ping from before `before` (epoch ms), once each. */
  readonly findUnanswered: (
    partitions: ReadonlyArray<number>,
    before: number
  ) => Effect.Effect<ReadonlyArray<{ readonly partition: number; readonly resourceId: number }>, StoreError>
  /** Newest first; of all accounts without `accountId`. */
  readonly list: (
    query: { readonly accountId?: number; readonly limit: number }
  ) => Effect.Effect<ReadonlyArray<Ping>, StoreError>
  /** Topics of pings since `since` (epoch ms), as the publishers wrote them. Looks at the newest 2,000 pings. */
  readonly listTopicsSince: (since: number) => Effect.Effect<ReadonlyArray<string>, StoreError>
  /** Pings of one topic through the open hub, newest first. */
  readonly listOpen: (topic: string, limit: number) => Effect.Effect<ReadonlyArray<Ping>, StoreError>
}>()("windhover/domain/ports/Pings") {}
