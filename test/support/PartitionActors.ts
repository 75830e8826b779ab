import { Effect, Layer, Option, Redacted } from "effect"
import { HubReliability } from "#actors/resource/HubReliability.ts"
import { Listeners } from "#actors/stream/Listeners.ts"
import { PartitionStarter } from "#actors/cluster/PartitionStarter.ts"
import * as PartitionStarterLayer from "#actors/cluster/PartitionStarterLayer.ts"
import { ActorBudget } from "#actors/runtime/ActorBudget.ts"
import * as ResourceLayer from "#actors/resource/ResourceLayer.ts"
import * as Senders from "#actors/subscription/Senders.ts"
import * as SubscriptionLayer from "#actors/subscription/SubscriptionLayer.ts"
import * as HubSubscriptionLayer from "#actors/resource/HubSubscriptionLayer.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import type { Outbox } from "#domain/ports/Outbox.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import * as Topic from "#domain/Topic.ts"
import * as Settings from "#layers/Settings.ts"
import { feed, hook } from "./HubCalls.ts"
import { layerOutside, SimulatedWeb } from "./SimulatedWeb.ts"

/**
 * The actors of a partition without a runner. No timer runs between two polls, so that days pass quickly. The actors see the stores through
 * `stores`.
 */
export const layerPartition = (
  settings: Partial<SettingsValues> = {},
  stores: Layer.Layer<never, never, Outbox | ResourceStore> = Layer.empty
) =>
  PartitionStarterLayer.layer.pipe(
    Layer.provide(Layer.mergeAll(ResourceLayer.layer, SubscriptionLayer.layer, HubSubscriptionLayer.layer)),
    Layer.provide(ActorBudget.layer),
    Layer.provide(HubReliability.layer),
    Layer.provide(Layer.mock(Listeners, { notify: () => Effect.void })),
    Layer.provide(Senders.layer),
    Layer.provide(Layer.succeed(ResourceLayer.Jitter, () => 0)),
    Layer.provide(stores),
    Layer.provideMerge(layerOutside),
    Layer.provideMerge(Settings.layerValues(settings))
  )

/** Subscribes to each topic, and wakes the actors of their partitions. */
export const watchTopics = Effect.fnUntraced(function*(...topics: ReadonlyArray<string>) {
  const { id } = yield* (yield* AccountStore).create("ann", Redacted.make("a password"))
  const partitions = new Set<number>()
  for (const given of topics.length === 0 ? [feed] : topics) {
    const topic = yield* Effect.fromResult(Topic.parse(given))
    const partition = Topic.partitionOf(topic.host)
    partitions.add(partition)
    yield* (yield* SubscriptionStore).subscribe({
      accountId: id,
      topic,
      partition,
      channel: "webhook",
      endpoint: hook("good"),
      host: "good.hooks.example",
      face: "api",
      state: "active"
    })
  }
  const supervisor = yield* PartitionStarter
  const [actors] = yield* Effect.forEach(partitions, (partition) => supervisor.start(partition))
  if (actors === undefined) return yield* Effect.die("no topics")
  return { actors, web: yield* SimulatedWeb }
})

export const loadState = Effect.fnUntraced(function*(url: string) {
  return Option.getOrThrow(yield* (yield* ResourceStore).find(url))
})
