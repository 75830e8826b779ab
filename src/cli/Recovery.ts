import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { callManagementApi, decodeAnswer, givenFlags, readPages, RemoteError, serviceFlags } from "./RemoteService.ts"
import { countOf } from "#domain/Count.ts"
import { print } from "./Output.ts"
import { nameOf, subscriptionFlags } from "./SubscriptionFlags.ts"
import { renderTable } from "./Table.ts"

const Undelivered = Schema.Struct({
  undelivered: Schema.Array(Schema.Struct({
    subscription: Schema.Int,
    topic: Schema.String,
    callback: Schema.String,
    sequence: Schema.Int,
    state: Schema.String,
    attempts: Schema.Int,
    nextTry: Schema.optionalKey(Schema.String),
    reason: Schema.optionalKey(Schema.String)
  })),
  next: Schema.optionalKey(Schema.String)
})

export const undelivered = Command.make(
  "undelivered",
  {
    ...serviceFlags,
    ...subscriptionFlags,
    limit: Flag.Int("limit").pipe(
      Flag.filter((limit) => limit >= 1 && limit <= 10_000, () => "a whole number from 1 to 10000"),
      Flag.withDescription("Maximum of rows, from 1 to 10000 (default: 100)"),
      Flag.withDefault(100)
    )
  },
  Effect.fnUntraced(function*({ limit, ...flags }) {
    const { next, rows } = yield* readPages(
      limit,
      undefined,
      (page) =>
        callManagementApi(flags, "GET", "/api/undelivered", { ...nameOf(flags), ...page }).pipe(
          Effect.flatMap(decodeAnswer(Undelivered)),
          Effect.map(({ next, undelivered }) => ({ rows: undelivered, next }))
        )
    )
    if (rows.length === 0) return yield* print("Every notification is delivered.")
    yield* print(renderTable([
      ["SUBSCRIPTION", "SEQUENCE", "STATE", "TRIES", "NEXT", "REASON", "CALLBACK", "TOPIC"],
      ...rows.map((row, index) => [
        String(row.subscription),
        String(row.sequence),
        row.state,
        String(row.attempts),
        isBehind(row, rows[index - 1]) ? "follows" : row.nextTry?.slice(0, 19) ?? "",
        row.reason ?? "",
        row.callback,
        row.topic
      ])
    ]))
    if (next !== undefined) yield* print("More notifications follow; --limit shows them.")
  })
).pipe(Command.withDescription("List notifications that their callbacks have not accepted: waiting and dropped ones"))

type UndeliveredRow = typeof Undelivered.Type["undelivered"][number]

/** True when a waiting notification of the same subscription comes first. */
const isBehind = (row: UndeliveredRow, before: UndeliveredRow | undefined): boolean =>
  row.state === "waiting" && before?.state === "waiting" && before.subscription === row.subscription

const Recovered = Schema.Struct({
  subscription: Schema.Int,
  state: Schema.String,
  recovered: Schema.Int,
  lost: Schema.Int,
  more: Schema.Boolean
})

export const recover = Command.make(
  "recover",
  {
    ...serviceFlags,
    ...subscriptionFlags,
    since: Flag.String("since").pipe(
      Flag.withDescription("First sequence, or a time such as 2026-01-31T09:30:00Z (default: everything)"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function*({ since, ...flags }) {
    const { lost, more, recovered, state, subscription } = yield* callManagementApi(flags, "POST", "/api/recover", {
      ...nameOf(flags),
      ...(Option.isSome(since) && { since: /^\d+$/.test(since.value) ? Number(since.value) : since.value })
    }).pipe(Effect.flatMap(decodeAnswer(Recovered)))
    yield* print(
      recovered === 0
        ? `Subscription ${subscription} has no dropped notifications to send. Waiting ones are tried at once.`
        : describeSent(recovered, subscription)
    )
    if (lost > 0) yield* print(`No longer stored: ${countOf(lost, "notification")}.`)
    if (more) yield* print("More were dropped; repeat the command.")
    if (state === "paused") yield* print(`The subscription is paused: windhover resume --subscription ${subscription}`)
  })
).pipe(Command.withDescription("Send the dropped notifications of a subscription again, in order"))

const describeSent = (count: number, subscription: number): string =>
  `${countOf(count, "notification")} of subscription ${subscription} ${count === 1 ? "is" : "are"} sent again.`

const Resent = Schema.Struct({
  subscription: Schema.Int,
  resent: Schema.Array(Schema.Int),
  missing: Schema.Array(Schema.Union([Schema.Int, Schema.String])),
  note: Schema.optionalKey(Schema.String)
})

export const resend = Command.make(
  "resend",
  {
    ...serviceFlags,
    ...subscriptionFlags,
    notifications: Argument.String("notification").pipe(
      Argument.withDescription("Sequence of the subscription, or id (X-Windhover-Notification-Id)"),
      Argument.between(1, 100)
    )
  },
  Effect.fnUntraced(function*({ notifications, ...flags }) {
    const sequences = notifications.filter((one) => /^\d+$/.test(one)).map(Number)
    const ids = notifications.filter((one) => !/^\d+$/.test(one))
    const { missing, note, resent, subscription } = yield* callManagementApi(flags, "POST", "/api/resend", {
      ...nameOf(flags),
      ...(sequences.length > 0 && { sequences }),
      ...(ids.length > 0 && { ids })
    }).pipe(Effect.flatMap(decodeAnswer(Resent)))
    yield* print(describeSent(resent.length, subscription))
    if (missing.length > 0) yield* print(`Not sent: ${missing.join(", ")}. ${note ?? ""}`.trimEnd())
  })
).pipe(Command.withDescription("Send notifications once more, delivered ones as well, by sequence or id"))

const Tested = Schema.Struct({
  id: Schema.String,
  accepted: Schema.Boolean,
  message: Schema.String,
  milliseconds: Schema.optionalKey(Schema.Int),
  answer: Schema.optionalKey(Schema.String)
})

export const test = Command.make(
  "test",
  {
    ...serviceFlags,
    callback: Argument.String("callback").pipe(
      Argument.withDescription("URL that gets the test. Not with --subscription"),
      Argument.optional
    ),
    subscription: Flag.Int("subscription").pipe(
      Flag.withDescription("Id of a subscription, whose callback gets the test"),
      Flag.optional
    ),
    topic: Flag.String("topic").pipe(
      Flag.withDescription("A topic of yours, whose newest content is sent (default: a sample)"),
      Flag.optional
    ),
    format: Flag.Literals("format", ["atom", "json"]).pipe(Flag.withDescription("Format of the test"), Flag.optional),
    secret: Flag.String("secret").pipe(Flag.withDescription("Secret that signs the test"), Flag.optional)
  },
  Effect.fnUntraced(function*({ callback, format, secret, subscription, topic, ...service }) {
    const input = givenFlags({ callback, format, secret, subscription, topic })
    const { accepted, answer, id, message, milliseconds } = yield* callManagementApi(
      service,
      "POST",
      "/api/test",
      input
    ).pipe(Effect.flatMap(decodeAnswer(Tested)))
    const took = milliseconds === undefined ? "" : ` It took ${milliseconds} ms.`
    yield* print(`${id}: ${message}${took}`)
    if (answer !== undefined) yield* print(answer)
    if (!accepted) return yield* new RemoteError({ message: "The callback did not accept the test." })
  })
).pipe(Command.withDescription("Send a test notification to a callback, and show the answer"))

const Controlled = Schema.Struct({ subscription: Schema.Int, state: Schema.String })

const makeControl = (name: "pause" | "resume", description: string) =>
  Command.make(
    name,
    { ...serviceFlags, ...subscriptionFlags },
    Effect.fnUntraced(function*(flags) {
      const { state, subscription } = yield* callManagementApi(flags, "POST", `/api/${name}`, nameOf(flags)).pipe(
        Effect.flatMap(decodeAnswer(Controlled))
      )
      yield* print(`Subscription ${subscription} is ${state}.`)
    })
  ).pipe(Command.withDescription(description))

export const pause = makeControl("pause", "Pause a webhook: its notifications are kept, and nothing is sent")

export const resume = makeControl("resume", "Resume a paused or failing subscription")
