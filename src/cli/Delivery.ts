import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { recordingMinutes } from "#domain/delivery/DeliveryLogEntry.ts"
import { print } from "./Output.ts"
import { callManagementApi, decodeAnswer, serviceFlags } from "./RemoteService.ts"
import { nameOf, subscriptionFlags } from "./SubscriptionFlags.ts"
import { renderTable } from "./Table.ts"

/** An attempt in the management API. */
const attemptFields = {
  id: Schema.String,
  time: Schema.String,
  outcome: Schema.String,
  topic: Schema.String,
  callback: Schema.String,
  subscription: Schema.optionalKey(Schema.Int),
  sequence: Schema.optionalKey(Schema.Int),
  notification: Schema.optionalKey(Schema.String),
  attempt: Schema.optionalKey(Schema.Int),
  code: Schema.optionalKey(Schema.Int),
  reason: Schema.optionalKey(Schema.String),
  message: Schema.String,
  answer: Schema.optionalKey(Schema.String),
  milliseconds: Schema.optionalKey(Schema.Int),
  bytes: Schema.optionalKey(Schema.Int),
  nextTry: Schema.optionalKey(Schema.String)
}

/** A page of attempts. */
export const AttemptPage = Schema.Struct({
  deliveries: Schema.Array(Schema.Struct(attemptFields)),
  next: Schema.optionalKey(Schema.String)
})

const Attempt = Schema.Struct({
  ...attemptFields,
  explanation: Schema.optionalKey(Schema.String),
  request: Schema.optionalKey(Schema.Struct({
    headers: Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.String })),
    body: Schema.String,
    encoding: Schema.String,
    truncated: Schema.Boolean
  }))
})

const rowNames = {
  time: "Time",
  outcome: "Outcome",
  nextTry: "Next try",
  topic: "Topic",
  callback: "Callback",
  subscription: "Subscription",
  sequence: "Sequence",
  notification: "Notification",
  attempt: "Attempt",
  code: "Code",
  reason: "Reason",
  message: "Message",
  explanation: "Explanation",
  milliseconds: "Milliseconds",
  bytes: "Bytes",
  answer: "Answer"
} as const

/** One line for each field of the attempt, then its request as it was sent. */
const renderAttempt = ({ request, ...attempt }: typeof Attempt.Type): string => {
  const rows = Object.entries(rowNames).flatMap(([field, name]) => {
    const value = attempt[field as keyof typeof rowNames]
    return value === undefined ? [] : [[`${name}:`, String(value)]]
  })
  return [renderTable(rows), ...(request === undefined ? [] : ["", renderRequest(request)])].join("\n")
}

const renderRequest = ({ body, encoding, headers, truncated }: NonNullable<typeof Attempt.Type["request"]>): string =>
  [
    ...headers.map(({ name, value }) => `${name}: ${value}`),
    "",
    body,
    ...(encoding === "utf-8" ? [] : [`(The body is no UTF-8 and shown in ${encoding}.)`]),
    ...(truncated ? ["(The body is longer.)"] : [])
  ].join("\n")

export const delivery = Command.make(
  "delivery",
  {
    ...serviceFlags,
    id: Argument.String("id").pipe(Argument.withDescription("Id of the attempt, as `windhover deliveries` lists it")),
    all: Flag.Boolean("all").pipe(
      Flag.withDescription("Also an attempt of another account, for a token with the right admin"),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function*({ all, id, ...service }) {
    const path = `/api/deliveries/${encodeURIComponent(id)}` as const
    const attempt = yield* callManagementApi(service, "GET", path, all ? { all } : {}).pipe(
      Effect.flatMap(decodeAnswer(Attempt))
    )
    yield* print(renderAttempt(attempt))
  })
).pipe(
  Command.withDescription("Show one attempt of a delivery: its result, and the headers and the body of its request")
)

const Recording = Schema.Struct({ subscription: Schema.Int, until: Schema.String })

export const record = Command.make(
  "record",
  {
    ...serviceFlags,
    ...subscriptionFlags,
    minutes: Flag.Int("minutes").pipe(
      Flag.withDescription(`Duration in minutes, from 1 to ${recordingMinutes} (default: ${recordingMinutes})`),
      Flag.optional
    )
  },
  Effect.fnUntraced(function*({ minutes, ...flags }) {
    const { subscription, until } = yield* callManagementApi(flags, "POST", "/api/deliveries/record", {
      ...nameOf(flags),
      ...(Option.isSome(minutes) && { minutes: minutes.value })
    }).pipe(Effect.flatMap(decodeAnswer(Recording)))
    yield* print(`All attempts of subscription ${subscription} are recorded until ${until.slice(0, 19)}.`)
  })
).pipe(Command.withDescription("Record all attempts of a subscription for an hour, instead of the last few"))
