import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { outcomes } from "#domain/delivery/DeliveryLogEntry.ts"
import { failureReasons } from "#domain/delivery/FailureReason.ts"
import { attemptText } from "#domain/delivery/Notification.ts"
import { limit, loginFilter, shorten } from "./Activity.ts"
import { Administration, type DeliveryFilter, type DeliveryView } from "./Administration.ts"
import * as AdministrationAccess from "./AdministrationAccess.ts"
import { print } from "./Output.ts"
import { renderTable, renderTime } from "./Table.ts"

const isTime = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d))?$/.test(text) && !Number.isNaN(Date.parse(text))

const timeFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.filter(isTime, () => "a time such as 2026-01-31 or 2026-01-31T09:30:00Z"),
    Flag.withDescription(description),
    Flag.optional
  )

const filterFlags = {
  subscription: Flag.Int("subscription").pipe(Flag.withDescription("Id of the subscription"), Flag.optional),
  host: Flag.String("host").pipe(Flag.withDescription("Host of the callback, or domain of the JID"), Flag.optional),
  topic: Flag.String("topic").pipe(Flag.withDescription("URL of the feed or other resource"), Flag.optional),
  outcome: Flag.Literals("outcome", outcomes).pipe(Flag.withDescription("Outcome of the attempt"), Flag.optional),
  reason: Flag.Literals("reason", failureReasons).pipe(Flag.withDescription("Reason of the failure"), Flag.optional),
  code: Flag.Int("code").pipe(
    Flag.filter((code) => code >= 0 && code <= 999, () => "a whole number from 0 to 999"),
    Flag.withDescription("HTTP status; 0 for attempts without one"),
    Flag.optional
  ),
  from: timeFlag("from", "Time of the earliest attempt"),
  to: timeFlag("to", "Time before which the attempt was"),
  after: Flag.String("after").pipe(Flag.withDescription("Position that the page before has named"), Flag.optional)
}

type Flags = { readonly [name in keyof typeof filterFlags]: Option.Option<string | number> }

const readFilter = ({ from, host, subscription, to, ...others }: Flags): DeliveryFilter => ({
  ...Object.fromEntries(
    Object.entries(others).flatMap(([name, value]) => Option.isSome(value) ? [[name, value.value]] : [])
  ),
  ...(Option.isSome(subscription) && { subscriptionId: Number(subscription.value) }),
  ...(Option.isSome(host) && { host: String(host.value).toLowerCase() }),
  ...(Option.isSome(from) && { from: Date.parse(String(from.value)) }),
  ...(Option.isSome(to) && { to: Date.parse(String(to.value)) })
})

/** Describes the next attempt of a delivery, or the reason why none follows. */
const describeNext = (delivery: DeliveryView): string =>
  delivery.outcome === "failed" && delivery.nextTry !== undefined ? renderTime(delivery.nextTry) : delivery.outcome

const renderDelivery = (delivery: DeliveryView): ReadonlyArray<string> => [
  renderTime(delivery.triedAt),
  delivery.outcome === "denied" || delivery.attempt === 0 ? "" : String(delivery.attempt),
  describeNext(delivery),
  delivery.code === 0 ? "" : String(delivery.code),
  delivery.reason ?? "",
  delivery.latency === undefined ? "" : `${delivery.latency} ms`,
  delivery.bytes === undefined ? "" : String(delivery.bytes),
  shorten(attemptText(delivery)),
  delivery.outcome === "denied" ? "" : `${delivery.sequence} of subscription ${delivery.subscriptionId}`,
  delivery.endpoint,
  delivery.topic
]

const headings = [
  "TIME",
  "TRY",
  "NEXT",
  "CODE",
  "REASON",
  "TOOK",
  "BYTES",
  "ANSWER",
  "NOTIFICATION",
  "CALLBACK",
  "TOPIC"
]

export const deliveries = Command.make(
  "deliveries",
  {
    login: loginFilter("Login of the account that owns the subscriptions (default: all accounts)"),
    limit,
    ...filterFlags
  },
  Effect.fnUntraced(function*({ limit, login, ...flags }) {
    const administration = yield* Administration
    const { items, next } = yield* administration.deliveries(Option.getOrUndefined(login), readFilter(flags), limit)
    yield* print(renderTable([headings, ...items.map(renderDelivery)]))
    if (next !== undefined) yield* print(`Older ones: --after ${next}`)
  })
).pipe(
  Command.withDescription(
    "List recent deliveries, newest first: failed attempts with the time of the next one, the last successes, ended and denied subscriptions"
  ),
  Command.provide(AdministrationAccess.layer)
)
