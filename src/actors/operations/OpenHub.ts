import { Context, Effect } from "effect"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import type { SubscribeRequest, UnsubscribeRequest } from "./Hub.ts"

/** The hub face. Its callers have no account, so that callbacks verify every request, within the rate limits of their site. */
export class OpenHub extends Context.Service<OpenHub, {
  readonly subscribe: (request: SubscribeRequest) => Effect.Effect<"done" | "pending", Refusal>
  readonly unsubscribe: (request: UnsubscribeRequest) => Effect.Effect<"done" | "pending", Refusal>
}>()("windhover/actors/operations/OpenHub") {}

/** Refuses a callback at this service itself, because Windhover would then receive its own notifications. */
export const refuseOwnAddress = (endpoint: string) =>
  Effect.fail(
    badParameter("hub.callback", `${quote(endpoint)} is an address of this hub itself: give one of your own.`)
  )
