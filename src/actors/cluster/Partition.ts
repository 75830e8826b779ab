import { Clock, Context, Deferred, Effect, Layer, Random, Schema, type Scope } from "effect"
import * as Entity from "effect/cluster/Entity"
import * as Rpc from "effect/rpc/Rpc"
import { type HostPause, HostPauses } from "#domain/ports/HostPauses.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import { boundsOf, plannedFetch } from "#domain/poll/PollingInterval.ts"
import { plannedStep } from "#domain/websub/HubSubscription.ts"
import * as ActorSystem from "#actors/runtime/ActorSystem.ts"
import { HubDirectory } from "#actors/resource/HubDirectory.ts"
import { HostThrottle } from "#actors/limits/HostThrottle.ts"
import { HubReliability } from "#actors/resource/HubReliability.ts"
import { ActorBudget } from "#actors/runtime/ActorBudget.ts"
import * as Resource from "#actors/resource/Resource.ts"
import { whenAvailable } from "#actors/runtime/Retrying.ts"
import * as Subscription from "#actors/subscription/Subscription.ts"
import { type ShardLease, ShardLeases, undisputed } from "./ShardLease.ts"
import * as HubSubscription from "#actors/resource/HubSubscription.ts"
import * as HubSubscriptionMessage from "#actors/resource/HubSubscriptionMessage.ts"

/** The actors of one partition, alive as long as the scope that started them. */
export interface PartitionActors {
  readonly resources: ActorSystem.Actors<Resource.Message>
  readonly subscriptions: ActorSystem.Actors<Subscription.Message>
  /** Subscriptions at the hubs of publishers, by resource. */
  readonly upstreams: ActorSystem.Actors<HubSubscriptionMessage.Message>
  readonly fed: HubDirectory
  /** Within the longest period the resource is polled, whatever its hub was relied on for. */
  readonly pollSoon: (id: number) => Effect.Effect<void>
}

/** Milliseconds that a stopping runner waits for deliveries that are under way. */
const drainLimit = 10_000

/** After a stop all resources may be overdue: so many ms apart they are fetched, in each of the partitions. */
const overdueSpacing = 75

/** Within so many ms everything overdue is fetched, however much it is. */
const overdueWindow = 300_000

/** Fetches from one host in the shortest period, at most: 20 a second when that is a minute. */
const fetchesAPeriod = 1_200

/** Starts partitions; what `Partition` (the entity) and tests run. */
export class PartitionStarter extends Context.Service<PartitionStarter, {
  /** While `claim` is not sure, nothing is sent and no change recorded: somebody else may have the partition. */
  readonly start: (partition: number, claim?: ShardLease) => Effect.Effect<PartitionActors, never, Scope.Scope>
}>()("windhover/actors/cluster/Partition/PartitionStarter") {
  static readonly layer = Layer.effect(
    PartitionStarter,
    Effect.gen(function*() {
      const store = yield* ResourceStore
      const outbox = yield* Outbox
      const pauses = yield* HostPauses
      const pings = yield* Pings
      const residency = yield* ActorBudget
      const settings = yield* Settings
      const resource = yield* Resource.ResourceBehavior
      const subscription = yield* Subscription.SubscriptionBehavior
      const upstream = yield* HubSubscription.HubSubscriptionBehavior
      const upstreamStore = yield* HubSubscriptionStore
      const trust = yield* HubReliability
      const { maxPeriod } = boundsOf(settings)

      const inBudget = Effect.provideService(ActorBudget, residency)

      const start = Effect.fn("Supervisor.start")(function*(partition: number, claim: ShardLease = undisputed) {
        const reloadResource = (id: number) => Effect.suspend(() => resources.tell(id, { _tag: "Reload" }))
        const subscriptions = yield* ActorSystem.make<Subscription.State, Subscription.Message, never, never>({
          name: "subscription",
          alarm: Subscription.look,
          behavior: (self) => subscription.run(self, { claim, reloadResource }),
          join: Subscription.join
        }).pipe(inBudget)
        // deliveries that are under way are finished; fetches are not worth the wait: whoever is next fetches again
        yield* Effect.addFinalizer(() => Effect.timeoutOption(subscriptions.drain, drainLimit))
        const fed = new HubDirectory(
          trust,
          settings.baseUrl,
          (id, message) => Effect.suspend(() => upstreams.tell(id, message))
        )
        const hosts = new HostThrottle(settings.minPeriod / fetchesAPeriod * 1000)
        const around: Resource.PartitionContext = {
          hosts,
          holdOff: (pause) => holdOff(partition, hosts, pause),
          fed,
          call: (id) => Effect.suspend(() => resources.tell(id, Resource.poll)),
          deliver: (delivery) => subscriptions.tell(delivery.subscriptionId, { _tag: "Deliver", delivery }),
          sure: claim.awaitHeld
        }
        const resources = yield* ActorSystem.make<Resource.State, Resource.Message, never, never>({
          name: "resource",
          alarm: Resource.poll,
          behavior: (self) => resource.run(self, around),
          join: Resource.join,
          patient: true
        }).pipe(inBudget)
        const pollSoon = Effect.fnUntraced(function*(id: number) {
          const wait = Math.round((yield* Random.next) * maxPeriod * 1000)
          yield* resources.tell(id, { _tag: "Sooner", at: (yield* Clock.currentTimeMillis) + wait })
        })
        const upstreams = yield* ActorSystem.make<HubSubscription.State, HubSubscriptionMessage.Message, never, never>({
          name: "upstream",
          alarm: HubSubscriptionMessage.look,
          behavior: (self) => upstream.run(self, { fed, pollSoon }),
          join: HubSubscriptionMessage.join
        }).pipe(inBudget)
        yield* leaveAlone(partition, hosts)
        yield* followHubs(partition, fed, upstreams)
        yield* setAlarms(partition, resources)
        yield* resume(partition, subscriptions)
        yield* answerPings(partition, resources)
        return { resources, subscriptions, upstreams, fed, pollSoon }
      })

      /** At once; whether the next owner will know of it, nobody waits for long. */
      const holdOff = (partition: number, hosts: HostThrottle, pause: HostPause) => {
        hosts.holdOff(pause.host, pause.since, pause.until)
        return Effect.catchTag(
          pauses.keep(partition, pause),
          "StoreError",
          ({ message }) =>
            Effect.logWarning(`a restart will forget that ${pause.host} asked to be left alone: ${message}`)
        )
      }

      /** Which hosts have asked a former owner for it; one whose clock was ahead knows nothing of the present. */
      const leaveAlone = Effect.fnUntraced(function*(partition: number, hosts: HostThrottle) {
        const known = yield* whenAvailable(pauses.ofPartition(partition))
        const now = yield* Clock.currentTimeMillis
        for (const { host, since, until } of known) if (since <= now) hosts.holdOff(host, since, until)
      })

      /** What a former owner knew of hubs, before the first poll asks for it. */
      const followHubs = Effect.fnUntraced(
        function*(partition: number, fed: HubDirectory, upstreams: ActorSystem.Actors<HubSubscriptionMessage.Message>) {
          const now = yield* Clock.currentTimeMillis
          let position = 0
          for (const known of yield* whenAvailable(upstreamStore.ofPartition(partition))) {
            fed.set(known)
            if (known.dueAt === undefined && known.state !== "idle") continue
            const at = plannedStep(known, now)
            yield* upstreams.wakeAt(known.resourceId, at <= now ? now + position++ * overdueSpacing : at)
          }
        }
      )

      /** Every watched resource gets its alarm; overdue ones one after the other. */
      const setAlarms = Effect.fnUntraced(
        function*(partition: number, resources: ActorSystem.Actors<Resource.Message>) {
          const { dueAt, ids } = yield* whenAvailable(store.alarms(partition))
          const now = yield* Clock.currentTimeMillis
          const overdue = dueAt.reduce((count, at) => plannedFetch(at, now) <= now ? count + 1 : count, 0)
          const spacing = Math.min(overdueSpacing, overdueWindow / Math.max(overdue, 1))
          let position = 0
          for (const [i, id] of ids.entries()) {
            const at = plannedFetch(dueAt[i] ?? now, now)
            yield* resources.wakeAt(id, at <= now ? now + position++ * spacing : at)
          }
        }
      )

      /** What a former owner left in the outbox. */
      const resume = Effect.fnUntraced(
        function*(partition: number, subscriptions: ActorSystem.Actors<Subscription.Message>) {
          const left = yield* whenAvailable(outbox.stalled([partition], Infinity))
          yield* Effect.forEach(left, ({ subscriptionId }) => subscriptions.tell(subscriptionId, Subscription.look), {
            discard: true
          })
        }
      )

      /** Pings that a former owner did not come to. */
      const answerPings = Effect.fnUntraced(
        function*(partition: number, resources: ActorSystem.Actors<Resource.Message>) {
          const left = yield* whenAvailable(pings.waiting([partition], Infinity))
          yield* Effect.forEach(left, ({ resourceId }) => resources.tell(resourceId, Resource.ping), { discard: true })
        }
      )

      return PartitionStarter.of({ start })
    })
  )
}

/** The partitions that are awake on this runner, by number. */
export class AwakePartitions extends Context.Service<AwakePartitions, Map<number, PartitionActors>>()(
  "windhover/actors/cluster/Partition/AwakePartitions"
) {
  static readonly layer = Layer.sync(AwakePartitions, () => new Map())
}

const id = { id: Schema.Finite }

/**
 * A partition on the cluster: one entity, whose scope owns all actors below it. When its shard moves away, all of them end,
 * and the next owner starts them from the database. Calls are volatile: what must not be lost is a row.
 */
export const Partition = Entity.make("Partition", [
  Rpc.make("Wake"),
  Rpc.make("Ping", { payload: id }),
  /** What a publisher sent, or its hub; answers when it is stored. */
  Rpc.make("Push", {
    payload: { ...id, contentType: Schema.String, body: Schema.Uint8Array, byHub: Schema.Boolean }
  }),
  Rpc.make("ReloadUpstream", { payload: id }),
  Rpc.make("ReloadResource", { payload: id }),
  Rpc.make("ReloadSubscription", { payload: id }),
  /** Answers when the resource has been fetched once, or cannot be; false at once where too many wait for that. */
  Rpc.make("FirstFetch", { payload: id, success: Schema.Boolean }),
  /** Answers when nothing more is sent to a subscription. */
  Rpc.make("Forget", { payload: id })
])

/** The entity; never idle: its resources are polled although nobody calls. */
export const layer = Partition.toLayer(
  Effect.gen(function*() {
    const { entityId, shardId } = yield* Entity.CurrentAddress
    const tenure = yield* ShardLeases
    const held = yield* AwakePartitions
    const partition = Number(entityId)
    const actors = yield* (yield* PartitionStarter).start(partition, tenure.of(shardId))
    yield* Effect.acquireRelease(
      Effect.sync(() => held.set(partition, actors)),
      () => Effect.sync(() => held.get(partition) === actors && held.delete(partition))
    )
    const { resources, subscriptions, upstreams } = actors
    return Partition.of({
      Wake: () => Effect.void,
      Ping: ({ payload }) => resources.tell(payload.id, Resource.ping),
      Push: Effect.fnUntraced(function*({ payload: { body, byHub, contentType, id } }) {
        const done = yield* Deferred.make<boolean>()
        const push: Resource.Push = { _tag: "Push", document: { contentType, body }, byHub, done }
        yield* resources.tell(id, push)
        // megabytes that nobody counts any more are not kept
        yield* Effect.onInterrupt(Deferred.await(done), () => Effect.sync(() => void (push.document = undefined)))
      }),
      ReloadUpstream: ({ payload }) => upstreams.tell(payload.id, { _tag: "Reload" }),
      ReloadResource: ({ payload }) => resources.tell(payload.id, { _tag: "Reload" }),
      ReloadSubscription: ({ payload }) => subscriptions.tell(payload.id, { _tag: "Reload" }),
      FirstFetch: Effect.fnUntraced(function*({ payload }) {
        const done = yield* Deferred.make<boolean>()
        yield* resources.tell(payload.id, { _tag: "FirstFetch", done })
        return yield* Effect.onInterrupt(Deferred.await(done), () => Deferred.succeed(done, true))
      }),
      Forget: ({ payload }) => subscriptions.stop(payload.id)
    })
  }),
  { maxIdleTime: "Infinity", concurrency: "unbounded" }
)
