import { Clock, Effect, Option } from "effect"
import { formatNotificationId } from "#domain/delivery/Delivery.ts"
import {
  type DeliveryQuery,
  firstPositionAt,
  firstSuccessSlot,
  formatLogId,
  type LoggedAttempt,
  type LoggedDenial,
  maxFailures,
  maxRecorded,
  maxRecordings,
  parseLogId,
  parsePosition,
  successSlotOf,
  timeOfPosition
} from "#domain/delivery/DeliveryLogEntry.ts"
import type { Delivery } from "#domain/delivery/Notification.ts"
import { type DeliveryDetail, DeliveryLog, maxEnds, type SubscriptionEnd } from "#domain/ports/DeliveryLog.ts"
import { type LogRow, operation, type State, type Subscriber } from "./State.ts"

export const make = (state: State): DeliveryLog["Service"] =>
  DeliveryLog.of({
    list: (query) =>
      operation(state, () => {
        const found = [...attempts(state, query), ...ends(state, query)]
          .filter(({ event }) => isSelected(event, query))
          .toSorted((a, b) => a.position < b.position ? 1 : -1)
        const page = found.slice(0, query.limit)
        const items = page.map(({ event }) => event)
        return found.length > query.limit ? { items, next: String(page.at(-1)?.position) } : { items }
      }),
    find: (place, accountId) =>
      operation(state, (): Option.Option<DeliveryDetail> => {
        const query = { limit: 0, ...(accountId !== undefined && { accountId }) }
        const all = [...attempts(state, query), ...ends(state, query)]
        const found = all.find(({ event }) => {
          const known = parseLogId(event.id)
          return known?.position === place.position && ("slot" in known) === ("slot" in place)
        })
        if (found === undefined) return Option.none()
        const { delivery, event } = found
        return Option.some({ event, ...(delivery && { delivery }) })
      }),
    startRecording: ({ accountId, subscriptionId }, until) =>
      operation(state, (now) => {
        const owner = state.subscriptions.get(subscriptionId)?.subscription.accountId
        if (owner === undefined || (accountId !== undefined && accountId !== owner)) return "unknown"
        const running = [...state.recordings].filter(([id, end]) =>
          end > now && id !== subscriptionId && state.subscriptions.get(id)?.subscription.accountId === owner
        )
        if (running.length >= maxRecordings) return "too-many"
        state.recordings.set(subscriptionId, until)
        return "started"
      }),
    recordDelivery: (delivery, result) =>
      Effect.map(Clock.currentTimeMillis, (triedAt) => {
        const { attempt, sequence, subscriptionId } = delivery
        state.subscriptions.get(subscriptionId)?.log.set(
          successSlotOf(sequence, isRecorded(state, subscriptionId, triedAt)),
          {
            position: firstPositionAt(triedAt) + BigInt(state.serial()),
            outcome: "delivered",
            attempt: attempt + 1,
            sequence,
            result,
            delivery
          }
        )
      }),
    recordEnd: (end: SubscriptionEnd) =>
      operation(state, (triedAt) => {
        state.ends.push({ position: firstPositionAt(triedAt) + BigInt(state.serial()), end })
        const mine = state.ends.filter((one) => one.end.accountId === end.accountId)
        const oldest = mine.length > maxEnds ? mine[0] : undefined
        if (oldest !== undefined) state.ends.splice(state.ends.indexOf(oldest), 1)
      }),
    flush: Effect.void
  })

/** Logs a failed attempt in the slot after the newest one. */
export const logFailure = (
  state: State,
  { log, subscription }: Subscriber,
  triedAt: number,
  row: Omit<LogRow, "position">
): void => {
  const slots = isRecorded(state, subscription.id, triedAt) ? maxRecorded : maxFailures
  const newest = [...log].filter(([slot]) => slot < slots).toSorted(([, a], [, b]) => a.position < b.position ? 1 : -1)
  const [last, { attempt, result, sequence } = {}] = newest[0] ?? []
  const isRepeated = sequence === row.sequence && attempt === row.attempt && result?.message === row.result.message
  const slot = isRepeated && last !== undefined ? last : ((last ?? -1) + 1) % slots
  log.set(slot, { position: firstPositionAt(triedAt) + BigInt(state.serial()), ...row })
}

const isRecorded = ({ recordings }: State, subscriptionId: number, now: number): boolean =>
  (recordings.get(subscriptionId) ?? 0) > now

interface Found {
  readonly position: bigint
  readonly event: LoggedAttempt | LoggedDenial
  readonly delivery?: Delivery | undefined
}

const attempts = (state: State, { accountId, host }: DeliveryQuery): ReadonlyArray<Found> =>
  [...state.subscriptions.values()]
    .filter(({ subscription }) => accountId === undefined || subscription.accountId === accountId)
    .filter(({ subscription }) => host === undefined || subscription.host === host)
    .flatMap(({ log, subscription }) =>
      [...log].map(([slot, { attempt, delivery, nextTry, outcome, position, result, sequence }]) => ({
        position,
        delivery,
        event: {
          outcome,
          id: formatLogId(position, { subscriptionId: subscription.id, slot }),
          subscriptionId: subscription.id,
          topic: subscription.topic,
          endpoint: subscription.endpoint,
          triedAt: timeOfPosition(position),
          sequence,
          attempt,
          ...result,
          ...(delivery !== undefined && {
            notificationId: formatNotificationId({
              notificationId: delivery.notification.id,
              subscriptionId: subscription.id,
              sequence,
              isPart: delivery.isPart === true
            })
          }),
          ...(slot < firstSuccessSlot && nextTry !== undefined && { nextTry })
        }
      }))
    )

const ends = (state: State, { accountId, host }: DeliveryQuery): ReadonlyArray<Found> =>
  state.ends
    .filter(({ end }) => accountId === undefined || end.accountId === accountId)
    .filter(({ end }) => host === undefined || end.host === host)
    .map(({ end: { accountId: _, host: __, ...end }, position }) => ({
      position,
      event: { id: formatLogId(position), triedAt: timeOfPosition(position), ...end }
    }))

const isSelected = (event: LoggedAttempt | LoggedDenial, query: DeliveryQuery): boolean => {
  const position = parseLogId(event.id)?.position ?? 0n
  return (query.subscriptionId === undefined ||
    (event.outcome !== "denied" && event.subscriptionId === query.subscriptionId)) &&
    (query.topic === undefined || [query.topic.given, query.topic.canonical].includes(event.topic)) &&
    (query.outcome === undefined || event.outcome === query.outcome) &&
    (query.reason === undefined || event.reason === query.reason) &&
    (query.code === undefined || event.code === query.code) &&
    (query.from === undefined || event.triedAt >= query.from) &&
    (query.to === undefined || event.triedAt < query.to) &&
    (query.after === undefined || position < (parsePosition(query.after) ?? 0n))
}
