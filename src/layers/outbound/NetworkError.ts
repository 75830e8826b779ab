/** The stage at which an exchange failed: the kinds that fetches and deliveries have in common. */
export type FailureKind = "RefusedAddress" | "Dns" | "Connect" | "Tls" | "Timeout" | "Protocol"

/**
 * Why no answer came: `host: reason` is a sentence for people, without anything secret of the URL.
 *
 * A plain `Error`, because it passes through undici and node's sockets before it becomes the error of a port.
 */
export class NetworkError extends Error {
  readonly kind: FailureKind
  readonly reason: string
  /** The answer had not begun, on a connection that was closed: another connection may fare better. */
  readonly closedEarly: boolean
  constructor(
    kind: FailureKind,
    host: string,
    reason: string,
    options?: ErrorOptions & { readonly closedEarly?: boolean }
  ) {
    super(`${host}: ${reason}`, options)
    this.kind = kind
    this.reason = reason
    this.closedEarly = options?.closedEarly ?? false
  }
}

/** Who asked took the request back before the first byte was written. */
export class Unsent extends NetworkError {
  constructor(host: string) {
    super("Protocol", host, "taken back before it was sent")
  }
}

/** What a socket or undici reported, in words. `host` is named in the sentence. */
export const explain = (error: unknown, host: string, answered = false): NetworkError => {
  if (error instanceof NetworkError) return error
  const code = codeOf(error)
  const tls = tlsReason(code, error)
  if (tls !== undefined) return new NetworkError("Tls", host, tls, { cause: error })
  if (code === "ETIMEDOUT" && !answered) return new NetworkError("Timeout", host, "no connection", { cause: error })
  const connecting = connectReasons[code]
  if (connecting !== undefined && !answered) return new NetworkError("Connect", host, connecting, { cause: error })
  const early = !answered && closings.has(code)
  const reason = answered && closings.has(code)
    ? "the connection was closed before the answer was complete"
    : protocolReasons[code] ?? `not readable as HTTP (${code})`
  return new NetworkError("Protocol", host, reason, { cause: error, closedEarly: early })
}

/** The machine-readable name of an error; of several attempts, that of the last. */
export const codeOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors.at(-1))
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code
  return error instanceof Error ? error.name : "unknown"
}

/** Node's TLS codes are OpenSSL's verification results, or start with ERR_SSL / ERR_TLS. */
const tlsReason = (code: string, error: unknown): string | undefined => {
  const known = certificateReasons[code]
  if (known !== undefined) return known
  if (code === "EPROTO" || code.startsWith("ERR_SSL_")) return `TLS handshake failed (${opensslReason(error) ?? code})`
  return code.startsWith("ERR_TLS_") ? `TLS failed (${code})` : undefined
}

/** "wrong version number" out of "…:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:…". */
const opensslReason = (error: unknown): string | undefined =>
  error instanceof Error && "reason" in error && typeof error.reason === "string"
    ? error.reason.slice(0, 80)
    : undefined

const certificateReasons: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "certificate has expired",
  CERT_NOT_YET_VALID: "certificate is not valid yet",
  CERT_REVOKED: "certificate was revoked",
  CERT_UNTRUSTED: "certificate is not trusted",
  CERT_REJECTED: "certificate was rejected",
  CERT_SIGNATURE_FAILURE: "certificate has a wrong signature",
  DEPTH_ZERO_SELF_SIGNED_CERT: "certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "certificate chain ends in a self-signed certificate that is not trusted",
  UNABLE_TO_GET_ISSUER_CERT: "certificate chain is incomplete",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "certificate chain is incomplete or its authority is not known",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "certificate chain is incomplete (an intermediate certificate is missing)",
  INVALID_CA: "certificate was issued by something that is no certificate authority",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate is for another name"
}

const connectReasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  EHOSTUNREACH: "host unreachable",
  ENETUNREACH: "network unreachable",
  EHOSTDOWN: "host is down",
  EADDRNOTAVAIL: "address cannot be reached from here",
  EACCES: "connection forbidden by this machine",
  EPERM: "connection forbidden by this machine",
  EMFILE: "this machine has no free sockets",
  ENFILE: "this machine has no free sockets"
}

/** The peer, or something on the way, ended the connection. */
const closings: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED", "UND_ERR_SOCKET"])

const protocolReasons: Readonly<Record<string, string>> = {
  ECONNRESET: "the connection was reset before an answer came",
  EPIPE: "the connection was closed before an answer came",
  ECONNABORTED: "the connection was closed before an answer came",
  UND_ERR_SOCKET: "the connection was closed before an answer came",
  ETIMEDOUT: "the connection died before the answer was complete",
  UND_ERR_HEADERS_OVERFLOW: "the header fields of the answer are too large",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "the body is not as long as its Content-Length says",
  UND_ERR_INVALID_ARG: "the request cannot be put into HTTP",
  UND_ERR_DESTROYED: "stopped: the service is shutting down",
  UND_ERR_CLOSED: "stopped: the service is shutting down"
}
