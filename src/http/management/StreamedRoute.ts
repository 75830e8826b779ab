import { Effect, type Schema, type Scope } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type { Refusal } from "#domain/Refusal.ts"
import type { HttpRejection } from "#http/HttpRejection.ts"
import type { ManagementCall, RouteHead } from "./ManagementRoute.ts"
import { decodeInput, type InputSchema, type ReceivedInput } from "./ReadInput.ts"

/**
 * A route whose response is a stream, and whose body may be a file.
 *
 * Its parameters are in the query, whatever the method.
 */
export interface StreamedRoute<out R> extends RouteHead {
  readonly input: Schema.Codec<unknown>
  /** Description of the file in the body; undefined for a route without one. */
  readonly body?: string
  /** Content types of the response. */
  readonly produces: ReadonlyArray<string>
  readonly open: (
    received: ReceivedInput,
    call: ManagementCall,
    request: HttpServerRequest
  ) => Effect.Effect<HttpServerResponse, Refusal | HttpRejection, R | Scope.Scope>
}

/** Makes a route whose handler `run` gets the decoded query. */
export const makeStreamedRoute = <Input extends object, R>(
  { input, run, ...head }: Omit<StreamedRoute<R>, "input" | "open"> & {
    readonly input: InputSchema<Input>
    readonly run: (
      input: Input,
      call: ManagementCall,
      request: HttpServerRequest
    ) => Effect.Effect<HttpServerResponse, Refusal | HttpRejection, R | Scope.Scope>
  }
): StreamedRoute<R> => ({
  ...head,
  input,
  open: (received, call, request) =>
    Effect.flatMap(decodeInput(input, received), (decoded) => run(decoded, call, request))
})
