import type { Element } from "@xmpp/xml"
import type { Bounce, Severity } from "#domain/Bounce.ts"
import { quote } from "#domain/Topic.ts"
import { childrenOf } from "./Elements.ts"
import * as Jid from "#domain/Jid.ts"
import { ns } from "./Namespaces.ts"

/** Whose a notification is that was sent to a JID. */
export interface Receipt {
  /** Bare, as it was written on the message. */
  readonly to: string
  readonly subscriptionId: number
  readonly sequence: number
}

/** Notifications whose bounces are understood, at most: the newest ones. */
const mostRemembered = 10_000

/**
 * The newest notifications that were handed to the server: what comes back is believed when it is one of them, and from whom it was sent to.
 *
 * Anybody may send an error with any id, but only from an address of their own. Each notification comes back once.
 */
export class Sent {
  readonly #receipts = new Map<string, Receipt>()

  /** `id` is that of the delivery; its messages carry it, the second and later ones with their number behind it. */
  remember(id: string, receipt: Receipt): void {
    this.#receipts.delete(id)
    this.#receipts.set(id, receipt)
    for (const oldest of this.#receipts.keys()) {
      if (this.#receipts.size <= mostRemembered) break
      this.#receipts.delete(oldest)
    }
  }

  /** What an error says of the notification that it answers; undefined for what answers none of ours. */
  bounced(error: Element): Bounce | undefined {
    const { from = "", id = "" } = error.attrs
    const delivery = /^\d+-\d+/.exec(id)?.[0] ?? ""
    const receipt = this.#receipts.get(delivery)
    const sender = Jid.bareOf(from)
    if (receipt === undefined || sender === undefined || sender !== Jid.bareOf(receipt.to)) return undefined
    this.#receipts.delete(delivery)
    const { subscriptionId, sequence } = receipt
    return { subscriptionId, sequence, ...meaningOf(error) }
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
  const conditions = error === undefined ? [] : childrenOf(error).filter((child) => child.getNS() === ns.stanzaErrors)
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
