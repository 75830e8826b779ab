import { Effect, Schema } from "effect"
import { type DeliveryReport, DeliveryReports, type SentRequest } from "#actors/operations/DeliveryReports.ts"
import { type LoggedAttempt, type LoggedDenial, outcomes, recordingMinutes } from "#domain/delivery/DeliveryLogEntry.ts"
import { explainReason, failureReasons } from "#domain/delivery/FailureReason.ts"
import { maxTopicLength } from "#domain/Topic.ts"
import { checkOfAll } from "./CheckOfAll.ts"
import { makeCursor } from "./Cursor.ts"
import * as Field from "./Fields.ts"
import { makeRoute, type ManagementRoute } from "./ManagementRoute.ts"

const group = "Delivery log"

const deliveriesCursor = makeCursor("deliveries", Schema.String.check(Schema.isPattern(/^\d{1,19}$/)))

const deliveryFields = {
  id: Schema.String.annotate({ description: "Of `GET /api/deliveries/ID`." }),
  time: Field.time,
  outcome: Schema.Literals(outcomes).annotate({
    description:
      "`failed`: another attempt follows; `dropped`: it was the last one; `bounced`: accepted, and returned later; " +
      "`ended`: the receiver ended the subscription; `denied`: the callback did not confirm the subscription."
  }),
  subscription: Field.optional(Schema.Int),
  topic: Schema.String,
  callback: Schema.String.annotate({ description: "The JID of a subscription by XMPP." }),
  sequence: Field.optional(Schema.Int),
  notification: Field.optional(Schema.String.annotate({ description: "X-Windhover-Notification-Id." })),
  attempt: Field.optional(Schema.Int.annotate({ description: "Counted from 1." })),
  code: Field.optional(Schema.Int.annotate({ description: "HTTP status; absent without one." })),
  reason: Field.optional(Schema.Literals(failureReasons)),
  message: Schema.String.annotate({ description: "A sentence about this attempt." }),
  answer: Field.optional(
    Schema.String.annotate({ description: "The first 1,024 bytes of a bad answer, on one line." })
  ),
  milliseconds: Field.optional(Schema.Int),
  bytes: Field.optional(Schema.Int.annotate({ description: "Length of the body that was sent." })),
  nextTry: Field.optional(Field.time)
}

type DeliveryJson = Schema.Schema.Type<Schema.Struct<typeof deliveryFields>>

const deliveryJson = (event: LoggedAttempt | LoggedDenial): DeliveryJson => ({
  id: event.id,
  time: Field.formatTime(event.triedAt),
  outcome: event.outcome,
  topic: event.topic,
  callback: event.endpoint,
  ...(event.outcome !== "denied" && { subscription: event.subscriptionId, sequence: event.sequence }),
  ...(event.outcome !== "denied" && event.attempt > 0 && { attempt: event.attempt }),
  ...(event.outcome !== "denied" && event.notificationId !== undefined && { notification: event.notificationId }),
  ...(event.code > 0 && { code: event.code }),
  ...(event.reason !== undefined && { reason: event.reason }),
  message: event.message,
  ...(event.answer !== undefined && { answer: event.answer }),
  ...(event.latency !== undefined && { milliseconds: event.latency }),
  ...(event.bytes !== undefined && { bytes: event.bytes }),
  ...(event.outcome !== "denied" && event.nextTry !== undefined && { nextTry: Field.formatTime(event.nextTry) })
})

const deliveries = makeRoute({
  method: "GET",
  path: "/api/deliveries",
  right: "list",
  group,
  summary: "Lists attempts of deliveries, ended and denied subscriptions, newest first",
  input: Schema.Struct({
    subscription: Field.optional(Field.subscriptionId),
    host: Field.optional(Field.text(253, "Host of the callback, or domain of the JID.", "a host name")),
    topic: Field.optional(Field.text(maxTopicLength, "URL of the resource.", "a URL")),
    outcome: Field.optional(Field.word(outcomes, "Outcome of the attempt.")),
    reason: Field.optional(Field.word(failureReasons, "Reason of the failure.")),
    code: Field.optional(Field.integer(0, 999, "HTTP status; 0 for attempts without one.")),
    from: Field.optional(Field.instant("Time of the earliest attempt.")),
    to: Field.optional(Field.instant("Time before which the attempt was.")),
    all: Field.ofAll,
    limit: Field.limit,
    cursor: Field.cursor
  }),
  output: Schema.Struct({
    deliveries: Schema.Array(Schema.Struct(deliveryFields)),
    next: Field.optional(Field.cursorText)
  }),
  run: Effect.fnUntraced(
    function*({ all = false, cursor, from, host, limit = Field.defaultLimit, subscription, to, ...query }, { caller }) {
      yield* checkOfAll(caller, all)
      const after = yield* deliveriesCursor.parse(cursor)
      const { items, next } = yield* DeliveryReports.use((reports) =>
        reports.list({
          caller,
          limit,
          ofAll: all,
          ...query,
          ...(subscription !== undefined && { subscriptionId: subscription }),
          ...(host !== undefined && { host: host.toLowerCase() }),
          ...(from !== undefined && { from: Date.parse(from) }),
          ...(to !== undefined && { to: Date.parse(to) }),
          ...(after !== undefined && { after })
        })
      )
      return {
        deliveries: items.map(deliveryJson),
        ...(next !== undefined && { next: deliveriesCursor.format(next) })
      }
    }
  )
})

/** Maximum bytes of a shown body. */
const maxBodyBytes = 1 << 20

const delivery = makeRoute({
  method: "GET",
  path: "/api/deliveries/{id}",
  right: "list",
  group,
  summary: "Shows one event of the log, with the headers and the body of its request while the notification is stored",
  input: Schema.Struct({ id: Field.text(64, "`id` of a delivery.", "an id"), all: Field.ofAll }),
  output: Schema.Struct({
    ...deliveryFields,
    explanation: Field.optional(
      Schema.String.annotate({ description: "The usual cause of the reason, and its remedy." })
    ),
    request: Field.optional(Schema.Struct({
      headers: Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.String })).annotate({
        description: "Signatures, credentials and headers of the subscriber have the value `***`."
      }),
      body: Schema.String,
      encoding: Schema.Literals(["utf-8", "base64"]),
      truncated: Schema.Boolean.annotate({ description: "True: the body is longer than the shown 1 MiB." })
    }))
  }),
  run: Effect.fnUntraced(function*({ all = false, id }, { caller }) {
    yield* checkOfAll(caller, all)
    return reportJson(yield* DeliveryReports.use((reports) => reports.show({ caller, ofAll: all, id })))
  })
})

const reportJson = ({ event, request }: DeliveryReport) => ({
  ...deliveryJson(event),
  ...(event.reason !== undefined && { explanation: explainReason(event.reason) }),
  ...(request !== undefined && { request: requestJson(request) })
})

const requestJson = ({ body, headers }: SentRequest) => {
  const shown = body.subarray(0, maxBodyBytes)
  return {
    headers: headers.map(([name, value]) => ({ name, value })),
    ...bodyText(shown),
    truncated: shown.length < body.length
  }
}

/** The body as text, or as base64 when its bytes are no UTF-8. A cut body ends before its last incomplete character. */
const bodyText = (bytes: Uint8Array): { readonly body: string; readonly encoding: "utf-8" | "base64" } => {
  try {
    return {
      body: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true }),
      encoding: "utf-8"
    }
  } catch {
    return { body: Buffer.from(bytes).toString("base64"), encoding: "base64" }
  }
}

const record = makeRoute({
  method: "POST",
  path: "/api/deliveries/record",
  right: "subscribe",
  group,
  summary: "Records all attempts of a subscription for an hour, instead of the last 64 failures and 16 successes",
  input: Schema.Struct({
    ...Field.subscriptionName,
    minutes: Field.optional(Field.integer(1, recordingMinutes, `Duration in minutes; ${recordingMinutes} by default.`))
  }),
  output: Schema.Struct({ subscription: Schema.Int, until: Field.time }),
  run: Effect.fnUntraced(function*({ minutes = recordingMinutes, ...name }, { caller }) {
    const { subscription, until } = yield* DeliveryReports.use((reports) =>
      reports.record({ caller, minutes, ...name })
    )
    return { subscription: subscription.id, until: Field.formatTime(until) }
  })
})

export const deliveryRoutes: ReadonlyArray<ManagementRoute<DeliveryReports>> = [deliveries, delivery, record]
