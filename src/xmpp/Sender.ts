import { Cache, Effect, Layer, Option, Schedule } from "effect"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { acceptedSentence } from "#domain/delivery/Notification.ts"
import * as Jid from "#domain/Jid.ts"
import { Settings } from "#domain/ports/Settings.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { Presences } from "#actors/operations/Presences.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import { type Outcome, type Sender, Senders } from "#actors/subscription/Senders.ts"
import { makeMessageId } from "./Bounces.ts"
import { type ComponentConfig, getComponentConfig } from "./ComponentConfig.ts"
import { renderMessages } from "./Notifications.ts"
import type { SendResult } from "./OutgoingQueue.ts"
import * as SendWindow from "./SendWindow.ts"
import { entityId, layerLocalComponent, LocalComponent, XmppEntity } from "./XmppEntity.ts"

/** Retries every 0.5 s, for 5 s: the component has no owner during a start, or a move to another runner. */
const ownerRetry = { schedule: Schedule.spaced("500 millis"), times: 10 }

/** Makes the sender of the channel `xmpp`, which sends notifications as messages through the runner with the connection. */
const makeSender = Effect.fnUntraced(function*({ component, domain }: ComponentConfig) {
  const client = yield* XmppEntity.client
  const accounts = yield* AccountStore
  const { extNamespace, xmppLegacyItems } = yield* Settings
  const local = yield* LocalComponent
  const window = yield* SendWindow.make(whenAvailable((yield* Outbox).flush))
  const usesLegacyNamespace = yield* Cache.make({
    capacity: 10_000,
    timeToLive: "30 seconds",
    lookup: (accountId: number) =>
      Effect.map(
        accounts.load(accountId),
        (account) => Option.getOrUndefined(account)?.legacyItemNamespace ?? xmppLegacyItems
      )
  })

  const send: Sender = Effect.fnUntraced(function*({ notification, sequence }, subscription, isHeld) {
    const { accountId, format, id: subscriptionId, topic } = subscription
    const isLegacy = yield* Cache.get(usesLegacyNamespace, accountId)
    const id = makeMessageId(notification.id, subscriptionId, sequence)
    const messages = renderMessages({
      from: component,
      to: getRecipient(subscription, domain),
      id,
      topic,
      notification,
      style: { format, extNamespace, isLegacy }
    })
    const deliverToOwner = Effect.suspend(() =>
      isHeld()
        ? Effect.retry(client(entityId).Deliver({ id, messages }), ownerRetry)
        : Effect.succeed("lease-lost" as const)
    )
    const result = local.component === undefined
      ? yield* window.withPlace(messages, deliverToOwner)
      : yield* local.component.deliver(id, messages, isHeld)
    return outcomeOf[result]
  }, Effect.orElseSucceed(() => outcomeOf.unavailable))
  return send
})

/** Returns the subscriber's JID. A server knows its own domain only in the spelling of the settings. */
const getRecipient = ({ endpoint, host }: Subscription, domain: string): string =>
  host === Jid.domainOf(domain) ? endpoint.slice(0, -host.length) + domain : endpoint

const outcomeOf: { readonly [result in SendResult]: Outcome } = {
  accepted: { verdict: "delivered", attempt: { code: 0, message: acceptedSentence } },
  unavailable: { verdict: "unserved" },
  "lease-lost": { verdict: "lease-lost" },
  poison: {
    verdict: "failed",
    attempt: {
      code: 0,
      message: "The XMPP server does not take this notification: it closes the stream.",
      reason: "xmpp"
    }
  }
}

/** Presences from the runner with the connection; `unknown` when that runner does not answer within 1 s. */
const makePresences = Effect.gen(function*() {
  const client = yield* XmppEntity.client
  return Presences.of({
    of: (jids) =>
      client(entityId).GetPresences({ jids }).pipe(
        Effect.timeout("1 second"),
        Effect.orElseSucceed(() => jids.map(() => "unknown" as const))
      )
  })
})

const layerPresences = Layer.unwrap(
  Settings.useSync((settings) =>
    getComponentConfig(settings) === undefined ? Layer.empty : Layer.effect(Presences, makePresences)
  )
)

/** Adds the channel `xmpp` to the senders, unless XMPP is off. */
const layerSenders = Layer.effect(
  Senders,
  Effect.gen(function*() {
    const senders = yield* Senders
    const config = getComponentConfig(yield* Settings)
    return config === undefined ? senders : Senders.of({ ...senders, xmpp: yield* makeSender(config) })
  })
).pipe(Layer.provide(layerLocalComponent))

/** The channel `xmpp`, and the presences of its subscribers. */
export const layer = Layer.merge(layerSenders, layerPresences)
