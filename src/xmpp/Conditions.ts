import type { RefusalReason } from "#domain/Refusal.ts"

/** Why a request is answered by an error: what RFC 6120 (8.3) and XEP-0060 call it, and a sentence for the person who wrote it. */
export interface Condition {
  /** What the caller can do about it: change the request, nothing, be somebody else, or try again. */
  readonly type: "modify" | "cancel" | "auth" | "wait"
  readonly name: StanzaCondition
  readonly text: string
  /** XEP-0060's closer word for it. */
  readonly detail?: { readonly name: PubSubCondition; readonly feature?: string }
}

type StanzaCondition =
  | "bad-request"
  | "feature-not-implemented"
  | "forbidden"
  | "internal-server-error"
  | "item-not-found"
  | "not-acceptable"
  | "not-allowed"
  | "resource-constraint"
  | "service-unavailable"
  | "unexpected-request"

type PubSubCondition =
  | "invalid-jid"
  | "invalid-options"
  | "jid-required"
  | "nodeid-required"
  | "not-subscribed"
  | "unsupported"

const modify = (name: StanzaCondition, text: string, detail?: PubSubCondition): Condition => ({
  type: "modify",
  name,
  text,
  ...(detail === undefined ? {} : { detail: { name: detail } })
})

export const badRequest = (text: string) => modify("bad-request", text)
export const invalidJid = (text: string) => modify("bad-request", text, "invalid-jid")
export const jidRequired = (text: string) => modify("bad-request", text, "jid-required")
export const nodeRequired = (text: string) => modify("bad-request", text, "nodeid-required")
export const invalidFormat = (text: string) => modify("bad-request", text, "invalid-options")
export const notAcceptable = (text: string) => modify("not-acceptable", text)

export const noSuchNode = (text: string): Condition => ({ type: "cancel", name: "item-not-found", text })

export const serviceUnavailable = (text: string): Condition => ({ type: "cancel", name: "service-unavailable", text })

/** `feature` is the name that XEP-0060 gives to what was asked for. */
export const unsupported = (feature: string, text: string): Condition => ({
  type: "cancel",
  name: "feature-not-implemented",
  text,
  detail: { name: "unsupported", feature }
})

export const forbidden = (text: string): Condition => ({ type: "auth", name: "forbidden", text })

export const overloaded = (text: string): Condition => ({ type: "wait", name: "resource-constraint", text })

export const internalError = (text: string): Condition => ({ type: "wait", name: "internal-server-error", text })

/** What was asked for has been done or read, and cannot be told; `problem` says why. */
export const unsendable = (problem: string) =>
  notAcceptable(`The answer cannot be sent: ${problem}. Ask for less at once.`)

/** From reasons to the wire, exhaustively: a new reason does not compile until it has a condition. */
export const toCondition = (reason: RefusalReason): Condition => {
  switch (reason._tag) {
    case "BadParameter":
      return reason.parameter === "node" || reason.parameter === "hub.topic"
        ? notAcceptable(reason.message)
        : badRequest(reason.message)
    case "NotSubscribed":
      return {
        type: "cancel",
        name: "unexpected-request",
        text: reason.message,
        detail: { name: "not-subscribed" }
      }
    case "NotVerified":
      return { type: "cancel", name: "not-allowed", text: reason.message }
    case "Unauthenticated":
    case "Forbidden":
      return forbidden(reason.message)
    case "Throttled":
      return overloaded(reason.message)
    case "Unavailable":
      return internalError(reason.message)
  }
}
