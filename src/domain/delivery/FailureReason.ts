/**
 * Reasons of a failed attempt, as words of a closed list. Clients branch on these words, so that a word never changes its meaning.
 *
 * The first ones have no HTTP status. `bounced`, `xmpp` and `refused-intent` belong to returned messages, to an XMPP server that does not
 * take a notification, and to a verification of intent; `secret` to a stored secret that cannot be decrypted. `held`: not sent, because the
 * callback of a stranger fails, or its name leads to a network that has not agreed.
 */
export const failureReasons = [
  "refused-address",
  "dns",
  "connect",
  "tls",
  "timeout",
  "protocol",
  "bounced",
  "xmpp",
  "refused-intent",
  "secret",
  "held",
  "redirect",
  "unauthorized",
  "not-found",
  "gone",
  "too-large",
  "rate-limited",
  "client-error",
  "server-error",
  "unknown-status"
] as const

export type FailureReason = typeof failureReasons[number]

/** The reasons without an HTTP status. */
export type SilentReason = Exclude<
  FailureReason,
  | "redirect"
  | "unauthorized"
  | "not-found"
  | "gone"
  | "too-large"
  | "rate-limited"
  | "client-error"
  | "server-error"
  | "unknown-status"
>

/** The reason of an answer that is no success. */
export const reasonOfStatus = (status: number): FailureReason => {
  switch (status) {
    case 401:
    case 403:
    case 407:
      return "unauthorized"
    case 404:
      return "not-found"
    case 410:
      return "gone"
    case 413:
      return "too-large"
    case 429:
      return "rate-limited"
  }
  if (status >= 300 && status < 400) return "redirect"
  if (status >= 400 && status < 500) return "client-error"
  return status >= 500 && status < 600 ? "server-error" : "unknown-status"
}

/** The reasons of a POST without an answer, by the tag of its error. */
export const reasonOfError = {
  RefusedAddress: "refused-address",
  Dns: "dns",
  Connect: "connect",
  Tls: "tls",
  Timeout: "timeout",
  Protocol: "protocol",
  Moved: "held"
} as const satisfies Record<string, SilentReason>

/** A sentence with the usual remedy. */
export const explainReason = (reason: FailureReason): string => explanations[reason]

/** A failure in sentences: the message of its attempt, and the parts of the explanation that the message does not have. */
export const describeFailure = (
  { message, reason }: { readonly message: string; readonly reason?: FailureReason | undefined }
): string => {
  const ended = message === "" || /[.!?]$/.test(message) ? message : `${message}.`
  if (reason === undefined) return ended
  const missing = explainReason(reason).split(/(?<=\.) /).filter((sentence) => !ended.includes(sentence))
  return [ended, ...missing].filter((sentence) => sentence !== "").join(" ")
}

const explanations: { readonly [reason in FailureReason]: string } = {
  "refused-address": "The name of the callback resolves to an address to which this service does not connect.",
  dns: "The name of the callback could not be resolved.",
  connect: "No connection to the callback's server could be made.",
  tls: "The server of the callback has no certificate that is valid for its name, or the TLS handshake failed.",
  timeout: "The callback did not answer in time. It should answer first, and work afterwards.",
  protocol: "The connection broke, or the answer was no valid HTTP.",
  bounced: "The XMPP message was returned by its recipient or by a server.",
  xmpp: "The XMPP server did not take the message.",
  "refused-intent":
    "The callback did not confirm the subscription. It has to answer 2xx with the challenge as its body.",
  secret: "The stored secret of the subscription cannot be decrypted.",
  held: "Nothing was sent, because the callback fails, or its name leads to a network where it has not agreed.",
  redirect: "Redirects are not followed: subscribe the new URL.",
  unauthorized: "The callback requires a login that the notification does not have, or forbids it.",
  "not-found": "The server of the callback does not know its path.",
  gone: "The callback answered 410, which ends its subscription.",
  "too-large": "The callback does not take a notification of this size.",
  "rate-limited": "The callback received too many requests.",
  "client-error": "The callback rejects the notification.",
  "server-error": "The callback failed. Its own log has the reason.",
  "unknown-status": "The callback answered with a status that is neither a success nor a known failure."
}
