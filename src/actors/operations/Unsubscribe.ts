import { Effect } from "effect"
import * as Callback from "#domain/Callback.ts"
import { isOwn } from "#domain/OwnAddress.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import type { Subscription } from "#domain/Subscription.ts"
import * as Topic from "#domain/Topic.ts"
import { makeApiVerification, requestedVerification } from "./ApiVerification.ts"
import type { UnsubscribeRequest } from "./Hub.ts"
import { OpenHub } from "./OpenHub.ts"
import { makeParseTopic } from "./ParseTopic.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"
import { makeBackground, makeSubscriptionWriter } from "./SubscriptionWriter.ts"

/** `Hub.unsubscribe`: ends one subscription, after a verification where the request asks for one. */
export const makeUnsubscribe = Effect.gen(function*() {
  const subscriptions = yield* SubscriptionStore
  const openHub = yield* OpenHub
  const parseTopic = yield* makeParseTopic
  const verification = yield* makeApiVerification
  const { baseUrl } = yield* Settings
  const writer = yield* makeSubscriptionWriter(yield* makeBackground)

  return Effect.fn("Hub.unsubscribe")(function*(request: UnsubscribeRequest) {
    if (request.face === "hub") return yield* openHub.unsubscribe(request)
    const topic = yield* parseTopic(request.topic, request.caller)
    const known = yield* refuseStoreErrors(subscriptions.findByTopic(request.caller.account.id, topic.canonical))
    const partition = Topic.partitionOf(topic.host)
    const unknown = findUnknown(request, topic, known, baseUrl)
    if (unknown !== undefined) {
      if (request.verify === "async") return yield* verification.unsubscribeLater(request, unknown)
      yield* verification.now(request, unknown.endpoint, "unsubscribe")
      return "done" as const
    }
    const subscription = yield* selectSubscription(request, known.filter(({ face }) => face === request.face))
    const requested = requestedVerification(request, subscription)
    if (requested === "async") {
      return yield* verification.unsubscribeLater(request, { ...subscription, topic, partition })
    }
    if (requested === "sync") yield* verification.now(request, subscription.endpoint, "unsubscribe")
    yield* writer.remove(subscription, partition)
    return "done" as const
  })
})

/**
 * The unknown subscription of a request with `hub.verify`; undefined for a known one, or without a callback to ask.
 *
 * Windhover asks the callback as for a known subscription, because published clients expect the same answer from each hub.
 */
const findUnknown = (
  { callback, caller, face, verify }: UnsubscribeRequest,
  topic: Topic.Topic,
  known: ReadonlyArray<Subscription>,
  baseUrl: string
): NewSubscription | undefined => {
  if (callback === undefined || verify === undefined || known.some(({ endpoint }) => endpoint === callback)) {
    return undefined
  }
  const parsed = Callback.parse(callback)
  if (parsed._tag === "Failure" || isOwn(callback, baseUrl)) return undefined
  return {
    accountId: caller.account.id,
    topic,
    partition: Topic.partitionOf(topic.host),
    channel: "webhook",
    endpoint: callback,
    host: parsed.success.host,
    face,
    state: "active"
  }
}

/** The subscription of the named callback, or the only subscription. */
const selectSubscription = (
  { callback, topic, verify }: UnsubscribeRequest,
  known: ReadonlyArray<Subscription>
): Effect.Effect<Subscription, Refusal> => {
  if (callback !== undefined) {
    const found = known.find(({ endpoint }) => endpoint === callback)
    return found !== undefined ? Effect.succeed(found) : refuseParameter(
      "hub.callback",
      `You are not subscribed to ${Topic.quote(topic)} with the callback ${
        Topic.quote(callback)
      }: there is nothing to unsubscribe.`
    )
  }
  const [only, second] = known
  if (only === undefined) {
    return refuseParameter(
      "hub.topic",
      `You are not subscribed to ${Topic.quote(topic)}: there is nothing to unsubscribe.`
    )
  }
  if (verify !== undefined) {
    return refuseParameter("hub.callback", "Please provide a hub.callback: it is needed with hub.verify.")
  }
  return second === undefined ? Effect.succeed(only) : refuseParameter(
    "hub.callback",
    `You have ${known.length} subscriptions to ${
      Topic.quote(topic)
    }: please provide the hub.callback of the one to end.`
  )
}

const refuseParameter = (parameter: string, message: string) => Effect.fail(badParameter(parameter, message))
