import { Effect, type Schema } from "effect"
import type { Caller, Right } from "#domain/Account.ts"
import type { Refusal } from "#domain/Refusal.ts"
import type { HttpRejection } from "#http/HttpRejection.ts"
import { decodeInput, type InputSchema, type ReceivedInput } from "./ReadInput.ts"

/** An authenticated request below `/api`. */
export interface ManagementCall {
  readonly caller: Caller
}

/** A path with its method. GET reads and takes a query, POST changes or sends and takes a JSON object. */
export interface RouteHead {
  readonly method: "GET" | "POST"
  readonly path: `/api/${string}`
  /** The right that the caller needs. */
  readonly right: Right
  /** First line in the OpenAPI document, which lists the routes by `group`. */
  readonly summary: string
  readonly group: string
}

/**
 * A route of the management API: one entry of a table such as `RecoveryRoutes.ts`.
 *
 * Authentication, the reading of the request, its error sentences and the OpenAPI document follow from the entry. `R` are the services of
 * its handler.
 */
export interface ManagementRoute<out R> extends RouteHead {
  /** Parameters of the query, or fields of the JSON object. */
  readonly input: Schema.Codec<unknown>
  /** The JSON response with status 200. */
  readonly output: Schema.Codec<unknown>
  /** Decodes the request, and returns the JSON response. */
  readonly handle: (
    received: ReceivedInput,
    call: ManagementCall
  ) => Effect.Effect<unknown, Refusal | HttpRejection, R>
}

/** Makes a route whose handler `run` gets the decoded request and returns the JSON response. */
export const makeRoute = <Input extends object, Output, R>(
  { input, output, run, ...head }: RouteHead & {
    readonly input: InputSchema<Input>
    readonly output: Schema.Codec<Output>
    readonly run: (input: Input, call: ManagementCall) => Effect.Effect<Output, Refusal | HttpRejection, R>
  }
): ManagementRoute<R> => ({
  ...head,
  input,
  output,
  handle: (received, call) => Effect.flatMap(decodeInput(input, received), (decoded) => run(decoded, call))
})
