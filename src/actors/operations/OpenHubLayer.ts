import { Clock, Effect, Layer, Option } from "effect"
import { anonymous } from "#domain/Account.ts"
import * as Callback from "#domain/Callback.ts"
import * as WebhookSecret from "#domain/delivery/WebhookSecret.ts"
import { networksOf, ownerOf } from "#domain/limits/IpNetwork.ts"
import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"
import { AddressCheck } from "#domain/ports/AddressCheck.ts"
import { grantLease, hasLeaseEnded } from "#domain/websub/Lease.ts"
import { isOwn } from "#domain/OwnAddress.ts"
import { DiskRoom } from "#domain/ports/DiskRoom.ts"
import {
  quotaKeyOf,
  type Verification,
  type VerificationLane,
  type VerificationOrigin,
  VerificationQueue
} from "#domain/ports/VerificationQueue.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter, type Refusal, refuseThrottled, refuseUnavailable } from "#domain/Refusal.ts"
import * as Topic from "#domain/Topic.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { IntentVerification } from "./IntentVerification.ts"
import { makeCheckAddress } from "./CheckAddress.ts"
import { makeCheckFragment } from "./CheckFragment.ts"
import type { SubscribeRequest, UnsubscribeRequest } from "./Hub.ts"
import { OpenHub, refuseOwnAddress } from "./OpenHub.ts"
import { refuseStrangersEvents } from "./ParseTopic.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"
import { StrangersTurns } from "./StrangersTurns.ts"
import { makeRecordDenied } from "./RecordDenial.ts"
import { makeSubscriptionLimits } from "./SubscriptionLimits.ts"

/**
 * Verifications that clients wait for (`hub.verify=sync`), in this process: of one address, of one network, and of all together.
 * The database counts all other verifications, over all runners.
 */
const maxSyncPerAddress = 8
const maxSyncPerNetwork = 16
const maxSync = 128

export const layer = Layer.effect(
  OpenHub,
  Effect.gen(function*() {
    const enqueue = yield* makeEnqueue
    const laneOf = yield* makeLaneOf
    const { checkNetworkLimit, checkSiteLimit } = yield* makeSubscriptionLimits
    const findOrigin = yield* makeFindOrigin
    const checkAddress = yield* makeCheckAddress
    const checkFragment = yield* makeCheckFragment
    const queue = yield* VerificationQueue
    const { baseUrl } = yield* Settings
    const diskRoom = yield* DiskRoom
    const turns = yield* StrangersTurns

    /** Checks the limits of a new subscription, and returns its lane; undefined without a row. */
    const checkLimits = Effect.fnUntraced(function*(subscription: NewSubscription, { target }: VerificationOrigin) {
      const lane = yield* laneOf(subscription)
      if (lane !== undefined) return lane
      yield* checkSiteLimit(subscription)
      yield* checkNetworkLimit(target)
      return undefined
    })

    const subscribe = Effect.fn("OpenHub.subscribe")(function*(request: SubscribeRequest) {
      const subscription = yield* parse(request, request.callback)
      yield* refuseStrangersEvents(subscription.topic, baseUrl)
      if (isOwn(subscription.endpoint, baseUrl)) return yield* refuseOwnAddress(subscription.endpoint)
      yield* checkAddress(subscription.topic.canonical, "hub.topic")
      yield* checkAddress(subscription.endpoint, "hub.callback")
      yield* checkFragment(subscription.topic)
      const origin = yield* findOrigin(subscription, request.address)
      const lane = yield* turns.run(origin.network, checkLimits(subscription, origin))
      if (lane !== "confirmed" && !diskRoom.forStrangers()) return yield* refuseFullDisk
      const leaseSeconds = grantLease(request.leaseSeconds)
      const asked = origin.network === "" ? subscription : { ...subscription, asker: origin.network }
      const verification = { mode: "subscribe" as const, subscription: asked, leaseSeconds, ...tokenOf(request) }
      return yield* enqueue(verification, lane ?? "new", request, origin)
    })

    const unsubscribe = Effect.fn("OpenHub.unsubscribe")(function*(request: UnsubscribeRequest) {
      const subscription = yield* parse(request, request.callback ?? "")
      const origin = yield* findOrigin(subscription, request.address)
      const lane = yield* turns.run(origin.network, laneOf(subscription))
      // a waiting subscribe can be taken back as well
      if (lane === undefined && !(yield* refuseStoreErrors(queue.contains(subscription)))) {
        return yield* refuseNotSubscribed(subscription)
      }
      const verification = { mode: "unsubscribe" as const, subscription, ...tokenOf(request) }
      return yield* enqueue(verification, lane ?? "new", request, origin)
    })

    return OpenHub.of({ subscribe, unsubscribe })
  })
)

/** A subscriber of PubSubHubbub 0.3 may wait for the verification (`sync`). All other outcomes go to the callback. */
const makeEnqueue = Effect.gen(function*() {
  const queue = yield* VerificationQueue
  const verification = yield* IntentVerification
  const { hubQuestionsPerMinute } = yield* Settings
  const awaitFirstDocument = yield* makeAwaitFirstDocument
  const recordDenied = yield* makeRecordDenied
  const withSyncSlot = makeSyncSlots()
  const turns = yield* StrangersTurns
  return Effect.fnUntraced(
    function*(
      queued: Verification,
      lane: VerificationLane,
      request: SubscribeRequest | UnsubscribeRequest,
      found: VerificationOrigin
    ) {
      const { host } = queued.subscription
      const origin = lane === "confirmed" ? { ...found, target: `confirmed ${found.target}` } : found
      if (request.verify === "sync") {
        const quota = { site: quotaKeyOf(lane, queued.subscription), target: origin.target }
        yield* withSyncSlot(
          origin,
          Effect.gen(function*() {
            const wait = yield* refuseStoreErrors(queue.reserve(quota, hubQuestionsPerMinute))
            if (wait > 0) return yield* refuseBusySite(host, wait / 1000)
            const verified = verification.verify(queued)
            yield* queued.mode === "subscribe" ? recordDenied(queued.subscription, verified) : verified
            yield* awaitFirstDocument(queued)
          })
        )
        return "done" as const
      }
      const added = yield* turns.run(origin.network, refuseStoreErrors(queue.add(queued, lane, origin)))
      if (added === "site-full") return yield* refuseBusySite(host, 60)
      if (added === "asker-full") return yield* refuseBusyAsker(60)
      if (added === "lane-full") return yield* refuseBusyHub
      yield* verification.wake
      return "pending" as const
    }
  )
})

/** Waits for the first document of a new subscription, at most 5 s. Each change after the answer is then news. */
const makeAwaitFirstDocument = Effect.gen(function*() {
  const resources = yield* ResourceStore
  const partitions = yield* Partitions
  return Effect.fnUntraced(function*({ mode, subscription: { topic } }: Verification) {
    if (mode !== "subscribe") return
    const resource = Option.getOrUndefined(yield* refuseStoreErrors(resources.find(topic.canonical)))
    if (resource === undefined || resource.lastFetch !== undefined) return
    yield* Effect.ignore(partitions.firstFetch(resource.partition, resource.id))
  })
})

/** Returns a function that finds the keys by which a request is counted. Names under one resolved network share a target. */
const makeFindOrigin = Effect.map(
  AddressCheck,
  ({ resolveNetworks }) =>
    Effect.fnUntraced(
      function*({ endpoint }: NewSubscription, address = ""): Effect.fn.Return<VerificationOrigin> {
        const asker = networksOf(address) ?? { host: address, customer: address }
        const target = (yield* resolveNetworks(endpoint))?.customer ?? "unresolved"
        return { asker: asker.host, network: asker.customer, target }
      }
    )
)

/** Returns a function that runs a verification while its client waits, within the limits of the client's address and network. */
const makeSyncSlots = () => {
  const addresses = new KeyedCounter({ maxPerKey: maxSyncPerAddress, maxTotal: maxSync })
  const networks = new KeyedCounter({ maxPerKey: maxSyncPerNetwork })
  return <A>({ asker, network }: VerificationOrigin, verify: Effect.Effect<A, Refusal>): Effect.Effect<A, Refusal> =>
    Effect.acquireUseRelease(
      Effect.suspend(() => {
        if (!addresses.hasRoom(asker) || !networks.tryAdd(network)) return refuseBusyAsker(10)
        addresses.tryAdd(asker)
        return Effect.void
      }),
      () => verify,
      () =>
        Effect.sync(() => {
          addresses.remove(asker)
          networks.remove(network)
        })
    )
}

/** The lane of a subscription; undefined without a row. */
const makeLaneOf = Effect.map(
  SubscriptionStore,
  (subscriptions) =>
    Effect.fnUntraced(
      function*(subscription: NewSubscription): Effect.fn.Return<VerificationLane | undefined, Refusal> {
        const known = Option.getOrUndefined(yield* refuseStoreErrors(subscriptions.find(subscription)))
        if (known === undefined) return undefined
        const isConfirmed = known.state !== "pending" && !hasLeaseEnded(known, yield* Clock.currentTimeMillis)
        return isConfirmed ? "confirmed" : "new"
      }
    )
)

const tokenOf = ({ verifyToken }: SubscribeRequest | UnsubscribeRequest) =>
  verifyToken === undefined ? {} : { verifyToken }

const parse = Effect.fnUntraced(function*(
  request: Pick<SubscribeRequest, "topic" | "secret" | "secretGraceSeconds" | "signature" | "retry">,
  given: string
): Effect.fn.Return<NewSubscription, Refusal> {
  const topic = yield* Effect.fromResult(Topic.parse(request.topic))
  const callback = yield* Effect.fromResult(Callback.parse(given))
  if (request.secret !== undefined) yield* Effect.fromResult(WebhookSecret.check(request.secret))
  return {
    accountId: anonymous.account.id,
    topic,
    partition: Topic.partitionOf(topic.host),
    channel: "webhook",
    endpoint: callback.given,
    host: callback.host,
    ...(request.secret === undefined ? {} : { secret: request.secret }),
    ...(request.secretGraceSeconds === undefined ? {} : { secretGraceSeconds: request.secretGraceSeconds }),
    ...(request.signature === undefined ? {} : { signature: request.signature }),
    ...(request.retry === undefined ? {} : { retry: request.retry }),
    face: "hub",
    state: "active"
  }
})

const throttle = (message: string, retryAfter: number) => Effect.fail(refuseThrottled(message, retryAfter))

const refuseBusySite = (host: string, retryAfter: number) =>
  throttle(
    `The callbacks on ${
      ownerOf(host)
    } have been asked too often, or too many questions to them wait; an open hub asks a few times a minute only. Try again later.`,
    retryAfter
  )

const refuseBusyAsker = (retryAfter: number) =>
  throttle("Too many requests of your network wait for their callbacks on this hub. Try again later.", retryAfter)

const refuseFullDisk = Effect.fail(
  refuseUnavailable(
    "The disk of this hub is nearly full: it accepts no new subscription for now. Try again later.",
    3_600
  )
)

const refuseBusyHub = throttle("Too many verifications wait on this hub. Try again later.", 60)

const refuseNotSubscribed = ({ endpoint, topic }: NewSubscription) =>
  Effect.fail(
    badParameter(
      "hub.callback",
      `${Topic.quote(endpoint)} is not subscribed to ${
        Topic.quote(topic.given)
      } on this hub: there is nothing to unsubscribe.`
    )
  )
