import type { Element } from "@xmpp/xml"
import { Effect, FiberSet } from "effect"
import { FifoSemaphore } from "#actors/limits/FifoSemaphore.ts"
import { Hub } from "#actors/operations/Hub.ts"
import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"
import type { Bounce, Severity } from "#domain/delivery/Bounce.ts"
import { quote } from "#domain/Topic.ts"
import { copyText, getChildElements } from "./Elements.ts"
import * as Jid from "#domain/Jid.ts"
import { ns } from "./Namespaces.ts"

/**
 * Makes the id of a delivery's message. The id names the subscription, so that any runner understands a late bounce.
 *
 * The second and later messages of a delivery have their number appended.
 */
export const makeMessageId = (notificationId: number, subscriptionId: number, sequence: number): string =>
  `${notificationId}-${subscriptionId}-${sequence}`

/**
 * Reads the error for a message of Windhover; undefined for any other error.
 *
 * A stranger may send an error with any id, but only from their own address. The hub therefore compares the sender with the subscription's
 * JID.
 */
export const parseBounce = (error: Element): Bounce | undefined => {
  const { from = "", id = "" } = error.attrs
  const [, subscriptionId, sequence] = /^\d{1,15}-(\d{1,15})-(\d{1,15})(?:-\d{1,15})?$/.exec(id) ?? []
  const sender = Jid.bareOf(from)
  if (subscriptionId === undefined || sequence === undefined || sender === undefined) return undefined
  return {
    subscriptionId: Number(subscriptionId),
    sequence: Number(sequence),
    from: copyText(sender),
    ...describeError(error)
  }
}

/** Permanent conditions of RFC 6120 (8.3.3). Other conditions pass, such as network failures and overloaded servers. */
const lastingConditions: ReadonlySet<string> = new Set([
  "bad-request",
  "feature-not-implemented",
  "forbidden",
  "item-not-found",
  "jid-malformed",
  "not-acceptable",
  "not-allowed",
  "not-authorized",
  "redirect",
  "registration-required",
  "service-unavailable",
  "subscription-required"
])

const describeError = (stanza: Element): { readonly severity: Severity; readonly message: string } => {
  const error = stanza.getChild("error")
  const conditions = error === undefined
    ? []
    : getChildElements(error).filter((child) => child.getNS() === ns.stanzaErrors)
  const condition = conditions.map((child) => child.getName()).find((name) => name !== "text") ?? "undefined-condition"
  const text = error?.getChildText("text", ns.stanzaErrors) ?? ""
  return {
    severity: getSeverity(condition, error?.attrs["type"]),
    message: `The message came back: ${condition.slice(0, 60)}${text === "" ? "" : ` (${quote(text)})`}.`
  }
}

const getSeverity = (condition: string, type: string | undefined): Severity => {
  if (type === "wait") return "passing"
  if (condition === "gone") return "gone"
  return lastingConditions.has(condition) ? "lasting" : "passing"
}

/** Number of bounces handled in parallel. The bounces of one subscription are handled in order. */
const concurrency = 8

/** Maximum of waiting bounces: of all senders, and of one bare JID. Further bounces are dropped. */
const maxBounces = 10_000
const maxBouncesPerJid = 1_000

/** Makes the handler of messages of type error. */
export const makeHandler = Effect.gen(function*() {
  const { recordBounce } = yield* Hub
  const run = yield* FiberSet.makeRuntime<never>()
  const waiting = new KeyedCounter({ maxTotal: maxBounces, maxPerKey: maxBouncesPerJid })
  const queues = Array.from({ length: concurrency }, () => new FifoSemaphore(1))

  return (error: Element): void => {
    const bounce = parseBounce(error)
    if (bounce === undefined) return
    const queue = queues[bounce.subscriptionId % concurrency]
    if (queue === undefined || !waiting.tryAdd(bounce.from)) return
    run(Effect.ensuring(queue.withPermit(recordBounce(bounce)), Effect.sync(() => waiting.remove(bounce.from))))
  }
})
