import { Deferred, Effect, Exit, Schema, Scope } from "effect"
import * as Entity from "effect/cluster/Entity"
import type * as ShardId from "effect/cluster/ShardId"
import * as Rpc from "effect/rpc/Rpc"
import * as Resource from "#actors/resource/Resource.ts"
import { AwakePartitions, PartitionStarter } from "./PartitionStarter.ts"
import { ShardLeases } from "#actors/runtime/ShardLease.ts"

/** Payload of the calls that only name an actor. */
const idOnly = { id: Schema.Finite }

/**
 * A partition as an entity of the cluster. Its scope owns all actors below it.
 *
 * When its shard moves, the entity and its actors end. The next owner starts the partition from the database. Calls are volatile; durable work is a row.
 */
export const Partition = Entity.make("Partition", [
  /** Starts the partition. */
  Rpc.make("Wake"),
  Rpc.make("Ping", { payload: idOnly }),
  /** A document that a publisher or its hub has pushed. Replies when its new entries are stored. */
  Rpc.make("Push", {
    payload: { ...idOnly, contentType: Schema.String, body: Schema.Uint8Array, byHub: Schema.Boolean }
  }),
  Rpc.make("ReloadHubSubscription", { payload: idOnly }),
  Rpc.make("ReloadResource", { payload: idOnly }),
  Rpc.make("Rebase", { payload: idOnly }),
  Rpc.make("ReloadSubscription", { payload: idOnly }),
  /** Replies true after the first fetch of the resource, or its failure; false at once when too many calls wait for this fetch. */
  Rpc.make("FirstFetch", { payload: idOnly, success: Schema.Boolean }),
  /** Replies when the subscription gets no more deliveries. */
  Rpc.make("Forget", { payload: idOnly })
])

/**
 * Starts the actors of a partition, and starts them again when the lock of the shard was lost meanwhile.
 *
 * The cluster ends the entities of a lost shard, but not an entity that is still starting. When the runner has the shard again before the
 * start is complete, the entity stays, and its actors would wait for their lost lease without an end.
 */
export const startUnderLease = Effect.fnUntraced(function*(partition: number, shard: ShardId.ShardId) {
  const leases = yield* ShardLeases
  const starter = yield* PartitionStarter
  const scope = yield* Effect.scope
  for (;;) {
    const lease = leases.of(shard)
    const lifetime = yield* Scope.fork(scope)
    const actors = yield* Scope.provide(starter.start(partition, lease), lifetime)
    if (!lease.isLost()) return actors
    yield* Scope.close(lifetime, Exit.void)
  }
})

/** The handlers of the entity. A partition never idles, because its resources are polled without any call. */
export const layer = Partition.toLayer(
  Effect.gen(function*() {
    const { entityId, shardId } = yield* Entity.CurrentAddress
    const awake = yield* AwakePartitions
    const partition = Number(entityId)
    const actors = yield* startUnderLease(partition, shardId)
    yield* Effect.acquireRelease(
      Effect.sync(() => awake.set(partition, actors)),
      () => Effect.sync(() => awake.get(partition) === actors && awake.delete(partition))
    )
    const { hubSubscriptions, resources, subscriptions } = actors
    return Partition.of({
      Wake: () => Effect.void,
      Ping: ({ payload }) => resources.tell(payload.id, Resource.ping),
      Push: Effect.fnUntraced(function*({ payload: { body, byHub, contentType, id } }) {
        const done = yield* Deferred.make<boolean>()
        const push: Resource.Push = { _tag: "Push", document: { contentType, body }, byHub, done }
        yield* resources.tell(id, push)
        // An interrupted call frees its document, because the caller no longer counts its megabytes.
        yield* Effect.onInterrupt(Deferred.await(done), () => Effect.sync(() => void (push.document = undefined)))
      }),
      ReloadHubSubscription: ({ payload }) => hubSubscriptions.tell(payload.id, { _tag: "Reload" }),
      ReloadResource: ({ payload }) => resources.tell(payload.id, { _tag: "Reload" }),
      Rebase: ({ payload }) => resources.tell(payload.id, Resource.rebase),
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
