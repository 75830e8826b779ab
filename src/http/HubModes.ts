import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { badParameter } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import { type HttpRejection, methodNotAllowed } from "./HttpRejection.ts"
import type { Parameters } from "./Parameters.ts"
import * as Reply from "./Reply.ts"

/**
 * Selects an operation by `hub.mode`, in lower or upper case. Returns the word too, as the client sent it.
 *
 * `listing` names the modes in error sentences.
 */
export const selectMode = Effect.fnUntraced(function*<Operation>(
  parameters: Parameters,
  operations: { readonly [mode: string]: Operation },
  listing: string
) {
  const word = yield* parameters.one("hub.mode")
  if (word === undefined) return yield* badParameter("hub.mode", `Please provide a hub.mode : ${listing}`)
  const mode = word.trim().toLowerCase()
  const operation = Object.hasOwn(operations, mode) ? operations[mode] : undefined
  if (operation !== undefined) return { operation, word }
  return yield* badParameter("hub.mode", `${quote(word).slice(1, -1)} is not a supported mode ${listing}`)
})

/** Rejection of a mode that changes state and did not arrive with POST. */
export const needsPost = (mode: string, method: string): HttpRejection =>
  methodNotAllowed(`hub.mode=${mode.trim()} changes state and needs POST; received ${method}.`, "POST")

/** The method of a request. `X-HTTP-Method-Override` replaces it, for clients behind a proxy that passes only GET and POST. */
export const readMethod = (request: HttpServerRequest): Effect.Effect<string, HttpRejection> => {
  const override = request.headers["x-http-method-override"]
  const method = override === undefined || override.trim() === "" ? request.method : override.trim().toUpperCase()
  return Reply.methods.includes(method)
    ? Effect.succeed(method)
    : Effect.fail(
      methodNotAllowed(
        `The method ${quote(method)} is not allowed here; use GET or POST with a hub.mode.`,
        Reply.allowedMethods
      )
    )
}
