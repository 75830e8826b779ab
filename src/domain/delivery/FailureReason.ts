/**
 * Reasons of a failed attempt, as words of a closed list. Clients branch on these words, so that a word never changes its meaning.
 *
 * The first ones have no HTTP status. `bounced`, `xmpp` and `refused-intent` belong to returned messages, to an XMPP server that does not
 * take a notification, and to a verification of intent; `secret` to a stored secret that cannot be decrypted.
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
  Protocol: "protocol"
} as const satisfies Record<string, SilentReason>
