import { responseFaults } from "./ResponseFault.ts"

/** The stage at which an exchange failed. Fetch errors and delivery errors share these stages. */
export type FailureStage = "RefusedAddress" | "Dns" | "Connect" | "Tls" | "Timeout" | "Protocol"

/** `LeaseLost` and `Moved`: the sender withdrew the request before the first byte was written. `text` ends the sentence `host: …`. */
export interface NetworkErrorReason {
  readonly _tag: FailureStage | "LeaseLost" | "Moved"
  readonly text: string
}

/**
 * Reports why an exchange got no response. `host: text` is a sentence for people, without secrets of the URL.
 *
 * A plain `Error`, because it passes through undici and Node's sockets before it becomes the error of a port.
 */
export class NetworkError extends Error {
  readonly _tag = "NetworkError"
  readonly reason: NetworkErrorReason
  /** The server closed the connection before its response began: a retry on another connection may succeed. */
  readonly isClosedEarly: boolean
  constructor(
    tag: NetworkErrorReason["_tag"],
    host: string,
    text: string,
    options?: ErrorOptions & { readonly isClosedEarly?: boolean }
  ) {
    super(`${host}: ${text}`, options)
    this.reason = { _tag: tag, text }
    this.isClosedEarly = options?.isClosedEarly ?? false
  }
}

/** Translates an error of a socket or of undici into words. `hasResponse`: the response had begun. */
export const toNetworkError = (error: unknown, host: string, hasResponse = false): NetworkError => {
  if (error instanceof NetworkError) return error
  const code = codeOf(error)
  const tls = explainTls(code, error)
  if (tls !== undefined) return new NetworkError("Tls", host, tls, { cause: error })
  if (code === "ETIMEDOUT" && !hasResponse) return new NetworkError("Timeout", host, "no connection", { cause: error })
  const connect = connectTexts[code]
  if (connect !== undefined && !hasResponse) return new NetworkError("Connect", host, connect, { cause: error })
  const isClosed = closingCodes.has(code)
  const text = hasResponse && isClosed
    ? responseFaults.incomplete
    : protocolTexts[code] ?? (isParserCode(code) ? responseFaults.unreadable : `not readable as HTTP (${code})`)
  return new NetworkError("Protocol", host, text, { cause: error, isClosedEarly: isClosed && !hasResponse })
}

/** undici knows no code for the newest refusals of its parser. */
export const isParserCode = (code: string): boolean => code.startsWith("HPE_") || code === "HTTPParserError"

/** The code of an error; of several attempts, the code of the last. */
export const codeOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors.at(-1))
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code
  return error instanceof Error ? error.name : "unknown"
}

/** Node's TLS codes are OpenSSL's verification results, or start with ERR_SSL / ERR_TLS. */
const explainTls = (code: string, error: unknown): string | undefined => {
  const certificate = certificateTexts[code]
  if (certificate !== undefined) return certificate
  if (code === "EPROTO" || code.startsWith("ERR_SSL_")) return `TLS handshake failed (${opensslReason(error) ?? code})`
  return code.startsWith("ERR_TLS_") ? `TLS failed (${code})` : undefined
}

/** Extracts "wrong version number" from "…:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:…". */
const opensslReason = (error: unknown): string | undefined =>
  error instanceof Error && "reason" in error && typeof error.reason === "string"
    ? error.reason.slice(0, 80)
    : undefined

const certificateTexts: Readonly<Record<string, string>> = {
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
  INVALID_CA: "the certificate's issuer is not a certificate authority",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate is for another name"
}

const connectTexts: Readonly<Record<string, string>> = {
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

/** Codes for a connection that the peer or a middlebox ended. */
const closingCodes: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED", "UND_ERR_SOCKET"])

const protocolTexts: Readonly<Record<string, string>> = {
  ECONNRESET: "the connection was reset before an answer came",
  EPIPE: "the connection was closed before an answer came",
  ECONNABORTED: "the connection was closed before an answer came",
  UND_ERR_SOCKET: "the connection was closed before an answer came",
  ETIMEDOUT: "the connection died before the answer was complete",
  UND_ERR_HEADERS_OVERFLOW: responseFaults.headerSize,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "the body is not as long as its Content-Length says",
  UND_ERR_INVALID_ARG: "the request cannot be put into HTTP",
  UND_ERR_DESTROYED: "stopped: the service is shutting down",
  UND_ERR_CLOSED: "stopped: the service is shutting down"
}
