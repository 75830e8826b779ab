import { Effect, Option } from "effect"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import type { HubReport, HubSubscription, Tally } from "#domain/websub/HubSubscription.ts"
import { operation, type State, toldOf } from "./State.ts"

export const make = (state: State): HubSubscriptionStore["Service"] => {
  const all = () => [...state.upstreams.values()]
  const isStored = ({ resourceId, revision }: HubSubscription) =>
    (state.upstreams.get(resourceId)?.revision ?? 0) === revision
  return HubSubscriptionStore.of({
    find: Effect.fn("UpstreamStore.find")((id) =>
      operation(state, (now) =>
        Option.map(Option.fromNullishOr(state.upstreams.get(id)), (upstream) => ({
          upstream,
          watched: toldOf(state, id, now).length > 0
        })))
    ),
    byCallback: Effect.fn("UpstreamStore.byCallback")((callback) =>
      operation(state, () => Option.fromNullishOr(all().find((one) => one.callback === callback)))
    ),
    ofPartition: Effect.fn("UpstreamStore.ofPartition")((partition) =>
      operation(
        state,
        () => all().filter((one) => one.partition === partition).toSorted((a, b) => a.resourceId - b.resourceId)
      )
    ),
    save: Effect.fn("UpstreamStore.save")((upstream) =>
      operation(state, () => {
        if (!isStored(upstream)) return false
        state.upstreams.set(upstream.resourceId, { ...upstream, revision: upstream.revision + 1 })
        return true
      })
    ),
    remove: Effect.fn("UpstreamStore.remove")((upstream) =>
      operation(state, () => {
        if (isStored(upstream)) state.upstreams.delete(upstream.resourceId)
      })
    ),
    tally: Effect.fn("UpstreamStore.tally")((tallies) =>
      operation(state, (now) => tallies.forEach((one) => add(state, one, now)))
    ),
    struck: Effect.fn("UpstreamStore.struck")((strikes) =>
      operation(
        state,
        () => [...state.hubs.values()].flatMap(({ tally }) => tally.strikes >= strikes ? [tally.hub] : []).toSorted()
      )
    ),
    hubs: Effect.fn("UpstreamStore.hubs")((limit) => operation(state, () => reports(state).slice(0, limit)))
  })
}

const reports = ({ hubs, upstreams }: State): ReadonlyArray<HubReport> => {
  const all = [...upstreams.values()]
  return [...new Set([...hubs.keys(), ...all.map(({ hub }) => hub)])].map((hub) => {
    const own = all.filter((one) => one.hub === hub)
    return {
      ...(hubs.get(hub)?.tally ?? { hub, pushed: 0, missed: 0, strikes: 0 }),
      subscriptions: own.filter(({ state }) => state === "active").length,
      trusted: own.filter(({ trusted }) => trusted).length
    }
  }).toSorted((a, b) => b.subscriptions - a.subscriptions || (a.hub < b.hub ? -1 : 1))
}

const add = (state: State, { hub, missed, pushed, strikes }: Tally, countedAt: number) => {
  const known = state.hubs.get(hub)?.tally ?? { pushed: 0, missed: 0, strikes: 0 }
  const tally: Tally = {
    hub,
    pushed: known.pushed + pushed,
    missed: known.missed + missed,
    strikes: pushed > 0 ? 0 : known.strikes + strikes
  }
  state.hubs.set(hub, { tally, countedAt })
}
