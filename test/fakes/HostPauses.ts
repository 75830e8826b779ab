import { type HostPause, HostPauses } from "#domain/ports/HostPauses.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): HostPauses["Service"] => {
  const byKey = new Map<string, HostPause & { readonly partition: number }>()
  return HostPauses.of({
    save: (partition, pause) =>
      operation(state, (now) => {
        const key = `${partition} ${pause.host}`
        const known = byKey.get(key)
        byKey.set(
          key,
          known === undefined || known.until <= now || known.since > now
            ? { partition, ...pause }
            : { ...known, until: Math.max(known.until, pause.until) }
        )
      }),
    ofPartition: (partition) =>
      operation(
        state,
        (now) =>
          [...byKey.values()].filter((known) => known.partition === partition && known.until > now)
            .map(({ host, since, until }) => ({ host, since, until }))
      )
  })
}
