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
  | "jid-malformed"
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

const makeCondition =
  (type: Condition["type"], name: StanzaCondition, detail?: PubSubCondition) => (text: string): Condition => ({
    type,
    name,
    text,
    ...(detail === undefined ? {} : { detail: { name: detail } })
  })

export const badRequest = makeCondition("modify", "bad-request")
export const invalidJid = makeCondition("modify", "bad-request", "invalid-jid")
export const jidMalformed = makeCondition("modify", "jid-malformed", "invalid-jid")
export const jidRequired = makeCondition("modify", "bad-request", "jid-required")
export const nodeRequired = makeCondition("modify", "bad-request", "nodeid-required")
export const invalidFormat = makeCondition("modify", "bad-request", "invalid-options")
export const notAcceptable = makeCondition("modify", "not-acceptable")
export const noSuchNode = makeCondition("cancel", "item-not-found")
export const serviceUnavailable = makeCondition("cancel", "service-unavailable")
export const forbidden = makeCondition("auth", "forbidden")
export const overloaded = makeCondition("wait", "resource-constraint")
export const internalError = makeCondition("wait", "internal-server-error")
const notSubscribed = makeCondition("cancel", "unexpected-request", "not-subscribed")
const notAllowed = makeCondition("cancel", "not-allowed")

/** `feature` is the XEP-0060 name of the unsupported feature. */
export const unsupported = (feature: string, text: string): Condition => ({
  type: "cancel",
  name: "feature-not-implemented",
  text,
  detail: { name: "unsupported", feature }
})

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
      return notSubscribed(reason.message)
    case "NotVerified":
      return notAllowed(reason.message)
    case "Unauthenticated":
    case "Forbidden":
      return forbidden(reason.message)
    case "Throttled":
      return overloaded(reason.message)
    case "Unavailable":
      return internalError(reason.message)
  }
}
