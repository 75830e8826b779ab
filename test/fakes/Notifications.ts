import { maxReadBytes, NotificationLog, type NumberedNotification } from "#domain/ports/NotificationLog.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): NotificationLog["Service"] =>
  NotificationLog.of({
    heads: (resourceIds) =>
      operation(state, () => resourceIds.map((id) => state.notifications.get(id)?.at(-1)?.sequence ?? 0)),
    readAfter: (resourceId, sequence, limit) =>
      operation(state, () =>
        cutAfterBytes(
          (state.notifications.get(resourceId) ?? []).filter((one) => one.sequence > sequence).slice(0, limit)
        ))
  })

const cutAfterBytes = (all: ReadonlyArray<NumberedNotification>): ReadonlyArray<NumberedNotification> => {
  let bytes = 0
  const last = all.findIndex(({ notification: { news } }) => {
    if (news._tag === "Document") bytes += news.document.body.length
    if (news._tag === "Entries") bytes += news.entries.reduce((sum, entry) => sum + JSON.stringify(entry).length, 0)
    return bytes >= maxReadBytes
  })
  return last < 0 ? all : all.slice(0, last + 1).map((one, at) => at === last ? { ...one, isCut: true } : one)
}
