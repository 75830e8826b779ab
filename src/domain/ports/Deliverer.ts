import { Context, type Effect, Schema } from "effect"
import type { SignatureMethod } from "#domain/Subscription.ts"
import { reasonOf } from "./Reason.ts"

/** One POST to a callback. */
export interface Parcel {
  readonly callback: string
  readonly contentType: string
  readonly body: Uint8Array
  /** Everything but Content-Type, Content-Length, Host and the signatures. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  /** Signs the body (`X-Hub-Signature`); without it nothing is signed. */
  readonly secret?: string
  /** How; undefined: SHA-1, and SHA-256 beside it. */
  readonly signature?: SignatureMethod
}

export interface DeliveryResponse {
  /** Any HTTP status; 2xx is success. */
  readonly status: number
  /** Milliseconds from the start of the request to the end of the answer. */
  readonly latency: number
  /** First characters of the answer's body, for the delivery log; bounded. */
  readonly excerpt: string
}

/** No answer came from the callback. `Withheld`: nothing was sent, since it was not to be any more when it could. */
export class DeliveryError extends Schema.TaggedError<DeliveryError>()("DeliveryError", {
  reason: reasonOf(["RefusedAddress", "Dns", "Connect", "Tls", "Timeout", "Protocol", "Withheld"])
}) {
  override get message(): string {
    return this.reason.message
  }
}

/** Posts notifications to callbacks: 10 s at most each, redirects not followed, addresses guarded. */
export class Deliverer extends Context.Service<Deliverer, {
  /** `mayLeave` is asked when there is a connection, just before the first byte is written. */
  readonly post: (parcel: Parcel, mayLeave?: () => boolean) => Effect.Effect<DeliveryResponse, DeliveryError>
}>()("windhover/domain/ports/Deliverer") {}
