import { Effect } from "effect"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { countResent } from "#actors/runtime/Metrics.ts"
import { type NotificationName, Redelivery } from "#domain/ports/Redelivery.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { quote } from "#domain/Topic.ts"
import { makeAccountLimit } from "./AccountLimit.ts"
import { makeFindSubscription, namesSubscription } from "./FindSubscription.ts"
import type { ResendRequest } from "./Recovery.ts"
import { refuseNotSubscribed } from "./Representations.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** Notifications that one account sends again. */
const resendLimit = { burst: 200, perMinute: 60 }

/** Maximum of notifications in one request. */
export const maxResent = 100

/** `Recovery.resend`: sends single notifications once more, delivered ones as well. */
export const makeResend = Effect.gen(function*() {
  const partitions = yield* Partitions
  const redelivery = yield* Redelivery
  const findSubscription = yield* makeFindSubscription
  const limit = makeAccountLimit("notifications are sent again", resendLimit)

  const resend = Effect.fnUntraced(function*(subscription: Subscription, names: ReadonlyArray<NotificationName>) {
    const resent = yield* refuseStoreErrors(redelivery.resend(subscription.id, names))
    if (resent !== undefined && resent.sequences.length > 0) {
      yield* partitions.reloadSubscription(resent.partition, subscription.id)
    }
    return resent
  }, Effect.uninterruptible)

  return Effect.fn("Recovery.resend")(function*({ caller, ids = [], sequences = [], ...name }: ResendRequest) {
    const parsed = yield* Effect.forEach(ids, parseId)
    const [first] = parsed
    const subscription = yield* findSubscription(
      caller,
      first !== undefined && !namesSubscription(name) ? { subscription: first.subscription } : name
    )
    for (const { id, subscription: named } of parsed) {
      if (named !== subscription.id) {
        return yield* badParameter(
          "ids",
          `ids has ${quote(id)}, which is no notification of subscription ${subscription.id}.`
        )
      }
    }
    if (subscription.state !== "active") {
      return yield* badParameter(
        "subscription",
        `The subscription ${subscription.id} is ${subscription.state}; nothing is sent to it.`
      )
    }
    const names = [...sequences.map((sequence) => ({ sequence })), ...parsed.map(({ name }) => name)]
    if (names.length === 0 || names.length > maxResent) {
      return yield* badParameter(
        "sequences",
        `Please provide 1 to ${maxResent} notifications, by sequences or by ids; received ${names.length}.`
      )
    }
    yield* limit(caller, names.length)
    const resent = yield* resend(subscription, names)
    if (resent === undefined) {
      return yield* refuseNotSubscribed(`The subscription ${subscription.id} has ended meanwhile.`)
    }
    yield* countResent(resent.sequences.length)
    return { subscription, sequences: resent.sequences, missing: resent.missing.map(formatName(subscription)) }
  })
})

const idPattern = /^(\d{1,15})-(\d{1,15})(?:-(\d{1,15}))?$/

/** Parses an `X-Windhover-Notification-Id`, see `formatNotificationId`. */
const parseId = (
  id: string
): Effect.Effect<{ readonly id: string; readonly subscription: number; readonly name: NotificationName }, Refusal> => {
  const [, notification, subscription, sequence] = idPattern.exec(id) ?? []
  return notification === undefined
    ? Effect.fail(
      badParameter(
        "ids",
        `ids has ${quote(id)}, which is no X-Windhover-Notification-Id; such an id reads 1203-7 or 1203-7-41.`
      )
    )
    : Effect.succeed({
      id,
      subscription: Number(subscription),
      name: {
        notificationId: Number(notification),
        ...(sequence !== undefined && { sequence: Number(sequence) })
      }
    })
}

/** A name as the caller gave it: a sequence, or an id. */
const formatName = ({ id }: Subscription) => ({ notificationId, sequence }: NotificationName): number | string =>
  notificationId === undefined
    ? sequence ?? 0
    : [notificationId, id, ...(sequence === undefined ? [] : [sequence])].join("-")
