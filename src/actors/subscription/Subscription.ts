import { Clock, Context, Effect, Layer, Option } from "effect"
import { hasTrialArrived, type Trial, trialTimeMs } from "#domain/delivery/Bounce.ts"
import {
  afterFailure,
  countFitting,
  documentBytes,
  isAfterOutage,
  maxWaitingMs,
  nextTry,
  restartWaiting
} from "#domain/delivery/Delivery.ts"
import { hasLeaseEnded } from "#domain/websub/Lease.ts"
import type { AttemptResult, Delivery } from "#domain/delivery/Notification.ts"
import { BounceStore } from "#domain/ports/BounceStore.ts"
import type { DeliveryResponse } from "#domain/ports/Deliverer.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import type { Subscription } from "#domain/Subscription.ts"
import type { Self } from "#actors/runtime/Actor.ts"
import { DeliveryLimiter } from "#actors/limits/DeliveryLimiter.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import { type Sender, Senders } from "./Senders.ts"
import { checkSpacingMs, type ShardLease } from "#actors/cluster/ShardLease.ts"

/**
 * `Deliver`: a row of the outbox that was just written. `Look`: there may be some that nobody told of (an alarm, a new owner, a sweep).
 * `Reload`: the subscription itself has changed.
 */
export type Message =
  | { readonly _tag: "Deliver"; readonly delivery: Delivery }
  | { readonly _tag: "Look" }
  | { readonly _tag: "Reload" }

export const look: Message = { _tag: "Look" }

/**
 * What an awake subscription holds: the first waiting deliveries, without a gap, in order.
 *
 *   told 7 ──► is it the next one? ── yes ──► ahead: 5 6 7
 *                                └─── no ───► `more`: the outbox has what is missing, it is read when `ahead` is empty
 */
export interface State {
  readonly subscription: Subscription
  /** What was sent on trial; nothing is sent while it is known. */
  trial?: Trial["sent"]
  ahead: Array<Delivery>
  /** The sequence behind the last one of `ahead`: what is below was sent, or is in `ahead`. */
  next: number
  more: boolean
  /** When the last try ended, epoch ms; undefined before the first one. */
  triedAt?: number
  /** The first one has a large document, and nothing of it is held before it can be sent. */
  isLarge?: boolean
  /** Of the first one, while it waits for its next try and nothing is held. */
  waits?: Pick<Delivery, "attempt" | "dueAt"> | undefined
  /** Nobody could try before; what waits has waited since then. Epoch ms, until that is written down. */
  back?: number | undefined
}

/** Deliveries of one subscription in memory, and bytes of their documents, at most: 64 small pages fit. The others wait in the outbox. */
const maxAhead = { count: 64, bytes: 1 << 20 }

/** A document of more bytes is in memory only while it is sent, and then so many are, for all subscriptions of the runner together. */
const large = { bytes: 256 << 10, atOnce: 32 }

/** Messages join so that a mailbox is bounded: beyond it a delivery is not kept, but found again in the outbox. */
export const join = (waiting: Array<Message>, message: Message): void => {
  if (message._tag === "Deliver") {
    const told = waiting.flatMap((one) => one._tag === "Deliver" ? [one.delivery] : [])
    if (isLarge(message.delivery) || !hasRoom(told, message.delivery)) message = look
  }
  if (message._tag === "Deliver" || !waiting.some(({ _tag }) => _tag === message._tag)) waiting.push(message)
}

const isLarge = ({ notification }: Delivery): boolean => documentBytes(notification) > large.bytes

const hasRoom = (ahead: ReadonlyArray<Delivery>, next: Delivery): boolean =>
  countFitting([...ahead, next].map(({ notification }) => documentBytes(notification)), maxAhead) > ahead.length

/** What a subscription needs of its partition. */
export interface SubscriptionContext {
  readonly lease: ShardLease
  /** A resource has lost a subscription. */
  readonly reloadResource: (id: number) => Effect.Effect<void>
}

export class SubscriptionBehavior extends Context.Service<SubscriptionBehavior, {
  /** Delivers what waits, in order, one at a time, each while the claim is sure; returns when the next try is due. */
  readonly run: (self: Self<State, Message>, around: SubscriptionContext) => Effect.Effect<number | undefined>
}>()("windhover/actors/subscription/Subscription/SubscriptionBehavior") {}

export const layer = Layer.effect(
  SubscriptionBehavior,
  Effect.gen(function*() {
    const outbox = yield* Outbox
    const log = yield* DeliveryLog
    const bounces = yield* BounceStore
    const subscriptions = yield* SubscriptionStore
    const senders = yield* Senders
    const places = new DeliveryLimiter(large.atOnce, yield* Clock.Clock)

    const loaded = Effect.fnUntraced(function*(self: Self<State, Message>) {
      if (self.state !== undefined) return self.state
      const subscription = Option.getOrUndefined(yield* whenAvailable(subscriptions.load(self.id)))
      if (subscription?.state !== "active") return undefined
      self.state = { subscription, trial: subscription.trial?.sent, ahead: [], next: 0, more: true }
      return self.state
    })

    const readOutbox = Effect.fnUntraced(function*(state: State, count: number) {
      state.waits = undefined
      const backlog = yield* whenAvailable(outbox.backlog(state.subscription.id, count, maxAhead.bytes))
      const unsent = backlog.deliveries.filter(({ sequence }) => sequence >= state.next)
      state.ahead.push(...unsent)
      state.next = (unsent.at(-1)?.sequence ?? Math.max(backlog.nextSequence, state.next) - 1) + 1
      state.more = backlog.more && unsent.length > 0
    })

    /** Tries the first one; how it went decides what becomes of its row. Returns when to look again, if that is not at once. */
    const attempt = Effect.fnUntraced(function*(state: State, delivery: Delivery, around: SubscriptionContext) {
      const send = senders[state.subscription.channel] ?? notServed
      const outcome = yield* send(delivery, state.subscription, around.lease.isHeld)
      if (outcome.verdict === "delivered" || outcome.verdict === "failed") {
        state.triedAt = yield* Clock.currentTimeMillis
      }
      switch (outcome.verdict) {
        case "delivered":
          if (state.subscription.trial !== undefined) yield* awaitTrial(state, delivery)
          yield* confirm(state, delivery, outcome.answer)
          return undefined
        case "ended":
          return yield* end(state, delivery, outcome.attempt, around)
        case "failed":
          return yield* failed(state, delivery, outcome.attempt)
        case "withheld":
          return undefined
        case "away":
          return (yield* Clock.currentTimeMillis) + channelAway
      }
    })

    const confirm = Effect.fnUntraced(
      function*(state: State, delivery: Delivery, answer: DeliveryResponse | undefined) {
        yield* outbox.confirm(delivery.id)
        if (answer !== undefined) yield* log.recordDelivery(delivery, answer)
        state.ahead.shift()
      }
    )

    /**
     * One is sent, and nothing behind it before it is known what became of it: what comes back pauses the subscription, which is then loaded again.
     *
     * It is written down, so that whoever loads the subscription meanwhile sends no other one.
     */
    const awaitTrial = Effect.fnUntraced(function*(state: State, { sequence }: Delivery) {
      state.trial = { sequence, until: (yield* Clock.currentTimeMillis) + trialTimeMs }
      yield* whenAvailable(bounces.recordTrial(state.subscription.id, state.trial))
    })

    /** Returns when to look again; undefined when the time is over, and the subscription goes on as it is then in the database. */
    const trialIsOver = Effect.fnUntraced(
      function*(self: Self<State, Message>, sent: NonNullable<Trial["sent"]>) {
        self.pinned = !hasTrialArrived(sent, yield* Clock.currentTimeMillis)
        if (self.pinned) return sent.until
        yield* whenAvailable(bounces.endTrial(self.id, sent.sequence))
        self.state = undefined
        return undefined
      }
    )

    /** A day of tries is counted from the return: what waits is told so when one fails, since most have gone by then. */
    const noteReturn = Effect.fnUntraced(function*(state: State, delivery: Delivery) {
      const { back } = state
      if (back === undefined) return delivery
      yield* whenAvailable(outbox.restartWaiting(state.subscription.id, back))
      state.back = undefined
      state.ahead = restartWaiting(state.ahead, back)
      return state.ahead[0] ?? delivery
    })

    const failed = Effect.fnUntraced(function*(state: State, tried: Delivery, attempt: AttemptResult) {
      const delivery = yield* noteReturn(state, tried)
      const now = yield* Clock.currentTimeMillis
      const { waitsSince } = delivery
      const next = afterFailure(state.subscription.face, delivery.attempt + 1, waitsSince, now)
      if (next._tag === "Drop") {
        yield* whenAvailable(outbox.drop(delivery, attempt))
        yield* Effect.logWarning(
          `subscription ${delivery.subscriptionId} gives up notification ${delivery.sequence}: ${attempt.message}`
        )
        state.ahead.shift()
        if (waitsSince <= now - maxWaitingMs) yield* dropOlder(state, now - maxWaitingMs)
      } else {
        yield* whenAvailable(outbox.postpone(delivery, next.dueAt, attempt))
        state.ahead[0] = { ...delivery, attempt: delivery.attempt + 1, dueAt: next.dueAt }
      }
    })

    /** Those behind one that was too old when its turn came: they are not tried one by one, or more would come than go. */
    const dropOlder = Effect.fnUntraced(function*(state: State, before: number) {
      const { id } = state.subscription
      const dropped = yield* whenAvailable(outbox.dropOlder(id, before))
      const left = state.ahead.findIndex(({ waitsSince }) => waitsSince > before)
      state.ahead.splice(0, left < 0 ? state.ahead.length : left)
      if (dropped > 0) {
        yield* Effect.logWarning(`subscription ${id} gives up ${dropped} notifications more: they waited for a day`)
      }
    })

    /** The callback said that it is gone: so is the subscription. */
    const end = Effect.fnUntraced(function*(
      state: State,
      delivery: Delivery,
      attempt: AttemptResult,
      { reloadResource }: SubscriptionContext
    ) {
      const { accountId, endpoint, id, resourceId, topic } = state.subscription
      const { sequence } = delivery
      const tried = { subscriptionId: id, topic, endpoint, sequence, attempt: delivery.attempt + 1 }
      yield* whenAvailable(log.recordEnd({ fate: "ended", accountId, ...tried, ...attempt }))
      yield* whenAvailable(subscriptions.remove(id))
      yield* reloadResource(resourceId)
      yield* Effect.logInfo(`subscription ${state.subscription.id} is ended by its callback: ${attempt.message}`)
      state.ahead.length = 0
      state.more = false
    })

    /** The first one that waits, if it is its time. Returns when to look again, or undefined when nothing is to be done. */
    const step = Effect.fnUntraced(
      function*(self: Self<State, Message>, state: State, around: SubscriptionContext, inPlace = false) {
        if (state.ahead.length === 0 && state.more) yield* readOutbox(state, inPlace ? 1 : maxAhead.count)
        const first = state.ahead[0]
        if (first === undefined) return undefined
        const now = yield* Clock.currentTimeMillis
        if (hasLeaseEnded(state.subscription, now)) return undefined
        if (isEarly(state, first, now)) return goOn
        if (self.draining()) return undefined
        if (!around.lease.isHeld()) return yield* Effect.as(Effect.sleep(checkSpacingMs), goOn)
        if (isLarge(first) && !inPlace) {
          state.isLarge = true
          letGo(state)
          return goOn
        }
        if (isAfterOutage(nextTry(state.subscription.face, first, now), state.triedAt, now)) state.back = now
        return (yield* attempt(state, first, around)) ?? goOn
      }
    )

    /** It is read when it has its place, and let go before it leaves it: thousands may wait for a callback that hangs. */
    const stepInPlace = (self: Self<State, Message>, state: State, around: SubscriptionContext) =>
      places.run(
        state.subscription.host,
        Effect.suspend(() => {
          state.isLarge = false
          return Effect.tap(step(self, state, around, true), () => Effect.sync(() => letGo(state)))
        })
      )

    const run = Effect.fnUntraced(function*(self: Self<State, Message>, around: SubscriptionContext) {
      while (true) {
        for (let message = self.take(); message !== undefined; message = self.take()) hear(self, message)
        const state = yield* loaded(self)
        if (state === undefined) return undefined
        if (state.trial !== undefined) {
          const until = yield* trialIsOver(self, state.trial)
          if (until !== undefined) return until
          continue
        }
        const until = untilNextTry(state, yield* Clock.currentTimeMillis)
        if (until !== undefined) return until
        const next = state.isLarge === true ? yield* stepInPlace(self, state, around) : yield* step(self, state, around)
        if (next !== goOn) return next
      }
    })

    return SubscriptionBehavior.of({ run })
  })
)

/** Of a step: the next one comes at once. */
const goOn = Symbol("go on")

/** A channel that is not served is looked at again after so many ms. */
const channelAway = 15_000

const notServed: Sender = () => Effect.succeed({ verdict: "away" })

/** Whether it is not yet the time for the next try of the first one. */
const isEarly = (state: State, first: Pick<Delivery, "attempt" | "dueAt">, now: number): boolean =>
  first.attempt > 0 && nextTry(state.subscription.face, first, now) > now

/**
 * When the first one is to be tried again, if it has to wait. Nothing is held meanwhile: waits are up to hours long, there are as many who
 * wait as there are subscriptions, and all of it is in the outbox.
 */
const untilNextTry = (state: State, now: number): number | undefined => {
  const [held] = state.ahead
  const first = state.waits ?? held
  if (first === undefined || !isEarly(state, first, now)) return undefined
  state.waits = { attempt: first.attempt, dueAt: first.dueAt }
  letGo(state)
  return first.dueAt
}

/** What is ahead is found again in the outbox. */
const letGo = (state: State): void => {
  const [first] = state.ahead
  if (first === undefined) return
  state.next = first.sequence
  state.ahead = []
  state.more = true
}

/** What a message changes in memory. Without state there is nothing to change: it is loaded with all that waits. */
const hear = (self: Self<State, Message>, message: Message): void => {
  const { state } = self
  if (state === undefined) return
  switch (message._tag) {
    case "Reload":
      self.state = undefined
      self.pinned = false
      return
    case "Look":
      state.more = true
      return
    case "Deliver":
      if (message.delivery.sequence < state.next) return
      if (message.delivery.sequence === state.next && !state.more && hasRoom(state.ahead, message.delivery)) {
        state.ahead.push(message.delivery)
        state.next++
      } else {
        state.more = true
      }
  }
}
