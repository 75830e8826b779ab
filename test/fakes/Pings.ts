import { Clock, Effect } from "effect"
import { maxRecentPings, Pings } from "#domain/ports/Pings.ts"
import { pinged } from "./Resources.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): Pings["Service"] =>
  Pings.of({
    record: Effect.fn("Pings.record")((wanted, maxFragments) =>
      operation(state, (now) => {
        const { canonical, topic, withContent } = wanted
        const found = canonical === undefined ? { fragments: [] } : pinged(state, canonical, maxFragments, now)
        const own = found.resource
        const isWatched = own?.isWatched === true || found.fragments.length > 0
        const resourceId = own?.isWatched === true ? own.id : found.fragments[0] ?? own?.id
        const settled = isWatched ? {} : { outcome: { _tag: "NoSubscriber" } as const, answeredAt: now }
        state.pings.unshift({ wanted, resourceId, ping: { topic, withContent, receivedAt: now, ...settled } })
        return found
      }).pipe(Effect.tap(() => state.faults.pingDelayMs > 0 ? Effect.sleep(state.faults.pingDelayMs) : Effect.void))
    ),
    resolve: Effect.fn("Pings.resolve")((resourceId, until, outcome) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        for (const recorded of state.pings) {
          const { ping } = recorded
          if (recorded.resourceId !== resourceId || ping.outcome !== undefined || ping.receivedAt > until) continue
          recorded.ping = { ...ping, outcome, answeredAt: now }
        }
      })
    ),
    findUnanswered: Effect.fn("Pings.findUnanswered")((partitions, before) =>
      operation(state, () => {
        const ids = state.pings.filter(({ ping }) => ping.outcome === undefined && ping.receivedAt < before)
          .flatMap(({ resourceId }) => resourceId ?? [])
        return [...new Set(ids)].flatMap((resourceId) => {
          const partition = state.resources.get(resourceId)?.partition
          return partition !== undefined && partitions.includes(partition) ? [{ partition, resourceId }] : []
        })
      })
    ),
    list: Effect.fn("Pings.list")(({ accountId, limit }) =>
      operation(state, () =>
        state.pings.filter(({ wanted }) => accountId === undefined || wanted.accountId === accountId)
          .slice(0, limit).map(({ ping }) => ping))
    ),
    listTopicsSince: Effect.fn("Pings.listTopicsSince")((since) =>
      operation(state, () => [
        ...new Set(
          state.pings.slice(0, maxRecentPings).filter(({ ping }) => ping.receivedAt >= since).map(({ ping }) =>
            ping.topic
          )
        )
      ])
    ),
    listOpen: Effect.fn("Pings.listOpen")((topic, limit) =>
      operation(state, () =>
        state.pings.filter(({ ping, wanted }) =>
          ping.topic === topic && wanted.accountId === undefined
        )
          .slice(0, limit).map(({ ping }) => ping))
    )
  })
