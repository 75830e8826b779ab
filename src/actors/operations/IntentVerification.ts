import { Clock, Context, Effect, Layer, Option, Queue, Schedule } from "effect"
import { hasLeaseEnded } from "#domain/websub/Lease.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { IntentVerifier } from "#domain/ports/IntentVerifier.ts"
import {
  type ClaimedVerification,
  type Verification,
  type VerificationLane,
  VerificationQueue
} from "#domain/ports/VerificationQueue.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { NotVerified, type Refusal, refuse } from "#domain/Refusal.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { makeRefreshBeforeSubscribe } from "./RefreshBeforeSubscribe.ts"
import { refuseStoreErrors } from "./Refusing.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { superviseLoop } from "#actors/runtime/Supervision.ts"

/** Questions under way at once; a callback that hangs holds one of them for 10 s, and so only those of its lane. */
const maxUnderWay: { readonly [lane in VerificationLane]: number } = { strangers: 128, standing: 64, accounts: 64 }

/** Without being called, the queue is looked at so often: for questions that had to wait, and those of a runner that died. */
const looks = "2 seconds"

/** A subscription of the hub face is pending for so many ms at most; it goes then, whoever was asking. */
const pendingFor = 120_000

/** Subscriptions that are deleted in one go after the end of their lease. */
const clearBatch = 1_000

/**
 * Asks the callbacks of the hub face, and of the API those that are asked after its answer; does what they agree to.
 *
 *   request ──► QuestionQueue ──► its turn ──► callback agrees ──► subscribed (hub face: until the lease ends), or unsubscribed
 *                                       └────► does not ──► nothing changes; the callback of a subscribe at the hub face is told: denied
 */
export class IntentVerification extends Context.Service<IntentVerification, {
  /** Asks now, and does it; refused when the callback does not agree. */
  readonly verify: (question: Verification) => Effect.Effect<void, Refusal>
  /** There is something new in the queue. */
  readonly wake: Effect.Effect<void>
}>()("windhover/actors/operations/IntentVerification") {}

export const layer = Layer.effect(
  IntentVerification,
  Effect.gen(function*() {
    const subscriptions = yield* SubscriptionStore
    const verifier = yield* IntentVerifier
    const queue = yield* VerificationQueue
    const log = yield* DeliveryLog
    const partitions = yield* Partitions
    const catchUp = yield* makeRefreshBeforeSubscribe
    const { hubQuestionsPerMinute: perMinute } = yield* Settings
    const scope = yield* Effect.scope
    const bell = yield* Queue.sliding<void>(1)
    const ring = Effect.asVoid(Queue.offer(bell, undefined))

    /**
     * The resource is watched for the hub face, and known as it is now, before the callback says yes: from then on each change is news to it,
     * and waits in the outbox until it has said so.
     */
    const prepare = Effect.fnUntraced(function*(wanted: NewSubscription) {
      yield* catchUp(wanted)
      const leaseUntil = (yield* Clock.currentTimeMillis) + pendingFor
      const pending = { ...wanted, state: "pending" as const, leaseUntil }
      const { resource, subscription } = yield* refuseStoreErrors(subscriptions.subscribe(pending))
      yield* partitions.reloadResource(wanted.partition, resource.id)
      if (resource.lastFetch === undefined) yield* partitions.firstFetch(wanted.partition, resource.id)
      return subscription.id
    })

    const verify = (
      { verifyToken, subscription }: Verification & { readonly mode: "subscribe" | "unsubscribe" },
      intent: { readonly mode: "subscribe" | "unsubscribe"; readonly leaseSeconds: number | "" }
    ) =>
      verifier.verify({
        ...intent,
        topic: subscription.topic.given,
        callback: subscription.endpoint,
        ...(verifyToken === undefined ? {} : { verifyToken })
      }).pipe(Effect.mapError(({ message }) => refuse(new NotVerified({ message }))))

    /** On the API one is pending since it was asked for. */
    const pending = (wanted: NewSubscription, known: Subscription | undefined) =>
      wanted.face === "hub" ? prepare(wanted) : Effect.as(catchUp(wanted), known?.id)

    /** A subscription that stands keeps its state until the new one is verified. */
    const subscribe = Effect.fnUntraced(function*(question: Extract<Verification, { mode: "subscribe" }>) {
      const { leaseSeconds, subscription } = question
      const known = Option.getOrUndefined(yield* refuseStoreErrors(subscriptions.find(subscription)))
      const stands = known?.state === "active" && !hasLeaseEnded(known, yield* Clock.currentTimeMillis)
      const begun = stands ? undefined : yield* pending(subscription, known)
      yield* verify(question, { mode: "subscribe", leaseSeconds }).pipe(
        Effect.tapError(() => begun === undefined ? Effect.void : Effect.ignore(subscriptions.removePending(begun)))
      )
      const lease = subscription.face === "hub" &&
        { leaseUntil: (yield* Clock.currentTimeMillis) + leaseSeconds * 1000 }
      yield* agreed({ ...subscription, ...lease })
    })

    /** Whoever waits for the answer may leave, but not between the row and its owner. */
    const agreed = Effect.fnUntraced(function*(wanted: NewSubscription) {
      const { resource, subscription } = yield* refuseStoreErrors(subscriptions.subscribe(wanted))
      yield* partitions.reloadResource(wanted.partition, resource.id)
      yield* partitions.reloadSubscription(wanted.partition, subscription.id)
    }, Effect.uninterruptible)

    const removed = Effect.fnUntraced(function*({ id, resourceId }: Subscription, partition: number) {
      yield* refuseStoreErrors(subscriptions.remove(id))
      yield* partitions.forget(partition, id)
      yield* partitions.reloadResource(partition, resourceId)
    }, Effect.uninterruptible)

    const unsubscribe = Effect.fnUntraced(function*(question: Extract<Verification, { mode: "unsubscribe" }>) {
      const { subscription } = question
      yield* verify(question, { mode: "unsubscribe", leaseSeconds: "" })
      const known = Option.getOrUndefined(yield* refuseStoreErrors(subscriptions.find(subscription)))
      if (known !== undefined) yield* removed(known, subscription.partition)
    })

    const ask = Effect.fn("Asking.ask")(function*(question: Verification) {
      switch (question.mode) {
        case "subscribe":
          return yield* subscribe(question)
        case "unsubscribe":
          return yield* unsubscribe(question)
        case "denied":
          return yield* verifier.deny({
            topic: question.subscription.topic.given,
            callback: question.subscription.endpoint,
            reason: question.reason
          })
      }
    })

    /** What is neither settled nor denied, because the database is away, is asked again when its claim ends. */
    const work = Effect.fnUntraced(function*(asked: ClaimedVerification) {
      const { verification } = asked
      const failure = yield* ask(verification).pipe(Effect.as(undefined), Effect.catchTag("Refusal", Effect.succeed))
      if (failure?.reason._tag === "Unavailable") return
      if (failure !== undefined) {
        // hosts only: URLs of callbacks and topics may hold credentials
        const { host, topic } = verification.subscription
        yield* Effect.logInfo(`a callback on ${host} did not ${verification.mode} to a topic on ${topic.host}`)
        if (verification.mode === "subscribe") {
          const { accountId, endpoint } = verification.subscription
          const denied = { accountId, topic: topic.given, endpoint, code: 0, message: failure.message }
          yield* log.recordEnd({ fate: "denied", ...denied })
        }
      }
      yield* failure !== undefined && verification.mode === "subscribe" && verification.subscription.face === "hub"
        ? queue.deny(asked, failure.message)
        : queue.settle(asked)
      yield* ring
    }, Effect.catchTag("StoreError", (error) => Effect.logWarning(`a question is not settled yet: ${error.message}`)))

    const underWay = { strangers: 0, standing: 0, accounts: 0 }
    const start = (lane: VerificationLane, asked: ClaimedVerification) =>
      Effect.suspend(() => {
        underWay[lane]++
        return work(asked).pipe(
          Effect.catchCause((cause) => Effect.logError("a question to a callback failed", cause)),
          Effect.ensuring(Effect.sync(() => void underWay[lane]--)),
          Effect.forkIn(scope)
        )
      })

    const take = Effect.fnUntraced(function*(lane: VerificationLane, perMinute: number | undefined) {
      const limit = maxUnderWay[lane] - underWay[lane]
      if (limit <= 0) return
      const claimed = yield* queue.claim({ lane, limit, perMinute })
      yield* Effect.forEach(claimed, (asked) => start(lane, asked), { discard: true })
    })

    const round = Effect.gen(function*() {
      yield* Effect.timeoutOption(Queue.take(bell), looks)
      yield* take("accounts", undefined)
      yield* take("standing", perMinute)
      yield* take("strangers", perMinute)
    }).pipe(
      Effect.catchTag(
        "StoreError",
        (error) =>
          Effect.andThen(Effect.logWarning(`questions to callbacks wait: ${error.message}`), Effect.sleep(looks))
      )
    )
    yield* superviseLoop("asking callbacks", round, Schedule.spaced("10 millis"))

    const clear = Effect.gen(function*() {
      const ended = yield* subscriptions.removeExpired(clearBatch)
      yield* Effect.forEach(
        ended,
        ({ id, partition, resourceId }) =>
          Effect.andThen(partitions.forget(partition, id), partitions.reloadResource(partition, resourceId)),
        { concurrency: 8, discard: true }
      )
    }).pipe(
      Effect.catchTag("StoreError", (error) => Effect.logWarning(`ended leases are not deleted yet: ${error.message}`))
    )
    yield* superviseLoop("clearing ended leases", clear, Schedule.spaced("30 seconds"))

    return IntentVerification.of({ verify: ask, wake: ring })
  })
)
