import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { type Refusal, refuseUnavailable } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import { parseBody, parseForm } from "./BodyFormats.ts"
import { growTo } from "#actors/limits/MemoryRoom.ts"
import { type BodyLimits, readBytes } from "./BodyReader.ts"
import { clientAddress } from "./ClientAddress.ts"
import { type HttpRejection, malformed, tooLarge, unsupportedBody } from "./HttpRejection.ts"
import type { MemoryBudget, MemoryReservation } from "#domain/collections/MemoryBudget.ts"
import { merge, type Parameters } from "./Parameters.ts"
import { readSmallBody } from "./SmallBody.ts"

/** Maximum bytes of a request's body. */
export const maxBodyBytes = 1024 * 1024

/** Bytes that a body reserves, however short it is. */
const minReservationBytes = 1024

/** Maximum bytes of a small body. Windhover reserves its whole Content-Length at once and reads it in one piece, because this is cheaper. */
const maxSmallBodyBytes = 16 * 1024

/**
 * Runs `use` with the parameters of query and body. The body may be a form, JSON or multipart, whatever the method: some clients
 * send a query with POST, or a form with GET. A parameter of the body replaces one of the query.
 *
 * The body keeps its reservation until `use` ends.
 */
export const withParameters = <A, E>(
  budget: MemoryBudget,
  request: HttpServerRequest,
  use: (parameters: Parameters) => Effect.Effect<A, E>
): Effect.Effect<A, E | Refusal | HttpRejection> =>
  Effect.flatMap(parseForm(queryOf(request.url)), (query) =>
    hasBody(request)
      ? withBody(budget, request, (bytes) =>
        parsePairs(bytes, request).pipe(
          Effect.flatMap((body) => merge(query, body)),
          Effect.flatMap(use)
        ))
      : Effect.flatMap(merge(query, []), use))

/** The parameters of the query alone. */
export const readQueryParameters = (
  request: Pick<HttpServerRequest, "url">
): Effect.Effect<Parameters, Refusal | HttpRejection> =>
  Effect.flatMap(parseForm(queryOf(request.url)), (query) => merge(query, []))

/** Runs `use` with the bytes of the body, which keep their reservation until `use` ends. */
export const withBody = <A, E>(
  budget: MemoryBudget,
  request: HttpServerRequest,
  use: (bytes: Uint8Array<ArrayBuffer>) => Effect.Effect<A, E>
): Effect.Effect<A, E | Refusal | HttpRejection> =>
  Effect.suspend(() => {
    let reservation: MemoryReservation | undefined
    const read = Effect.suspend(() => {
      // A body arrives before its credentials are known, so that it has the share of strangers.
      reservation = budget.reserve(clientAddress(request), true)
      return Effect.flatMap(readUncompressed(request, reservation), use)
    })
    return Effect.ensuring(read, Effect.sync(() => reservation?.release()))
  })

const hasBody = ({ headers, method }: HttpServerRequest): boolean =>
  method === "POST" || headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"

const queryOf = (url: string): string => {
  const start = url.indexOf("?")
  if (start < 0) return ""
  const end = url.indexOf("#", start)
  return url.slice(start + 1, end < 0 ? undefined : end)
}

const readUncompressed = (request: HttpServerRequest, reservation: MemoryReservation) => {
  const encoding = request.headers["content-encoding"]
  return encoding === undefined || encoding.toLowerCase() === "identity"
    ? readBody(request, reservation)
    : Effect.fail(unsupportedBody(`The body has the Content-Encoding ${quote(encoding)}; send it uncompressed.`))
}

const parsePairs = (bytes: Uint8Array<ArrayBuffer>, { headers }: HttpServerRequest) =>
  bytes.byteLength === 0 ? Effect.succeed([]) : parseBody(bytes, headers["content-type"] ?? "")

const readBody = (
  request: HttpServerRequest,
  reservation: MemoryReservation
): Effect.Effect<Uint8Array<ArrayBuffer>, Refusal | HttpRejection> => {
  const { "content-length": announced, "transfer-encoding": chunked } = request.headers
  const length = chunked === undefined ? Number(announced ?? 0) : Infinity
  if (length > maxSmallBodyBytes) return readBytes(request, reservation, limits)
  const body = readSmallBody(request, limits.incomplete)
  const bytes = Math.max(length, minReservationBytes)
  return reservation.tryGrow(bytes) ? body : Effect.andThen(growTo(reservation, bytes, outOfMemory), body)
}

const outOfMemory = refuseUnavailable("Too many large requests are under way. Please try again.", 5)

const limits: BodyLimits = {
  maxBytes: maxBodyBytes,
  tooLarge: tooLarge(`The body of the request has more than ${maxBodyBytes} bytes; send less.`),
  outOfMemory,
  incomplete: malformed("The body of the request ended early or could not be read.")
}
