import { Effect, Layer } from "effect"
import { Partitions } from "#actors/cluster/Partitions.ts"
import * as WebhookSecret from "#domain/delivery/WebhookSecret.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter } from "#domain/Refusal.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { makeAccountLimit } from "./AccountLimit.ts"
import { makeFindSubscription } from "./FindSubscription.ts"
import { makePartitionOf } from "./ParseTopic.ts"
import { refuseNotSubscribed } from "./Representations.ts"
import { type RotateSecretRequest, Secrets } from "./Secrets.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** Rotations of one account. */
const rotationLimit = { burst: 100, perMinute: 100 }

/** Maximum bytes of a secret, as of a `hub.secret`. */
const maxSecretBytes = 200

export const layer = Layer.effect(
  Secrets,
  Effect.gen(function*() {
    return Secrets.of({ rotate: yield* makeRotate })
  })
)

/** `Secrets.rotate`: the owner of the subscription signs with the new secret when the response leaves. */
const makeRotate = Effect.gen(function*() {
  const subscriptions = yield* SubscriptionStore
  const partitions = yield* Partitions
  const findSubscription = yield* makeFindSubscription
  const partitionOf = yield* makePartitionOf
  const limit = makeAccountLimit("rotations", rotationLimit)

  const store = Effect.fnUntraced(function*(subscription: Subscription, secret: string, graceMs: number) {
    const rotated = yield* refuseStoreErrors(subscriptions.rotateSecret(subscription, secret, graceMs))
    if (rotated !== undefined) yield* partitions.reloadSubscription(partitionOf(subscription), subscription.id)
    return rotated
  }, Effect.uninterruptible)

  return Effect.fn("Secrets.rotate")(function*({ caller, graceSeconds, secret, ...name }: RotateSecretRequest) {
    const length = new TextEncoder().encode(secret).length
    if (length > maxSecretBytes) {
      return yield* badParameter("secret", `secret has ${length} bytes; at most ${maxSecretBytes} are accepted.`)
    }
    yield* Effect.fromResult(WebhookSecret.check(secret, "secret"))
    const subscription = yield* findSubscription(caller, name)
    if (subscription.channel !== "webhook") {
      return yield* badParameter(
        "subscription",
        `The subscription ${subscription.id} has no webhook, and so no secret.`
      )
    }
    yield* limit(caller)
    const rotated = yield* store(subscription, secret, graceSeconds * 1000)
    if (rotated === undefined) {
      return yield* refuseNotSubscribed(`The subscription ${subscription.id} has ended meanwhile.`)
    }
    return { subscription: subscription.id, ...rotated }
  })
})
