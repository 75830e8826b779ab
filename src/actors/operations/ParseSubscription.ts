import { Clock, Effect } from "effect"
import * as Callback from "#domain/Callback.ts"
import * as OwnHeaders from "#domain/delivery/OwnHeaders.ts"
import * as WebhookSecret from "#domain/delivery/WebhookSecret.ts"
import * as Labels from "#domain/Labels.ts"
import { isNullDevice, isOwn, nullLease } from "#domain/OwnAddress.ts"
import { firstPeriod } from "#domain/poll/PollingInterval.ts"
import { Settings } from "#domain/ports/Settings.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import type { Refusal } from "#domain/Refusal.ts"
import * as Topic from "#domain/Topic.ts"
import { maximumOf } from "./AccountSubscriptions.ts"
import { makeCheckAddress } from "./CheckAddress.ts"
import { makeCheckFragment } from "./CheckFragment.ts"
import type { SubscribeRequest } from "./Hub.ts"
import { refuseOwnAddress } from "./OpenHub.ts"
import { makeParseTopic } from "./ParseTopic.ts"

/** Checks topic, fragment and callback of a request of the API face, and the addresses of both. */
export const makeParseSubscription = Effect.gen(function*() {
  const parseTopic = yield* makeParseTopic
  const checkAddress = yield* makeCheckAddress
  const checkFragment = yield* makeCheckFragment
  const { baseUrl, headerPrefix, minPeriodSeconds } = yield* Settings
  return Effect.fnUntraced(function*(request: SubscribeRequest): Effect.fn.Return<NewSubscription, Refusal> {
    const topic = yield* parseTopic(request.topic, request.caller)
    if (request.secret !== undefined) yield* Effect.fromResult(WebhookSecret.check(request.secret))
    const headers = request.headers && (yield* Effect.fromResult(OwnHeaders.check(request.headers, headerPrefix)))
    const labels = request.labels && (yield* Effect.fromResult(Labels.check(request.labels, "hub.label")))
    yield* checkFragment(topic)
    const callback = yield* Effect.fromResult(Callback.parse(request.callback))
    const channel = isNullDevice(callback.given, baseUrl) ? "null" : "webhook"
    const lease = channel === "null" ? nullLease(callback.given) : undefined
    if (channel === "webhook" && isOwn(callback.given, baseUrl)) return yield* refuseOwnAddress(callback.given)
    yield* checkAddress(topic.canonical, "hub.topic")
    if (channel === "webhook") yield* checkAddress(callback.given, "hub.callback")
    return {
      accountId: request.caller.account.id,
      ...maximumOf(request.caller),
      topic,
      partition: Topic.partitionOf(topic.host),
      periodSeconds: firstPeriod(topic.canonical, minPeriodSeconds),
      channel,
      endpoint: callback.given,
      host: callback.host,
      ...(request.format === undefined ? {} : { format: request.format }),
      ...(request.feedsOnly === true && { feedsOnly: true }),
      ...(request.secret === undefined ? {} : { secret: request.secret }),
      ...(request.retry === undefined ? {} : { retry: request.retry }),
      ...(request.secretGraceSeconds === undefined ? {} : { secretGraceSeconds: request.secretGraceSeconds }),
      ...(headers === undefined ? {} : { headers }),
      ...(labels === undefined ? {} : { labels }),
      face: request.face,
      state: "active",
      ...(lease !== undefined && { leaseUntil: (yield* Clock.currentTimeMillis) + lease * 1000 })
    }
  })
})
