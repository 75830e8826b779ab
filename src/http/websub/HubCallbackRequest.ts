import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import { type Refusal, refuseUnavailable } from "#domain/Refusal.ts"
import type { HubIntent } from "#domain/websub/HubSubscription.ts"
import { type BodyLimits, readBytes } from "#http/BodyReader.ts"
import { type HttpRejection, malformed, tooLarge, tooSlow, unsupportedBody } from "#http/HttpRejection.ts"
import type { MemoryReservation } from "#domain/collections/MemoryBudget.ts"

/** Maximum bytes of a pushed document. The store accepts no larger document. */
const maxDocumentBytes = 8 * 1024 * 1024

/** Maximum time for the arrival of a pushed document. */
const arrivalTimeout = "10 seconds"

/** Parses a hub's verification of intent, or its denial; undefined for another request. */
export const parseIntent = (parameters: URLSearchParams): HubIntent | undefined => {
  const mode = parameters.get("hub.mode")?.toLowerCase()
  const topic = parameters.get("hub.topic")
  if (topic === null) return undefined
  if (mode === "denied") return { mode, topic, reason: parameters.get("hub.reason") ?? "no reason given" }
  if (mode !== "subscribe" && mode !== "unsubscribe" || !parameters.has("hub.challenge")) return undefined
  const lease = parameters.get("hub.lease_seconds") ?? ""
  return { mode, topic, ...(/^\d{1,15}$/.test(lease) ? { leaseSeconds: Number(lease) } : {}) }
}

/** Reads the document that a hub pushes. */
export const readDocument = (
  request: HttpServerRequest,
  reservation: MemoryReservation
): Effect.Effect<PushedDocument, Refusal | HttpRejection> => {
  const { headers } = request
  const encoding = headers["content-encoding"]?.toLowerCase() ?? "identity"
  if (encoding !== "identity") return Effect.fail(compressedDocument)
  const contentType = headers["content-type"] ?? "application/octet-stream"
  return Effect.map(readBytes(request, reservation, limits), (body) => ({ contentType, body })).pipe(
    Effect.timeoutOrElse({ duration: arrivalTimeout, orElse: () => Effect.fail(lateDocument) })
  )
}

const compressedDocument = unsupportedBody("Send the document uncompressed, without a Content-Encoding.")

const lateDocument = tooSlow(`The document did not arrive within ${arrivalTimeout}; send it again.`)

/** Refusal of a hub while other pushes take all room. */
export const tooManyPushes = refuseUnavailable("Too many documents are pushed at once. Please send it again.", 5)

const limits: BodyLimits = {
  maxBytes: maxDocumentBytes,
  tooLarge: tooLarge(`The document has more than ${maxDocumentBytes} bytes; send less.`),
  outOfMemory: tooManyPushes,
  incomplete: malformed("The document ended early or could not be read; send it again.")
}
