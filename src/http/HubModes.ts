import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import { type HttpRejection, methodNotAllowed } from "./HttpRejection.ts"
import type { Parameters } from "./Parameters.ts"
import * as Reply from "./Reply.ts"

/** A mode that a request selects: its operation, and the word as the client sent it. */
interface SelectedMode<Operation> {
  readonly operation: Operation
  readonly given: string
}

/** The operations of an endpoint by `hub.mode`. `listing` names the modes in error sentences. */
export class HubModes<Operation> {
  readonly #operations: ReadonlyMap<string, Operation>
  readonly #listing: string

  constructor(operations: { readonly [mode: string]: Operation }, listing: string) {
    this.#operations = new Map(Object.entries(operations))
    this.#listing = listing
  }

  /** Reads `hub.mode`, in lower or upper case. */
  select(parameters: Parameters): Effect.Effect<SelectedMode<Operation>, Refusal> {
    return Effect.flatMap(parameters.one("hub.mode"), (given) => {
      if (given === undefined) {
        return Effect.fail(badParameter("hub.mode", `Please provide a hub.mode : ${this.#listing}`))
      }
      const operation = this.#operations.get(given.trim().toLowerCase())
      return operation !== undefined
        ? Effect.succeed({ operation, given })
        : Effect.fail(
          badParameter("hub.mode", `${quote(given).slice(1, -1)} is not a supported mode ${this.#listing}`)
        )
    })
  }
}

/** Rejection of a mode that changes state and did not arrive with POST. */
export const needsPost = (mode: string, method: string): HttpRejection =>
  methodNotAllowed(`hub.mode=${mode.trim()} changes state and needs POST; received ${method}.`, "POST")

/** The method of a request. `X-HTTP-Method-Override` replaces it, for clients behind a proxy that passes only GET and POST. */
export const readMethod = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<string, HttpRejection> => {
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
