import { Effect } from "effect"
import { maxRecentPings, Pings } from "#domain/ports/Pings.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): Pings["Service"] =>
  Pings.of({
    record: Effect.fn("Pings.record")((wanted, outcome) =>
      operation(state, (now) => {
        const { topic, withContent } = wanted
        const settled = outcome === undefined ? {} : { outcome, answeredAt: now }
        state.pings.unshift({ wanted, ping: { topic, withContent, receivedAt: now, ...settled } })
      })
    ),
    resolve: Effect.fn("Pings.resolve")((resourceId, until, outcome) =>
      operation(state, (now) => {
        for (const recorded of state.pings) {
          const { ping, wanted } = recorded
          if (wanted.resourceId !== resourceId || ping.outcome !== undefined || ping.receivedAt > until) continue
          recorded.ping = { ...ping, outcome, answeredAt: now }
        }
      })
    ),
    findUnanswered: Effect.fn("Pings.findUnanswered")((partitions, before) =>
      operation(state, () => {
        const ids = state.pings.filter(({ ping }) => ping.outcome === undefined && ping.receivedAt < before)
          .flatMap(({ wanted }) => wanted.resourceId ?? [])
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
