import { Clock, Effect, Layer, Option } from "effect"
import type { Caller } from "#domain/Account.ts"
import {
  type LoggedAttempt,
  type LoggedDenial,
  maxRecordings,
  parseLogId,
  parsePosition
} from "#domain/delivery/DeliveryLogEntry.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter, refuseThrottled } from "#domain/Refusal.ts"
import { minuteMs } from "#domain/Time.ts"
import * as Topic from "#domain/Topic.ts"
import { maskCredentials } from "#domain/UrlCredentials.ts"
import { type DeliveriesRequest, DeliveryReports } from "./DeliveryReports.ts"
import { makeFindSubscription, type SubscriptionName } from "./FindSubscription.ts"
import { makeMayRead, makeParseTopic } from "./ParseTopic.ts"
import { refuseNotSubscribed } from "./Representations.ts"
import { requestOf } from "./SentRequest.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

export const layer = Layer.effect(
  DeliveryReports,
  Effect.gen(function*() {
    return DeliveryReports.of({ list: yield* makeList, show: yield* makeShow, record: yield* makeRecord })
  })
)

/** The account whose events the caller reads; undefined for all accounts. */
const accountOf = ({ caller, ofAll }: { readonly caller: Caller; readonly ofAll?: boolean }) =>
  ofAll === true ? {} : { accountId: caller.account.id }

/** The event as operators of other accounts read it: without passwords in its URLs. */
const maskUrls = <E extends LoggedAttempt | LoggedDenial>(event: E): E => ({
  ...event,
  topic: maskCredentials(event.topic),
  endpoint: maskCredentials(event.endpoint)
})

const makeList = Effect.gen(function*() {
  const log = yield* DeliveryLog
  const parseTopic = yield* makeParseTopic
  return Effect.fn("DeliveryReports.list")(
    function*({ caller, ofAll = false, topic: given, ...query }: DeliveriesRequest) {
      if (query.after !== undefined && parsePosition(query.after) === undefined) {
        return yield* badParameter("cursor", `cursor is not one of this list: received ${Topic.quote(query.after)}.`)
      }
      const topic = given === undefined
        ? undefined
        : { given, canonical: (yield* parseTopic(given, caller, "topic")).canonical }
      const page = yield* refuseStoreErrors(
        log.list({ ...query, ...accountOf({ caller, ofAll }), ...(topic !== undefined && { topic }) })
      )
      return ofAll ? { ...page, items: page.items.map(maskUrls) } : page
    }
  )
})

const makeShow = Effect.gen(function*() {
  const log = yield* DeliveryLog
  const subscriptions = yield* SubscriptionStore
  const settings = yield* Settings
  const mayRead = yield* makeMayRead
  return Effect.fn("DeliveryReports.show")(
    function*(request: { readonly caller: Caller; readonly ofAll?: boolean; readonly id: string }) {
      const place = parseLogId(request.id)
      const found = place === undefined
        ? Option.none()
        : yield* refuseStoreErrors(log.find(place, accountOf(request).accountId))
      if (Option.isNone(found)) {
        return yield* refuseNotSubscribed(
          `There is no logged delivery ${Topic.quote(request.id)}; a later one may have its place.`
        )
      }
      const { delivery } = found.value
      const event = request.ofAll === true ? maskUrls(found.value.event) : found.value.event
      const subscription = delivery === undefined
        ? undefined
        : Option.getOrUndefined(yield* refuseStoreErrors(subscriptions.load(delivery.subscriptionId)))
      return delivery === undefined || subscription?.channel !== "webhook"
          || !mayRead(request.caller, subscription)
        ? { event }
        : { event, request: requestOf(subscription, delivery, settings) }
    }
  )
})

const makeRecord = Effect.gen(function*() {
  const log = yield* DeliveryLog
  const findSubscription = yield* makeFindSubscription
  return Effect.fn("DeliveryReports.record")(
    function*({ caller, minutes, ...name }: SubscriptionName & { readonly caller: Caller; readonly minutes: number }) {
      const subscription = yield* findSubscription(caller, name)
      const until = (yield* Clock.currentTimeMillis) + minutes * minuteMs
      const target = { accountId: caller.account.id, subscriptionId: subscription.id }
      const started = yield* refuseStoreErrors(log.startRecording(target, until))
      if (started === "unknown") {
        return yield* refuseNotSubscribed(`The subscription ${subscription.id} has ended meanwhile.`)
      }
      if (started === "too-many") {
        return yield* refuseThrottled(
          `All attempts of ${maxRecordings} subscriptions are recorded already; try again when a recording has ended.`,
          60
        )
      }
      return { subscription, until }
    }
  )
})
