import type { Element } from "@xmpp/xml"
import type { Bounce, Severity } from "#domain/delivery/Bounce.ts"
import { quote } from "#domain/Topic.ts"
import { copyText, getChildElements } from "./Elements.ts"
import * as Jid from "#domain/Jid.ts"
import { ns } from "./Namespaces.ts"

/**
 * The id of a delivery's message: it says whose it is, and so an error is understood whenever it comes, and by whichever runner.
 *
 * The second and later messages of a delivery have their number behind it.
 */
export const makeMessageId = (notificationId: number, subscriptionId: number, sequence: number): string =>
  `${notificationId}-${subscriptionId}-${sequence}`

/**
 * What an error says of the message that it answers; undefined when that is none of ours.
 *
 * Anybody may send an error with any id, but only from an address of their own: whom the subscription is for decides what it is worth.
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
    ...meaningOf(error)
  }
}

/** Conditions of RFC 6120 (8.3.3) that waiting does not mend. Others come and go: of networks, of servers that are busy or away. */
const lasting: ReadonlySet<string> = new Set([
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

const meaningOf = (stanza: Element): { readonly severity: Severity; readonly message: string } => {
  const error = stanza.getChild("error")
  const conditions = error === undefined
    ? []
    : getChildElements(error).filter((child) => child.getNS() === ns.stanzaErrors)
  const condition = conditions.map((child) => child.getName()).find((name) => name !== "text") ?? "undefined-condition"
  const text = error?.getChildText("text", ns.stanzaErrors) ?? ""
  return {
    severity: severityOf(condition, error?.attrs["type"]),
    message: `The message came back: ${condition.slice(0, 60)}${text === "" ? "" : ` (${quote(text)})`}.`
  }
}

const severityOf = (condition: string, type: string | undefined): Severity => {
  if (type === "wait") return "passing"
  if (condition === "gone") return "gone"
  return lasting.has(condition) ? "lasting" : "passing"
}
