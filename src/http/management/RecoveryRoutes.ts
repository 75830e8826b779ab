import { Effect, Schema } from "effect"
import { Recovery } from "#actors/operations/Recovery.ts"
import { maxResent } from "#actors/operations/Resend.ts"
import { formatNotificationId } from "#domain/delivery/Delivery.ts"
import { failureReasons } from "#domain/delivery/FailureReason.ts"
import type { UndeliveredNotification } from "#domain/ports/Redelivery.ts"
import { maxCallbackLength } from "#domain/Subscription.ts"
import { maxTopicLength } from "#domain/Topic.ts"
import { makeCursor } from "./Cursor.ts"
import * as Field from "./Fields.ts"
import { makeRoute, type ManagementRoute } from "./ManagementRoute.ts"

const group = "Undelivered notifications"

const undeliveredCursor = makeCursor(
  "undelivered",
  Schema.Tuple([Field.integer(0, Number.MAX_SAFE_INTEGER, ""), Field.integer(0, Number.MAX_SAFE_INTEGER, "")])
)

const undelivered = makeRoute({
  method: "GET",
  path: "/api/undelivered",
  right: "list",
  group,
  summary: "Lists notifications that their callbacks have not accepted: waiting and dropped ones",
  input: Schema.Struct({ ...Field.subscriptionName, limit: Field.limit, cursor: Field.cursor }),
  output: Schema.Struct({
    undelivered: Schema.Array(Schema.Struct({
      subscription: Schema.Int,
      topic: Schema.String,
      callback: Schema.String.annotate({ description: "The JID of a subscription by XMPP." }),
      sequence: Schema.Int,
      id: Schema.String.annotate({ description: "X-Windhover-Notification-Id." }),
      state: Schema.Literals(["waiting", "dropped"]),
      attempts: Schema.Int.annotate({ description: "Failed attempts." }),
      recorded: Field.optional(Field.time),
      nextTry: Field.optional(Field.time),
      code: Field.optional(Schema.Int.annotate({ description: "Status of the last answer; 0 without an answer." })),
      reason: Field.optional(Schema.String),
      recoverable: Schema.Boolean.annotate({ description: "False: the notification itself is no longer stored." })
    })),
    next: Field.optional(Field.cursorText)
  }),
  run: Effect.fnUntraced(function*({ cursor, limit = Field.defaultLimit, ...name }, { caller }) {
    const after = yield* undeliveredCursor.parse(cursor)
    const { items, next } = yield* Recovery.use((recovery) =>
      recovery.undelivered({
        caller,
        limit,
        ...name,
        ...(after !== undefined && { after: { subscriptionId: after[0], sequence: after[1] } })
      })
    )
    return {
      undelivered: items.map(undeliveredJson),
      ...(next !== undefined && { next: undeliveredCursor.format([next.subscriptionId, next.sequence]) })
    }
  })
})

const undeliveredJson = (item: UndeliveredNotification) => ({
  subscription: item.subscriptionId,
  topic: item.topic,
  callback: item.endpoint,
  sequence: item.sequence,
  id: formatNotificationId(item),
  state: item.state,
  attempts: item.attempts,
  ...(item.recordedAt !== undefined && { recorded: Field.formatTime(item.recordedAt) }),
  ...(item.nextTry !== undefined && { nextTry: Field.formatTime(item.nextTry) }),
  ...(item.failed !== undefined && { code: item.failed.code, reason: item.failed.message }),
  recoverable: item.recordedAt !== undefined
})

const recover = makeRoute({
  method: "POST",
  path: "/api/recover",
  right: "retrieve",
  group,
  summary: "Sends the dropped notifications of a subscription, in order, with the same sequences and ids",
  input: Schema.Struct({ ...Field.subscriptionName, since: Field.since }),
  output: Schema.Struct({
    subscription: Schema.Int,
    state: Schema.Literals(["pending", "active", "paused"]).annotate({
      description: "Nothing is sent to a paused subscription before its resume."
    }),
    recovered: Schema.Int.annotate({ description: "Notifications that wait to be sent again." }),
    lost: Schema.Int.annotate({ description: "Dropped notifications that are no longer stored." }),
    more: Schema.Boolean.annotate({ description: "True: more than 100,000 were dropped; recover again." })
  }),
  run: Effect.fnUntraced(function*({ since, ...name }, { caller }) {
    const { isFinished, lost, recovered, subscription } = yield* Recovery.use((recovery) =>
      recovery.recover({
        caller,
        ...name,
        ...(since !== undefined && {
          since: typeof since === "number" ? { sequence: since } : { recordedAt: Date.parse(since) }
        })
      })
    )
    return { subscription: subscription.id, state: subscription.state, recovered, lost, more: !isFinished }
  })
})

const resend = makeRoute({
  method: "POST",
  path: "/api/resend",
  right: "retrieve",
  group,
  summary: "Sends notifications of a subscription once more, delivered ones as well, with the same sequences and ids",
  input: Schema.Struct({
    ...Field.subscriptionName,
    sequences: Field.optional(
      Field.list(Field.integer(1, Number.MAX_SAFE_INTEGER, ""), maxResent, "Sequences.", "whole numbers from 1 on")
    ),
    ids: Field.optional(
      Field.list(
        Field.text(50, ""),
        maxResent,
        "Values of X-Windhover-Notification-Id. They name the subscription.",
        "ids"
      )
    )
  }),
  output: Schema.Struct({
    subscription: Schema.Int,
    resent: Schema.Array(Schema.Int).annotate({ description: "Sequences that wait to be sent." }),
    missing: Schema.Array(Schema.Union([Schema.Int, Schema.String])).annotate({
      description: "Sequences and ids that the subscription did not get, or that are no longer stored."
    }),
    note: Field.optional(Schema.String.annotate({ description: "The reasons for missing ones." }))
  }),
  run: Effect.fnUntraced(function*(input, { caller }) {
    const { missing, sequences, subscription } = yield* Recovery.use((recovery) =>
      recovery.resend({ caller, ...input })
    )
    return {
      subscription: subscription.id,
      resent: sequences,
      missing,
      ...(missing.length > 0 && { note: missingNote })
    }
  })
})

const missingNote = "The subscription did not get the missing notifications, or they are no longer stored. " +
  "A delivered replay is not stored: hub.mode=replay sends the newest entries once more."

const notificationsCursor = makeCursor("notifications", Field.integer(0, Number.MAX_SAFE_INTEGER, ""))

const notifications = makeRoute({
  method: "GET",
  path: "/api/notifications",
  right: "retrieve",
  group,
  summary: "Reads the notifications of a subscription behind a sequence, delivered or not",
  input: Schema.Struct({
    ...Field.subscriptionName,
    after: Field.optional(
      Field.integer(0, Number.MAX_SAFE_INTEGER, "The last sequence that the receiver has; 0 by default.")
    ),
    limit: Field.limit,
    cursor: Field.cursor
  }),
  output: Schema.Struct({
    subscription: Schema.Int,
    notifications: Schema.Array(Schema.Struct({
      sequence: Schema.Int,
      id: Schema.String.annotate({ description: "X-Windhover-Notification-Id." }),
      recorded: Field.time,
      contentType: Schema.String,
      body: Field.optional(Schema.String.annotate({ description: "The body as it is sent, if it is UTF-8." })),
      base64: Field.optional(Schema.String.annotate({ description: "Any other body." }))
    })),
    last: Schema.Int.annotate({
      description: "The last sequence of the subscription. A missing one is no longer stored."
    }),
    next: Field.optional(Field.cursorText)
  }),
  run: Effect.fnUntraced(function*({ after, cursor, limit = Field.defaultLimit, ...name }, { caller }) {
    const position = yield* notificationsCursor.parse(cursor)
    const page = yield* Recovery.use((recovery) =>
      recovery.readNotifications({ caller, ...name, limit, after: position ?? after ?? 0 })
    )
    return {
      subscription: page.subscription.id,
      notifications: page.notifications.map(({ body, contentType, createdAt, id, sequence }) => ({
        sequence,
        id,
        recorded: Field.formatTime(createdAt),
        contentType,
        ...(isUtf8(body)
          ? { body: new TextDecoder("utf-8", { ignoreBOM: true }).decode(body) }
          : { base64: Buffer.from(body).toString("base64") })
      })),
      last: page.lastSequence,
      ...(page.next !== undefined && { next: notificationsCursor.format(page.next) })
    }
  })
})

/** True when text keeps the bytes, so that the receiver's check of a signature succeeds. */
const isUtf8 = (body: Uint8Array): boolean => {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(body)
    return true
  } catch {
    return false // other bytes
  }
}

const test = makeRoute({
  method: "POST",
  path: "/api/test",
  right: "subscribe",
  group,
  summary: "Sends a test notification to the callback of a subscription, or to any callback, and shows the answer",
  input: Schema.Struct({
    subscription: Field.optional(Field.subscriptionId),
    callback: Field.optional(Field.text(maxCallbackLength, "Instead of subscription.", "a URL")),
    secret: Field.optional(Field.text(200, "Signs the test, with callback.")),
    format: Field.optional(Field.word(["json", "atom"], "Format, with callback; Atom by default.")),
    topic: Field.optional(
      Field.text(
        maxTopicLength,
        "A topic of yours whose newest content is sent, with callback; otherwise a sample.",
        "a URL"
      )
    )
  }),
  output: Schema.Struct({
    id: Schema.String.annotate({ description: "X-Windhover-Notification-Id of the test." }),
    callback: Schema.String,
    topic: Schema.String,
    accepted: Schema.Boolean,
    code: Schema.Int.annotate({ description: "Status of the answer; 0 without an answer." }),
    message: Schema.String,
    reason: Field.optional(Schema.Literals(failureReasons)),
    milliseconds: Field.optional(Schema.Int),
    bytes: Field.optional(Schema.Int.annotate({ description: "Of the sent body." })),
    answer: Field.optional(Schema.String.annotate({ description: "First kilobyte of the answer's body." }))
  }),
  run: Effect.fnUntraced(function*(input, { caller }) {
    const { attempt, callback, id, topic } = yield* Recovery.use((recovery) => recovery.sendTest({ caller, ...input }))
    const { answer, bytes, code, latency, message, reason } = attempt
    return {
      id,
      callback,
      topic,
      accepted: reason === undefined,
      code,
      message,
      ...(reason !== undefined && { reason }),
      ...(latency !== undefined && { milliseconds: latency }),
      ...(bytes !== undefined && { bytes }),
      ...(answer !== undefined && { answer })
    }
  })
})

export const recoveryRoutes: ReadonlyArray<ManagementRoute<Recovery>> = [
  undelivered,
  recover,
  resend,
  test,
  notifications
]
