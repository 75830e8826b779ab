import { Cache, Effect, Layer, Option, Schedule } from "effect"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import * as Jid from "#domain/Jid.ts"
import { Settings } from "#domain/ports/Settings.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { Presences } from "#actors/operations/Presences.ts"
import { type Outcome, type Sender, Senders } from "#actors/subscription/Senders.ts"
import { type Config, configOf } from "./Config.ts"
import * as LocalComponent from "./LocalComponent.ts"
import { ns } from "./Namespaces.ts"
import { messages } from "./Notifications.ts"
import { idOf } from "./BounceStanza.ts"
import { entityId, Xmpp } from "./Service.ts"

/** Accounts whose settings are in memory, and for how long. */
const cached = { capacity: 10_000, timeToLive: "30 seconds" } as const

/** The component has no owner while it moves to another runner, or starts: asked again every 0.5 s, for 5 s. */
const moving = { schedule: Schedule.spaced("500 millis"), times: 10 }

/** Sends notifications as messages, by whichever runner has the connection. */
const make = Effect.fnUntraced(function*({ component, domain }: Config) {
  const client = yield* Xmpp.client
  const accounts = yield* AccountStore
  const { extNamespace } = yield* Settings
  const here = yield* LocalComponent.LocalComponent
  const isLegacy = yield* Cache.make({
    ...cached,
    lookup: (accountId: number) =>
      Effect.map(
        accounts.load(accountId),
        (account) => Option.isSome(account) && account.value.legacyItemNamespace === true
      )
  })

  const send: Sender = Effect.fnUntraced(function*({ notification, sequence }, subscription, isSure) {
    const { accountId, format, id, topic } = subscription
    const legacy = yield* Cache.get(isLegacy, accountId)
    const letter = idOf(notification.id, id, sequence)
    const to = spelled(subscription, domain)
    const consignment = {
      id: letter,
      messages: messages({
        from: component,
        to,
        id: letter,
        topic,
        notification,
        style: { format, extNamespace, ...(legacy ? { itemNamespace: ns.pubsub } : {}) }
      })
    }
    if (!isSure()) return outcomes.withheld
    const fate = here.component === undefined
      ? yield* Effect.retry(client(entityId).Deliver(consignment), moving)
      : yield* here.component.deliver(consignment)
    return outcomes[fate]
  }, Effect.orElseSucceed(() => outcomes.away))
  return send
})

/** A server knows its own domain in one spelling only: the one that the settings have. */
const spelled = ({ endpoint, host }: Subscription, domain: string): string =>
  host === Jid.domainOf(domain) ? endpoint.slice(0, -host.length) + domain : endpoint

const outcomes: { readonly [fate in "taken" | "away" | "withheld" | "poison"]: Outcome } = {
  taken: { verdict: "delivered" },
  away: { verdict: "away" },
  withheld: { verdict: "withheld" },
  poison: {
    verdict: "failed",
    attempt: { code: 0, message: "The XMPP server does not take this notification: it closes the stream." }
  }
}

/** Asked of the runner that has the connection; nobody waits for it long. */
const presences = Effect.gen(function*() {
  const client = yield* Xmpp.client
  return Presences.of({
    of: (jids) =>
      client(entityId).Online({ jids }).pipe(
        Effect.timeout("1 second"),
        Effect.orElseSucceed(() => jids.map(() => "unknown" as const))
      )
  })
})

const layerPresences = Layer.unwrap(
  Settings.useSync((settings) => configOf(settings) === undefined ? Layer.empty : Layer.effect(Presences, presences))
)

/** Adds the channel `xmpp` to the others, where the settings want it. */
const layerSenders = Layer.effect(
  Senders,
  Effect.gen(function*() {
    const others = yield* Senders
    const config = configOf(yield* Settings)
    return config === undefined ? others : Senders.of({ ...others, xmpp: yield* make(config) })
  })
).pipe(Layer.provide(LocalComponent.layer))

/** The channel `xmpp`, and who is online in it. */
export const layer = Layer.merge(layerSenders, layerPresences)
