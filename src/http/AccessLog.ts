import { Clock, Effect, Exit, type Types } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { rawClientAddress } from "./ClientAddress.ts"

type Response = HttpServerResponse.HttpServerResponse

/** Logs one line a request. The query is left out, because it may hold credentials and secrets. */
export const logRequests = (
  handler: Effect.Effect<Response, Types.unhandled>
): Effect.Effect<Response, Types.unhandled> =>
  Effect.gen(function*() {
    const startedAt = yield* Clock.currentTimeMillis
    const exit = yield* Effect.exit(handler)
    const request = yield* Effect.serviceOption(HttpServerRequest.HttpServerRequest)
    if (request._tag === "Some") {
      yield* Effect.logInfo("A request was answered.").pipe(Effect.annotateLogs({
        client: rawClientAddress(request.value),
        method: request.value.method,
        path: request.value.url.split("?", 1)[0] ?? "",
        status: Exit.isSuccess(exit) ? exit.value.status : "disconnected",
        milliseconds: (yield* Clock.currentTimeMillis) - startedAt
      }))
    }
    return yield* exit
  })
