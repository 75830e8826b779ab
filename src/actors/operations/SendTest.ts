import { Clock, Effect, Option, Random } from "effect"
import { CallbackLimiter } from "#actors/limits/CallbackLimiter.ts"
import { countTest } from "#actors/runtime/Metrics.ts"
import type { Caller } from "#domain/Account.ts"
import * as Callback from "#domain/Callback.ts"
import {
  classifyStatus,
  describeFailedAttempt,
  describeSilence,
  describeSuccess,
  parcel,
  render
} from "#domain/delivery/Delivery.ts"
import type { AttemptResult, Delivery, Notification } from "#domain/delivery/Notification.ts"
import {
  markAsTest,
  sampleNotification,
  sampleTopic,
  testDelivery,
  testNotification
} from "#domain/delivery/TestNotification.ts"
import * as WebhookSecret from "#domain/delivery/WebhookSecret.ts"
import { isOwn } from "#domain/OwnAddress.ts"
import { Deliverer, type DeliveryError, type Parcel } from "#domain/ports/Deliverer.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { badParameter, type Refusal, refuseUnavailable } from "#domain/Refusal.ts"
import type { Subscription } from "#domain/Subscription.ts"
import * as Topic from "#domain/Topic.ts"
import { makeAccountLimit } from "./AccountLimit.ts"
import { makeCheckAddress } from "./CheckAddress.ts"
import { makeFindSubscription } from "./FindSubscription.ts"
import { makeParseTopic } from "./ParseTopic.ts"
import type { TestOutcome, TestRequest } from "./Recovery.ts"
import { makeRepresentations, refuseNotSubscribed } from "./Representations.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** Test notifications of one account. */
const testLimit = { burst: 10, perMinute: 10 }

/** Maximum wait for a turn at the host and for the answer, which takes 10 s at most. */
const patience = "30 seconds"

/** `Recovery.sendTest`: one marked notification to a callback, outside of the outbox, and the answer of the callback. */
export const makeSendTest = Effect.gen(function*() {
  const settings = yield* Settings
  const makeReceiver = yield* makeMakeReceiver
  const readNotification = yield* makeReadNotification
  const post = yield* makePost
  const limit = makeAccountLimit("test notifications are sent", testLimit)

  return Effect.fn("Recovery.sendTest")(function*(request: TestRequest): Effect.fn.Return<TestOutcome, Refusal> {
    const { caller } = request
    const receiver = yield* makeReceiver(request)
    const notification = yield* readNotification(caller, receiver)
    yield* limit(caller)
    const id = `test-${(yield* Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER)).toString(36)}`
    const delivery = testDelivery(notification, receiver, caller.account.credits)
    const rendered = render(notification, receiver, settings)
    const test = markAsTest(parcel(receiver, delivery, rendered, settings, notification.createdAt), id)
    const attempt = yield* post(test, delivery, receiver)
    yield* countTest(1)
    return { id, callback: receiver.endpoint, topic: receiver.topic, attempt }
  })
})

/** Makes the subscription that a test stands for: a stored one, or one of the request's callback. */
const makeMakeReceiver = Effect.gen(function*() {
  const findSubscription = yield* makeFindSubscription
  const checkAddress = yield* makeCheckAddress
  const { baseUrl } = yield* Settings

  const fromCallback = Effect.fnUntraced(
    function*({ callback, caller, format, secret, topic }: TestRequest & { readonly callback: string }) {
      const { given, host } = yield* Effect.fromResult(Callback.parse(callback, "callback"))
      if (isOwn(given, baseUrl)) {
        return yield* badParameter(
          "callback",
          `callback is an address of Windhover itself: received ${Topic.quote(given)}.`
        )
      }
      yield* checkAddress(given, "callback")
      if (secret !== undefined) yield* Effect.fromResult(WebhookSecret.check(secret, "secret"))
      return {
        id: 0,
        accountId: caller.account.id,
        resourceId: 0,
        topic: topic ?? sampleTopic(baseUrl),
        channel: "webhook",
        endpoint: given,
        host,
        ...(format !== undefined && { format }),
        ...(secret !== undefined && { secret }),
        face: "api",
        state: "active",
        createdAt: 0
      } satisfies Subscription
    }
  )

  return Effect.fnUntraced(function*(request: TestRequest): Effect.fn.Return<Subscription, Refusal> {
    const { callback, caller, subscription: id } = request
    if (id === undefined) {
      return callback === undefined
        ? yield* badParameter(
          "callback",
          "Please provide callback, the URL that gets the test, or subscription, the id of one."
        )
        : yield* fromCallback({ ...request, callback })
    }
    const extra = (["callback", "topic", "secret", "format"] as const).find((name) => request[name] !== undefined)
    if (extra !== undefined) {
      return yield* badParameter(extra, `${extra} cannot be sent with subscription, which has its own.`)
    }
    const subscription = yield* findSubscription(caller, { subscription: id })
    if (subscription.unreadable !== undefined) {
      return yield* badParameter("subscription", `The stored secret cannot be decrypted. ${subscription.unreadable}`)
    }
    return subscription.channel === "webhook"
      ? subscription
      : yield* badParameter("subscription", `The subscription ${id} has no callback; only a webhook can be tested.`)
  })
})

/** Reads the newest content of the receiver's topic; a sample without a stored entry, or for the topic of a sample. */
const makeReadNotification = Effect.gen(function*() {
  const resources = yield* ResourceStore
  const parseTopic = yield* makeParseTopic
  const { readResource } = yield* makeRepresentations
  const { baseUrl } = yield* Settings
  return Effect.fnUntraced(
    function*(caller: Caller, { format, topic }: Subscription): Effect.fn.Return<Notification, Refusal> {
      const now = yield* Clock.currentTimeMillis
      if (topic === sampleTopic(baseUrl)) return sampleNotification(now)
      const { canonical } = yield* parseTopic(topic, caller, "topic")
      const found = yield* refuseStoreErrors(resources.findSubscribed(caller.account.id, canonical, 0))
      if (Option.isNone(found)) {
        return yield* refuseNotSubscribed(
          `You are not subscribed to ${Topic.quote(topic)}; leave topic out for a test with a sample.`
        )
      }
      const { document, entries, header, status } = yield* readResource(found.value.resource, format, topic, {
        count: 1
      })
      if (document === undefined && entries.length === 0) return sampleNotification(now)
      return testNotification({
        status,
        ...(header !== undefined && { header }),
        news: document === undefined ? { _tag: "Entries", entries } : { _tag: "Document", document }
      }, now)
    }
  )
})

/** Posts in turn with the deliveries to the same host. Guard and timeout are those of every delivery. */
const makePost = Effect.gen(function*() {
  const deliverer = yield* Deliverer
  const limiter = yield* CallbackLimiter
  return Effect.fnUntraced(
    function*(test: Parcel, delivery: Delivery, receiver: Subscription): Effect.fn.Return<AttemptResult, Refusal> {
      const bytes = test.body.length
      return yield* limiter.run(receiver.host, { speed: "unknown" }, deliverer.post(test)).pipe(
        Effect.flatMap((answer) =>
          Effect.map(Clock.currentTimeMillis, (now) =>
            classifyStatus(answer.status) === "delivered"
              ? describeSuccess(answer, bytes)
              : describeFailedAttempt(answer, delivery, receiver, now, bytes))
        ),
        Effect.catch((error) => describeError(error, bytes)),
        Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.fail(busyHost) })
      )
    }
  )
})

const describeError = ({ message, reason: { _tag } }: DeliveryError, bytes: number) =>
  _tag === "LeaseLost"
    ? Effect.fail(busyHost)
    : Effect.succeed(describeSilence({ message, reason: { _tag } }, bytes))

const busyHost = refuseUnavailable("Too many deliveries wait for the host of the callback. Please try again.", 30)
