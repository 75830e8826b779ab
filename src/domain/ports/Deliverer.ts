import { Context, type Effect, Schema } from "effect"
import type { OwnHeader } from "#domain/delivery/OwnHeaders.ts"
import type { SignatureMethod } from "#domain/Subscription.ts"
import { reasonOf } from "./Reason.ts"

/** The consent of a stranger's callback. */
export interface Consent {
  /** Whether the callback has agreed at an address of this network. */
  readonly isAgreed: (network: string) => boolean
  /** Whether the parcel may be sent to a network that has not agreed. */
  readonly mayIntroduce: boolean
}

/** One POST to a callback. */
export interface Parcel {
  /** Id of the notification, the same at each try. */
  readonly id: string
  readonly callback: string
  readonly contentType: string
  readonly body: Uint8Array
  /** All headers except Content-Type, Content-Length, Host and the signatures. */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  /** Headers of the subscriber's own. No log repeats their values. */
  readonly ownHeaders?: ReadonlyArray<OwnHeader>
  /** Signs the body (`X-Hub-Signature`, `webhook-signature`); unsigned without a secret. */
  readonly secret?: string
  /** Signs beside `secret` during a rotation (`webhook-signature`). */
  readonly previousSecret?: string
  /** HMAC method; undefined for SHA-1 with SHA-256 beside it. */
  readonly signature?: SignatureMethod
  /** For the callbacks of strangers; callbacks of accounts may move. */
  readonly consent?: Consent
  /** The upload of a large body stops as soon as a refusal begins, and its connection is closed. */
  readonly stopsEarly?: boolean
}

export interface DeliveryResponse {
  /** Any HTTP status; 2xx is success. */
  readonly status: number
  /** Milliseconds from the start of the request to the end of the answer. */
  readonly latency: number
  /** The Retry-After field, as received. */
  readonly retryAfter?: string
  /** First characters of the answer's body, for the delivery log; bounded. */
  readonly excerpt: string
  /** The answer came from a network that has not agreed. */
  readonly isElsewhere?: true
}

/**
 * A POST without an answer. `LeaseLost`: the request was not sent, because the runner lost the lease before the first byte. `Moved`: not
 * sent, because the callback's name leads to a network that has not agreed.
 */
export class DeliveryError extends Schema.TaggedError<DeliveryError>()("DeliveryError", {
  reason: reasonOf(["RefusedAddress", "Dns", "Connect", "Tls", "Timeout", "Protocol", "LeaseLost", "Moved"]),
  isElsewhere: Schema.optionalKey(Schema.Boolean)
}) {
  override get message(): string {
    return this.reason.message
  }
}

/** Posts notifications to callbacks, within 10 s each, without redirects, to guarded addresses. */
export class Deliverer extends Context.Service<Deliverer, {
  /** Calls `isLeaseHeld` on an open connection, just before the first byte. */
  readonly post: (parcel: Parcel, isLeaseHeld?: () => boolean) => Effect.Effect<DeliveryResponse, DeliveryError>
}>()("windhover/domain/ports/Deliverer") {}
