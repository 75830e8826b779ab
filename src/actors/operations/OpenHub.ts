import { Clock, Context, Effect, Layer, Option } from "effect"
import { anonymous } from "#domain/Account.ts"
import * as Callback from "#domain/Callback.ts"
import { grantLease, hasLeaseEnded } from "#domain/websub/Lease.ts"
import { isOwn } from "#domain/OwnAddress.ts"
import {
  quotaKeyOf,
  type Verification,
  type VerificationLane,
  VerificationQueue
} from "#domain/ports/VerificationQueue.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter, type Refusal, refuse, Throttled } from "#domain/Refusal.ts"
import * as Topic from "#domain/Topic.ts"
import { IntentVerification } from "./IntentVerification.ts"
import { makeCheckFragment } from "./CheckFragment.ts"
import type { SubscribeRequest, UnsubscribeRequest } from "./Hub.ts"
import { refuseStoreErrors } from "./Refusing.ts"

/** Seconds after which a site with too many subscriptions may look whether some of them have ended. */
const lookAgain = 3_600

/** The hub face: nobody has an account, so that the callback is asked about everything, in its turn. */
export class OpenHub extends Context.Service<OpenHub, {
  readonly subscribe: (request: SubscribeRequest) => Effect.Effect<"done" | "pending", Refusal>
  readonly unsubscribe: (request: UnsubscribeRequest) => Effect.Effect<"done" | "pending", Refusal>
}>()("windhover/actors/operations/OpenHub") {}

export const layer = Layer.effect(
  OpenHub,
  Effect.gen(function*() {
    const subscriptions = yield* SubscriptionStore
    const queue = yield* VerificationQueue
    const asking = yield* IntentVerification
    const checkFragment = yield* makeCheckFragment
    const { baseUrl, hubQuestionsPerMinute, hubSubscriptionsPerSite } = yield* Settings

    /** PubSubHubbub 0.3 lets the subscriber wait for the outcome; everybody else has it told to the callback. */
    const put = Effect.fnUntraced(
      function*(question: Verification, lane: VerificationLane, verify: "sync" | "async" | undefined) {
        const site = Topic.siteOf(question.subscription.host)
        if (verify === "sync") {
          const wait = yield* refuseStoreErrors(
            queue.takeTurn(quotaKeyOf(lane, question.subscription), hubQuestionsPerMinute)
          )
          if (wait > 0) return yield* askedOften(site, wait / 1000)
          yield* asking.verify(question)
          return "done" as const
        }
        const added = yield* refuseStoreErrors(queue.add(question, lane))
        if (added === "place-full") return yield* askedOften(site, 60)
        if (added === "full") return yield* busy
        yield* asking.wake
        return "pending" as const
      }
    )

    /** Of the site, since whoever has a domain has any number of hosts. */
    const checkRoom = Effect.fnUntraced(function*({ host }: NewSubscription) {
      const site = Topic.siteOf(host)
      const standing = yield* refuseStoreErrors(subscriptions.countOnSite(site, hubSubscriptionsPerSite))
      if (standing >= hubSubscriptionsPerSite) {
        return yield* throttled(
          `The callbacks on ${site} have ${standing} subscriptions; no more are accepted on this hub. Unsubscribe some.`,
          lookAgain
        )
      }
    })

    /** Undefined: nothing is known of it. */
    const laneOf = Effect.fnUntraced(
      function*(wanted: NewSubscription): Effect.fn.Return<VerificationLane | undefined, Refusal> {
        const known = Option.getOrUndefined(yield* refuseStoreErrors(subscriptions.find(wanted)))
        if (known === undefined) return undefined
        const stands = known.state !== "pending" && !hasLeaseEnded(known, yield* Clock.currentTimeMillis)
        return stands ? "standing" : "strangers"
      }
    )

    const subscribe = Effect.fn("OpenHub.subscribe")(function*(request: SubscribeRequest) {
      const wanted = yield* wantedBy(request, request.callback)
      if (isOwn(wanted.endpoint, baseUrl)) return yield* refuseOwnAddress(wanted.endpoint)
      yield* checkFragment(wanted.topic)
      const known = yield* laneOf(wanted)
      if (known === undefined) yield* checkRoom(wanted)
      return yield* put(
        {
          mode: "subscribe",
          subscription: wanted,
          leaseSeconds: grantLease(request.leaseSeconds),
          ...(request.verifyToken === undefined ? {} : { verifyToken: request.verifyToken })
        },
        known ?? "strangers",
        request.verify
      )
    })

    const unsubscribe = Effect.fn("OpenHub.unsubscribe")(function*(request: UnsubscribeRequest) {
      const wanted = yield* wantedBy(request, request.callback ?? "")
      const known = yield* laneOf(wanted)
      // a subscribe that waits may be taken back as well
      if (known === undefined && !(yield* refuseStoreErrors(queue.contains(wanted)))) {
        return yield* notSubscribed(wanted)
      }
      return yield* put(
        {
          mode: "unsubscribe",
          subscription: wanted,
          ...(request.verifyToken === undefined ? {} : { verifyToken: request.verifyToken })
        },
        known ?? "strangers",
        request.verify
      )
    })

    return OpenHub.of({ subscribe, unsubscribe })
  })
)

const wantedBy = Effect.fnUntraced(function*(
  request: Pick<SubscribeRequest, "topic" | "secret" | "signature">,
  given: string
): Effect.fn.Return<NewSubscription, Refusal> {
  const topic = yield* Effect.fromResult(Topic.parse(request.topic))
  const callback = yield* Effect.fromResult(Callback.parse(given))
  return {
    accountId: anonymous.account.id,
    topic,
    partition: Topic.partitionOf(topic.host),
    channel: "webhook",
    endpoint: callback.given,
    host: callback.host,
    ...(request.secret === undefined ? {} : { secret: request.secret }),
    ...(request.signature === undefined ? {} : { signature: request.signature }),
    face: "hub",
    state: "active"
  }
})

const throttled = (message: string, retryAfter: number) => Effect.fail(refuse(new Throttled({ message, retryAfter })))

const askedOften = (site: string, retryAfter: number) =>
  throttled(
    `The callbacks on ${site} have been asked too often, or too many questions to them wait; an open hub asks a few times a minute only. Try again later.`,
    retryAfter
  )

const busy = throttled("Too many verifications wait on this hub. Try again later.", 60)

/** The service, as a subscriber at hubs, may reach itself by a name that it does not know; its callback is known. */
export const refuseOwnAddress = (endpoint: string) =>
  Effect.fail(
    badParameter("hub.callback", `${Topic.quote(endpoint)} is an address of this hub itself: give one of your own.`)
  )

const notSubscribed = ({ endpoint, topic }: NewSubscription) =>
  Effect.fail(
    badParameter(
      "hub.callback",
      `${Topic.quote(endpoint)} is not subscribed to ${
        Topic.quote(topic.given)
      } on this hub: there is nothing to unsubscribe.`
    )
  )
