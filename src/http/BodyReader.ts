import { Effect, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Refusal } from "#domain/Refusal.ts"
import type { HttpRejection } from "./HttpRejection.ts"
import type { Reservation } from "./MemoryBudget.ts"

/** How large a body may be, and what is said to one that does not come whole. */
export interface BodyLimits {
  readonly max: number
  readonly tooLarge: HttpRejection
  readonly noRoom: Refusal
  readonly brokenOff: HttpRejection
}

/** The bytes of a body; its place grows with them. */
export const readBytes = Effect.fnUntraced(function*(
  request: HttpServerRequest.HttpServerRequest,
  place: Reservation,
  { brokenOff, max, noRoom, tooLarge }: BodyLimits
): Effect.fn.Return<Uint8Array<ArrayBuffer>, Refusal | HttpRejection> {
  if (Number(request.headers["content-length"] ?? 0) > max) return yield* tooLarge
  const chunks: Array<Uint8Array> = []
  let length = 0
  const bytes = Stream.mapError(request.stream, () => brokenOff)
  yield* Stream.runForEach(bytes, (chunk): Effect.Effect<void, Refusal | HttpRejection> => {
    length += chunk.length
    if (length > max) return Effect.fail(tooLarge)
    if (!place.grow(chunk.length)) return Effect.fail(noRoom)
    chunks.push(chunk)
    return Effect.void
  })
  return new Uint8Array(Buffer.concat(chunks, length))
})
