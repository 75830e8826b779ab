import { Effect, Stream } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { Refusal } from "#domain/Refusal.ts"
import type { HttpRejection } from "./HttpRejection.ts"
import type { MemoryReservation } from "#domain/collections/MemoryBudget.ts"

/** Size limit of a body, and the errors for a body that exceeds a limit or ends early. */
export interface BodyLimits {
  readonly maxBytes: number
  readonly tooLarge: HttpRejection
  readonly outOfMemory: Refusal
  readonly incomplete: HttpRejection
}

/** Time that a body or a response waits for room. A client's connection is not read meanwhile. */
const maxWait = "5 seconds"

/** Grows a reservation to `bytes`, at once or in turn. Fails with `refusal` after 5 s without room. */
export const growTo = <E>(reservation: MemoryReservation, bytes: number, refusal: E): Effect.Effect<void, E> => {
  const missing = bytes - reservation.bytes
  if (missing <= 0 || reservation.tryGrow(missing)) return Effect.void
  return Effect.callback<void>((resume) => reservation.grow(missing, () => resume(Effect.void))).pipe(
    Effect.timeoutOrElse({ duration: maxWait, orElse: () => Effect.fail(refusal) })
  )
}

/** Reads the bytes of a body and counts them in `reservation` as they arrive. */
export const readBytes = Effect.fnUntraced(function*(
  request: HttpServerRequest,
  reservation: MemoryReservation,
  { incomplete, maxBytes, outOfMemory, tooLarge }: BodyLimits
): Effect.fn.Return<Uint8Array<ArrayBuffer>, Refusal | HttpRejection> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return yield* tooLarge
  const chunks: Array<Uint8Array> = []
  let length = 0
  const bytes = Stream.mapError(request.stream, () => incomplete)
  yield* Stream.runForEach(bytes, (chunk): Effect.Effect<void, Refusal | HttpRejection> => {
    length += chunk.length
    if (length > maxBytes) return Effect.fail(tooLarge)
    chunks.push(chunk)
    return growTo(reservation, length, outOfMemory)
  })
  return new Uint8Array(Buffer.concat(chunks, length))
})
