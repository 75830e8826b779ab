import { NotificationLog } from "#domain/ports/NotificationLog.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): NotificationLog["Service"] =>
  NotificationLog.of({
    heads: (resourceIds) =>
      operation(state, () => resourceIds.map((id) => state.notifications.get(id)?.at(-1)?.sequence ?? 0)),
    readAfter: (resourceId, sequence, limit) =>
      operation(state, () =>
        (state.notifications.get(resourceId) ?? []).filter((one) => one.sequence > sequence).slice(0, limit))
  })
