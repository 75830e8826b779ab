import { Effect, Option } from "effect"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import type { HubCounts, HubReport, HubSubscription } from "#domain/websub/HubSubscription.ts"
import { operation, type State, subscribersOf } from "./State.ts"

export const make = (state: State): HubSubscriptionStore["Service"] => {
  const all = () => [...state.upstreams.values()]
  const isStored = ({ resourceId, revision }: HubSubscription) =>
    (state.upstreams.get(resourceId)?.revision ?? 0) === revision
  return HubSubscriptionStore.of({
    find: Effect.fn("HubSubscriptionStore.find")((id) =>
      operation(state, (now) =>
        Option.map(Option.fromNullishOr(state.upstreams.get(id)), (subscription) => ({
          subscription,
          watched: subscribersOf(state, id, now).length > 0
        })))
    ),
    byCallback: Effect.fn("HubSubscriptionStore.byCallback")((callback) =>
      operation(state, () => Option.fromNullishOr(all().find((one) => one.callback === callback)))
    ),
    ofPartition: Effect.fn("HubSubscriptionStore.ofPartition")((partition) =>
      operation(
        state,
        () => all().filter((one) => one.partition === partition).toSorted((a, b) => a.resourceId - b.resourceId)
      )
    ),
    save: Effect.fn("HubSubscriptionStore.save")((upstream) =>
      operation(state, () => {
        if (!isStored(upstream)) return false
        state.upstreams.set(upstream.resourceId, { ...upstream, revision: upstream.revision + 1 })
        return true
      })
    ),
    remove: Effect.fn("HubSubscriptionStore.remove")((upstream) =>
      operation(state, () => {
        if (isStored(upstream)) state.upstreams.delete(upstream.resourceId)
      })
    ),
    addCounts: Effect.fn("HubSubscriptionStore.addCounts")((tallies) =>
      operation(state, (now) => tallies.forEach((one) => add(state, one, now)))
    ),
    unreliableHubs: Effect.fn("HubSubscriptionStore.unreliableHubs")((strikes) =>
      operation(
        state,
        () =>
          [...state.hubs.values()].flatMap(({ tally }) => tally.consecutiveMisses >= strikes ? [tally.hub] : [])
            .toSorted()
      )
    ),
    hubs: Effect.fn("HubSubscriptionStore.hubs")((limit) => operation(state, () => reports(state).slice(0, limit)))
  })
}

const reports = ({ hubs, upstreams }: State): ReadonlyArray<HubReport> => {
  const all = [...upstreams.values()]
  return [...new Set([...hubs.keys(), ...all.map(({ hub }) => hub)])].map((hub) => {
    const own = all.filter((one) => one.hub === hub)
    return {
      ...(hubs.get(hub)?.tally ?? { hub, pushed: 0, missed: 0, consecutiveMisses: 0 }),
      subscriptions: own.filter(({ state }) => state === "active").length,
      reliable: own.filter(({ reliable }) => reliable).length
    }
  }).toSorted((a, b) => b.subscriptions - a.subscriptions || (a.hub < b.hub ? -1 : 1))
}

const add = (state: State, { hub, missed, pushed, consecutiveMisses }: HubCounts, countedAt: number) => {
  const known = state.hubs.get(hub)?.tally ?? { pushed: 0, missed: 0, consecutiveMisses: 0 }
  const tally: HubCounts = {
    hub,
    pushed: known.pushed + pushed,
    missed: known.missed + missed,
    consecutiveMisses: pushed > 0 ? 0 : known.consecutiveMisses + consecutiveMisses
  }
  state.hubs.set(hub, { tally, countedAt })
}
