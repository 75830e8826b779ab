import { Context, Effect, Layer } from "effect"
import { Settings } from "#domain/ports/Settings.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import { type HubCounts, isReachable, maxConsecutiveMisses } from "#domain/websub/HubSubscription.ts"

/** Whether this service subscribes at hubs at all, and which of them have died. */
export class HubReliability extends Context.Service<HubReliability, {
  readonly enabled: boolean
  /** It has so many strikes that none of its resources relies on it. */
  readonly isUnreliable: (hub: string) => boolean
  /** Kept until the next `settle`. */
  readonly addCounts: (tally: HubCounts) => void
  /** Writes what was counted, and learns what other runners have; gives the hubs that are doubted from now on. */
  readonly synchronize: Effect.Effect<ReadonlySet<string>>
}>()("windhover/actors/resource/HubReliability") {
  static readonly layer = Layer.effect(
    HubReliability,
    Effect.gen(function*() {
      const store = yield* HubSubscriptionStore
      const { baseUrl, upstreamHubs } = yield* Settings
      const counted = new Map<string, HubCounts>()
      let doubted: ReadonlySet<string> = new Set()

      const count = (tally: HubCounts) => void counted.set(tally.hub, addUp(counted.get(tally.hub), tally))

      const settle = Effect.gen(function*() {
        const tallies = [...counted.values()]
        counted.clear()
        if (tallies.length > 0) {
          yield* Effect.tapError(store.addCounts(tallies), () => Effect.sync(() => tallies.forEach(count)))
        }
        const before = doubted
        doubted = new Set(yield* store.unreliableHubs(maxConsecutiveMisses))
        return new Set([...doubted].filter((hub) => !before.has(hub)))
      }).pipe(
        Effect.catchTag(
          "StoreError",
          (error) => Effect.as(Effect.logWarning(`hubs are not counted yet: ${error.message}`), new Set<string>())
        )
      )

      return HubReliability.of({
        enabled: upstreamHubs ?? isReachable(baseUrl),
        isUnreliable: (hub) => doubted.has(hub),
        addCounts: count,
        synchronize: settle
      })
    })
  )
}

/** A push takes the strikes before it back, whichever of the two was counted first. */
const addUp = (known: HubCounts | undefined, more: HubCounts): HubCounts => {
  const pushed = (known?.pushed ?? 0) + more.pushed
  return {
    hub: more.hub,
    pushed: pushed,
    missed: (known?.missed ?? 0) + more.missed,
    consecutiveMisses: pushed > 0 ? 0 : (known?.consecutiveMisses ?? 0) + more.consecutiveMisses
  }
}
