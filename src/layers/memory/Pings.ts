import { Effect } from "effect"
import { type NewPing, type Ping, Pings } from "#domain/ports/Pings.ts"
import { operation, type State } from "./State.ts"

/** A ping and whom it belongs to. */
export interface Recorded {
  readonly wanted: NewPing
  ping: Ping
}

export const make = (state: State): Pings["Service"] =>
  Pings.of({
    received: Effect.fn("Pings.received")((wanted, outcome) =>
      operation(state, (now) => {
        const { topic, withContent } = wanted
        const settled = outcome === undefined ? {} : { outcome, answeredAt: now }
        state.pings.unshift({ wanted, ping: { topic, withContent, receivedAt: now, ...settled } })
      })
    ),
    answered: Effect.fn("Pings.answered")((resourceId, until, outcome) =>
      operation(state, (now) => {
        for (const recorded of state.pings) {
          const { ping, wanted } = recorded
          if (wanted.resourceId !== resourceId || ping.outcome !== undefined || ping.receivedAt > until) continue
          recorded.ping = { ...ping, outcome, answeredAt: now }
        }
      })
    ),
    list: Effect.fn("Pings.list")(({ accountId, limit }) =>
      operation(state, () =>
        state.pings.filter(({ wanted }) => accountId === undefined || wanted.accountId === accountId)
          .slice(0, limit).map(({ ping }) => ping))
    )
  })
