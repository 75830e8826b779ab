import { Deferred, Effect, Schedule, Schema } from "effect"
import * as Entity from "effect/cluster/Entity"
import * as Rpc from "effect/rpc/Rpc"
import * as Resource from "#actors/resource/Resource.ts"
import { ShardLeases } from "#actors/runtime/ShardLease.ts"
import { superviseLoop } from "#actors/runtime/Supervision.ts"
import { AwakePartitions, type PartitionActors, PartitionStarter } from "./PartitionStarter.ts"

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
 * Starts the actors of a partition in the background. The result holds them once they have started.
 *
 * The entity is built at once, because the cluster ends each entity of a lost shard except those that it still builds. Such an entity
 * would stay when the runner gets the shard again, and its actors would wait for their lost lease without an end.
 */
const startActors = Effect.gen(function*() {
  const { entityId, shardId } = yield* Entity.CurrentAddress
  const awake = yield* AwakePartitions
  const leases = yield* ShardLeases
  const starter = yield* PartitionStarter
  const partition = Number(entityId)
  const started = yield* Deferred.make<PartitionActors>()
  const run = Effect.gen(function*() {
    const actors = yield* starter.start(partition, leases.of(shardId))
    yield* Effect.acquireRelease(
      Effect.sync(() => awake.set(partition, actors)),
      () => Effect.sync(() => awake.get(partition) === actors && awake.delete(partition))
    )
    yield* Deferred.succeed(started, actors)
    return yield* Effect.never
  })
  yield* superviseLoop(`partition ${partition}`, Effect.scoped(run), Schedule.spaced("500 millis"))
  return started
})

/** The handlers of the entity. A partition never idles, because its resources are polled without any call. */
export const layer = Partition.toLayer(
  Effect.gen(function*() {
    const actors = Deferred.await(yield* startActors)
    const tellResource = (id: number, message: Resource.Message) =>
      Effect.flatMap(actors, ({ resources }) => resources.tell(id, message))
    return Partition.of({
      Wake: () => Effect.void,
      Ping: ({ payload }) => tellResource(payload.id, Resource.ping),
      Push: Effect.fnUntraced(function*({ payload: { body, byHub, contentType, id } }) {
        const done = yield* Deferred.make<boolean>()
        const push: Resource.Push = { _tag: "Push", document: { contentType, body }, byHub, done }
        yield* tellResource(id, push)
        // An interrupted call frees its document, because the caller no longer counts its megabytes.
        yield* Effect.onInterrupt(Deferred.await(done), () => Effect.sync(() => void (push.document = undefined)))
      }),
      ReloadHubSubscription: ({ payload }) =>
        Effect.flatMap(actors, ({ hubSubscriptions }) => hubSubscriptions.tell(payload.id, { _tag: "Reload" })),
      ReloadResource: ({ payload }) => tellResource(payload.id, { _tag: "Reload" }),
      Rebase: ({ payload }) => tellResource(payload.id, Resource.rebase),
      ReloadSubscription: ({ payload }) =>
        Effect.flatMap(actors, ({ subscriptions }) => subscriptions.tell(payload.id, { _tag: "Reload" })),
      FirstFetch: Effect.fnUntraced(function*({ payload }) {
        const done = yield* Deferred.make<boolean>()
        yield* tellResource(payload.id, { _tag: "FirstFetch", done })
        return yield* Effect.onInterrupt(Deferred.await(done), () => Deferred.succeed(done, true))
      }),
      Forget: ({ payload }) => Effect.flatMap(actors, ({ subscriptions }) => subscriptions.stop(payload.id))
    })
  }),
  { maxIdleTime: "Infinity", concurrency: "unbounded" }
)
