import type { RefusalReason } from "#domain/Refusal.ts"

/** Error for a request: its names in RFC 6120 (8.3) and XEP-0060, and a sentence for people. */
export interface Condition {
  /** The remedy: change the request, none, use another account, or try again. */
  readonly type: "modify" | "cancel" | "auth" | "wait"
  readonly name: StanzaCondition
  readonly text: string
  /** Additional condition of XEP-0060. */
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

/** `feature` is the XEP-0060 name of the unsupported feature. */
export const unsupported = (feature: string, text: string): Condition => ({
  type: "cancel",
  name: "feature-not-implemented",
  text,
  detail: { name: "unsupported", feature }
})

export const forbidden = (text: string): Condition => ({ type: "auth", name: "forbidden", text })

export const overloaded = (text: string): Condition => ({ type: "wait", name: "resource-constraint", text })

export const internalError = (text: string): Condition => ({ type: "wait", name: "internal-server-error", text })

/** The operation succeeded, but its answer cannot be sent; `problem` gives the reason. */
export const unsendable = (problem: string) =>
  notAcceptable(`The answer cannot be sent: ${problem}. Ask for less at once.`)

/** Maps reasons to conditions exhaustively: a new reason does not compile without a condition. */
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
