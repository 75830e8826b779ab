import { Effect, Stream } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Refusal } from "#domain/Refusal.ts"
import type { Declined } from "./Declined.ts"
import type { Place } from "./Room.ts"

/** How large a body may be, and what is said to one that does not come whole. */
export interface Terms {
  readonly max: number
  readonly tooLarge: Declined
  readonly noRoom: Refusal
  readonly brokenOff: Declined
}

/** The bytes of a body; its place grows with them. */
export const arriving = Effect.fnUntraced(function*(
  request: HttpServerRequest.HttpServerRequest,
  place: Place,
  { brokenOff, max, noRoom, tooLarge }: Terms
): Effect.fn.Return<Uint8Array<ArrayBuffer>, Refusal | Declined> {
  if (Number(request.headers["content-length"] ?? 0) > max) return yield* tooLarge
  const chunks: Array<Uint8Array> = []
  let length = 0
  const bytes = Stream.mapError(request.stream, () => brokenOff)
  yield* Stream.runForEach(bytes, (chunk): Effect.Effect<void, Refusal | Declined> => {
    length += chunk.length
    if (length > max) return Effect.fail(tooLarge)
    if (!place.grow(chunk.length)) return Effect.fail(noRoom)
    chunks.push(chunk)
    return Effect.void
  })
  return new Uint8Array(Buffer.concat(chunks, length))
})
