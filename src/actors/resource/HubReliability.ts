import { Context, Effect, Layer } from "effect"
import { EventLog } from "#domain/ports/EventLog.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import { type HubCounts, isReachable, maxConsecutiveMisses } from "#domain/websub/HubSubscription.ts"
import { warnOfStoreError } from "#domain/ports/StoreError.ts"

/** Counts pushes and misses of publishers' hubs, and tells the unreliable hubs. */
export class HubReliability extends Context.Service<HubReliability, {
  /** False when hubs cannot reach this service, or the operator has switched hubs off. */
  readonly enabled: boolean
  /** Whether too many misses in a row make the hub unreliable for all its resources. */
  readonly isUnreliable: (hub: string) => boolean
  /** Keeps counts until the next `synchronize`. */
  readonly addCounts: (counts: HubCounts) => void
  /** Writes the counts, and reads those of all runners. Returns the hubs that became unreliable. */
  readonly synchronize: Effect.Effect<ReadonlySet<string>>
}>()("windhover/actors/resource/HubReliability") {
  static readonly layer = Layer.effect(
    HubReliability,
    Effect.gen(function*() {
      const store = yield* HubSubscriptionStore
      const events = yield* EventLog
      const { baseUrl, upstreamHubs } = yield* Settings
      const counted = new Map<string, HubCounts>()
      let unreliable: ReadonlySet<string> = new Set()

      const count = (counts: HubCounts) => void counted.set(counts.hub, addUp(counted.get(counts.hub), counts))

      const synchronize = Effect.gen(function*() {
        const counts = [...counted.values()]
        counted.clear()
        if (counts.length > 0) {
          yield* Effect.tapError(store.addCounts(counts), () => Effect.sync(() => counts.forEach(count)))
        }
        const before = unreliable
        unreliable = new Set(yield* store.unreliableHubs(maxConsecutiveMisses))
        const silent = new Set([...unreliable].filter((hub) => !before.has(hub)))
        // A start finds the hubs of former losses. A loss is new where this runner has counted a miss.
        const lost = counts.filter(({ consecutiveMisses, hub }) => consecutiveMisses > 0 && silent.has(hub))
        yield* Effect.forEach(lost, ({ hub }) => events.publish({ type: "hub.lost", hub, message: lossSentence }), {
          discard: true
        })
        return silent
      }).pipe(
        Effect.catchTag(
          "StoreError",
          (error) =>
            Effect.as(
              warnOfStoreError("Counts of hubs could not be written; retrying in 10 s.")(error),
              new Set<string>()
            )
        )
      )

      return HubReliability.of({
        enabled: upstreamHubs ?? isReachable(baseUrl),
        isUnreliable: (hub) => unreliable.has(hub),
        addCounts: count,
        synchronize
      })
    })
  )
}

const lossSentence = `Polls found entries of ${maxConsecutiveMisses} resources before the hub pushed them. `
  + "The resources are polled at the usual rate."

/** Adds counts. A push resets the misses in a row, whichever of the two was counted first. */
const addUp = (known: HubCounts | undefined, more: HubCounts): HubCounts => {
  const pushed = (known?.pushed ?? 0) + more.pushed
  return {
    hub: more.hub,
    pushed,
    missed: (known?.missed ?? 0) + more.missed,
    consecutiveMisses: pushed > 0 ? 0 : (known?.consecutiveMisses ?? 0) + more.consecutiveMisses
  }
}
