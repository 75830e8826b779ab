import type { Effect, Schema } from "effect"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type { Hub } from "#actors/operations/Hub.ts"
import type { Caller, Right } from "#domain/Account.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import type { Refusal } from "#domain/Refusal.ts"
import type { HttpRejection } from "#http/HttpRejection.ts"
import type { Parameters } from "#http/Parameters.ts"
import type { AcceptedContents } from "./FatPing.ts"

/** An authenticated request to the API, with its parsed parameters. */
export interface ApiCall {
  readonly caller: Caller
  readonly method: string
  readonly parameters: Parameters
  readonly accept: string | undefined
  readonly ifNoneMatch: string | undefined
  readonly lastEventId: string | undefined
  /** Name of the caller's JavaScript function for a JSONP response. */
  readonly jsonp: string | undefined
  readonly service: ServiceInfo
}

/** The parts of the service that operations need besides the hub. */
export interface ServiceInfo extends Pick<SettingsValues, "extNamespace" | "publishers"> {
  /** URL of the hub in documents, see `hubUrlOf`. */
  readonly hub: string
  readonly acceptedContents: AcceptedContents
}

/**
 * An operation of the API: one entry of the table in `Operations.ts`.
 *
 * Routing, authorization, the list of modes in error sentences and the OpenAPI document follow from the entry.
 */
export interface Operation {
  /** The right that the caller needs; undefined when any valid credential suffices. */
  readonly right: Right | undefined
  /** True when the operation needs POST. Browsers fetch links and images with GET, without the user's consent. */
  readonly changesState: boolean
  /** True when the operation sends notifications. A page of another site may not cause them, also with GET. */
  readonly sendsNotifications?: boolean
  /** Parameters besides `hub.mode`, for the OpenAPI document. */
  readonly parameters: Schema.Codec<unknown>
  /** Parameters on `/stream`; absent when the operation cannot be streamed. */
  readonly streamParameters?: Schema.Codec<unknown>
  /** Schemas of the JSON responses with status 200; absent when the operation has none. */
  readonly responses?: ReadonlyArray<Schema.Codec<unknown>>
  readonly run: (
    hub: Hub["Service"],
    call: ApiCall
  ) => Effect.Effect<HttpServerResponse, Refusal | HttpRejection>
}
