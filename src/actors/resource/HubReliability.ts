import { Context, Effect, Layer } from "effect"
import { Settings } from "#domain/ports/Settings.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import { isReachable, maxStrikes, type Tally } from "#domain/websub/HubSubscription.ts"

/** Whether this service subscribes at hubs at all, and which of them have died. */
export class HubReliability extends Context.Service<HubReliability, {
  readonly enabled: boolean
  /** It has so many strikes that none of its resources relies on it. */
  readonly isDoubted: (hub: string) => boolean
  /** Kept until the next `settle`. */
  readonly count: (tally: Tally) => void
  /** Writes what was counted, and learns what other runners have; gives the hubs that are doubted from now on. */
  readonly settle: Effect.Effect<ReadonlySet<string>>
}>()("windhover/actors/resource/HubReliability") {
  static readonly layer = Layer.effect(
    HubReliability,
    Effect.gen(function*() {
      const store = yield* HubSubscriptionStore
      const { baseUrl, upstreamHubs } = yield* Settings
      const counted = new Map<string, Tally>()
      let doubted: ReadonlySet<string> = new Set()

      const count = (tally: Tally) => void counted.set(tally.hub, sum(counted.get(tally.hub), tally))

      const settle = Effect.gen(function*() {
        const tallies = [...counted.values()]
        counted.clear()
        if (tallies.length > 0) {
          yield* Effect.tapError(store.tally(tallies), () => Effect.sync(() => tallies.forEach(count)))
        }
        const before = doubted
        doubted = new Set(yield* store.struck(maxStrikes))
        return new Set([...doubted].filter((hub) => !before.has(hub)))
      }).pipe(
        Effect.catchTag(
          "StoreError",
          (error) => Effect.as(Effect.logWarning(`hubs are not counted yet: ${error.message}`), new Set<string>())
        )
      )

      return HubReliability.of({
        enabled: upstreamHubs ?? isReachable(baseUrl),
        isDoubted: (hub) => doubted.has(hub),
        count,
        settle
      })
    })
  )
}

/** A push takes the strikes before it back, whichever of the two was counted first. */
const sum = (known: Tally | undefined, more: Tally): Tally => {
  const pushed = (known?.pushed ?? 0) + more.pushed
  return {
    hub: more.hub,
    pushed,
    missed: (known?.missed ?? 0) + more.missed,
    strikes: pushed > 0 ? 0 : (known?.strikes ?? 0) + more.strikes
  }
}
