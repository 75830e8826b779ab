import { Effect, Stream } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { Refusal } from "#domain/Refusal.ts"
import { growTo } from "#actors/limits/MemoryRoom.ts"
import type { HttpRejection } from "./HttpRejection.ts"
import type { MemoryReservation } from "#domain/collections/MemoryBudget.ts"

/** Size limit of a body, and the errors for a body that exceeds a limit or ends early. */
export interface BodyLimits {
  readonly maxBytes: number
  readonly tooLarge: HttpRejection
  readonly outOfMemory: Refusal
  readonly incomplete: HttpRejection
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
