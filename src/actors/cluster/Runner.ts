import { Clock, Context, Effect, Layer, Option, Schedule } from "effect"
import * as EntityId from "effect/cluster/EntityId"
import * as Sharding from "effect/cluster/Sharding"
import { Outbox } from "#domain/ports/Outbox.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { partitions } from "#domain/Topic.ts"
import { type Refusal, refuse, Unavailable } from "#domain/Refusal.ts"
import { named } from "#domain/websub/HubSubscription.ts"
import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import { HubReliability } from "#actors/resource/HubReliability.ts"
import { AwakePartitions, Partition } from "./Partition.ts"
import * as Resource from "#actors/resource/Resource.ts"
import * as Subscription from "#actors/subscription/Subscription.ts"
import { lockExpiration } from "./ShardLease.ts"

/**
 * How the cluster places partitions, for `ShardingConfig`: a runner that was killed is replaced after 4 to 5 s, one whose machine vanished within 12 s.
 *
 * A lock outlives its owner by at most `shardLockExpiration`; the other intervals make that time count.
 */
export const shardingConfig = {
  maxResidentEntities: "unbounded",
  shardLockExpiration: lockExpiration,
  shardLockRefreshInterval: "2 seconds",
  runnerHealthCheckInterval: "1 second",
  refreshAssignmentsInterval: "500 millis",
  entityMessagePollInterval: "1 second"
} as const

const numbers = Array.from({ length: partitions }, (_, partition) => partition)

/** Which partitions this runner has to keep awake. */
export class Ownership extends Context.Service<Ownership, {
  readonly owned: Effect.Effect<ReadonlyArray<number>>
  /** All owned ones are awake. */
  readonly ready: Effect.Effect<boolean>
}>()("windhover/actors/cluster/Runner/Ownership") {
  static readonly layer = Layer.effect(
    Ownership,
    Effect.gen(function*() {
      const sharding = yield* Sharding.Sharding
      const held = yield* AwakePartitions
      const owned = Effect.sync(() =>
        numbers.filter((partition) =>
          sharding.hasShardId(sharding.getShardId(EntityId.make(String(partition)), "default"))
        )
      )
      return Ownership.of({
        owned,
        ready: Effect.map(owned, (partitions) => partitions.length > 0 && partitions.every((one) => held.has(one)))
      })
    })
  )
}

/** A loop of the runner that goes on whatever happens, and says what did. */
export const forever = (name: string, step: Effect.Effect<void>, spacing: Schedule.Schedule<unknown>) =>
  step.pipe(
    Effect.catchCause((cause) => Effect.logError(`${name} failed and goes on`, cause)),
    Effect.repeat(spacing),
    Effect.forkScoped
  )

/** A partition must run although nobody calls it: each runner wakes those whose shard it holds. */
export const layerWake = Layer.effectDiscard(Effect.gen(function*() {
  const { owned } = yield* Ownership
  const held = yield* AwakePartitions
  const client = yield* Partition.client
  const wakeOwned = Effect.gen(function*() {
    const asleep = (yield* owned).filter((partition) => !held.has(partition))
    yield* Effect.forEach(asleep, (partition) => Effect.ignore(client(String(partition)).Wake()), {
      concurrency: "unbounded", // what they ask of the stores is asked together
      discard: true
    })
  })
  yield* forever("waking partitions", wakeOwned, Schedule.spaced("500 millis"))
}))

/** Deliveries and pings are looked after when they are overdue by so many ms: their owner has died, or was never told. */
const overdue = 30_000

/** Finds deliveries and pings that nobody works on, and tells their subscriptions and resources. */
export const layerSweep = Layer.effectDiscard(Effect.gen(function*() {
  const outbox = yield* Outbox
  const pings = yield* Pings
  const held = yield* AwakePartitions
  const sweep = Effect.gen(function*() {
    const before = (yield* Clock.currentTimeMillis) - overdue
    const stalled = yield* outbox.stalled([...held.keys()], before)
    yield* Effect.forEach(
      stalled,
      ({ partition, subscriptionId }) =>
        held.get(partition)?.subscriptions.tell(subscriptionId, Subscription.look) ?? Effect.void,
      { discard: true }
    )
    const unanswered = yield* pings.waiting([...held.keys()], before)
    yield* Effect.forEach(
      unanswered,
      ({ partition, resourceId }) => held.get(partition)?.resources.tell(resourceId, Resource.ping) ?? Effect.void,
      { discard: true }
    )
  }).pipe(
    Effect.catchTag("StoreError", (error) => Effect.logWarning(`the sweep of the outbox waits: ${error.message}`))
  )
  yield* forever("the sweep of the outbox", sweep, Schedule.spaced("5 seconds"))
}))

/** Hubs are counted together over all runners; whoever relied on one that has died is polled again. */
export const layerTrust = Layer.effectDiscard(Effect.gen(function*() {
  const { enabled, settle } = yield* HubReliability
  const held = yield* AwakePartitions
  const round = Effect.gen(function*() {
    const doubted = yield* settle
    if (doubted.size === 0) return
    yield* Effect.logWarning(`hubs that push nothing any more are not relied on: ${named(doubted)}`)
    yield* Effect.forEach(
      held.values(),
      ({ fed, pollSoon }) => Effect.forEach(fed.of(doubted), pollSoon, { discard: true }),
      { discard: true }
    )
  })
  if (enabled) yield* forever("counting hubs", round, Schedule.spaced("10 seconds"))
}))

const tooManyWait = Effect.fail(
  refuse(
    new Unavailable({
      message: "Too many wait for the first document of this topic. Please ask again in some seconds.",
      retryAfter: 5
    })
  )
)

/** Calls to the owner of a partition, wherever it is. */
export class Partitions extends Context.Service<Partitions, {
  /** Hints that may be lost: the row says the same at its time. */
  readonly ping: (partition: number, resourceId: number) => Effect.Effect<void>
  /** Returns when what is new in the document is stored, or after 10 s, when it is fetched instead. */
  readonly push: (partition: number, resourceId: number, document: PushedDocument) => Effect.Effect<void>
  readonly reloadUpstream: (partition: number, resourceId: number) => Effect.Effect<void>
  /** True when what is new in the document is stored; false when that was not so within 8 s, and it should be sent again. */
  readonly hubPush: (partition: number, resourceId: number, document: PushedDocument) => Effect.Effect<boolean>
  readonly reloadResource: (partition: number, resourceId: number) => Effect.Effect<void>
  readonly reloadSubscription: (partition: number, subscriptionId: number) => Effect.Effect<void>
  /** The resource has been fetched, or 5 s have passed; refused where too many wait for that already. */
  readonly firstFetch: (partition: number, resourceId: number) => Effect.Effect<void, Refusal>
  /** Nothing more is sent to the subscription; an owner that cannot be reached within 10 s sends nothing either. */
  readonly forget: (partition: number, subscriptionId: number) => Effect.Effect<void>
}>()("windhover/actors/cluster/Runner/Partitions") {
  static readonly layer = Layer.effect(
    Partitions,
    Effect.gen(function*() {
      const client = yield* Partition.client
      const at = (partition: number) => client(String(partition))
      const hint = <A, E>(call: Effect.Effect<A, E>) =>
        call.pipe(
          Effect.retry({ schedule: Schedule.spaced("200 millis"), times: 25 }),
          Effect.timeoutOption("10 seconds"),
          Effect.catchCause((cause) =>
            Effect.as(
              Effect.logWarning("the owner of a partition could not be told; its rows will", cause),
              Option.none<A>()
            )
          )
        )
      const tell = <A, E>(call: Effect.Effect<A, E>) => Effect.asVoid(hint(call))
      return Partitions.of({
        ping: (partition, id) => tell(at(partition).Ping({ id })),
        push: (partition, id, document) => tell(at(partition).Push({ id, ...document, byHub: false })),
        reloadUpstream: (partition, id) => tell(at(partition).ReloadUpstream({ id })),
        hubPush: (partition, id, document) =>
          at(partition).Push({ id, ...document, byHub: true }).pipe(
            Effect.timeoutOption("8 seconds"),
            Effect.match({ onFailure: () => false, onSuccess: Option.isSome })
          ),
        reloadResource: (partition, id) => tell(at(partition).ReloadResource({ id })),
        reloadSubscription: (partition, id) => tell(at(partition).ReloadSubscription({ id })),
        firstFetch: (partition, id) =>
          Effect.timeoutOption(hint(at(partition).FirstFetch({ id })), "5 seconds").pipe(
            Effect.flatMap((answered) =>
              Option.getOrUndefined(Option.flatten(answered)) === false ? tooManyWait : Effect.void
            )
          ),
        forget: (partition, id) => tell(at(partition).Forget({ id }))
      })
    })
  )
}
