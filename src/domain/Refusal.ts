import { Schema } from "effect"

/**
 * Reason of a refused request. Each reason has the sentence for the caller: the mistake, the received text, the correct form.
 *
 * `http/Reply.ts` and `xmpp/Conditions.ts` map reasons to their wires, exhaustively.
 */
export class BadParameter extends Schema.TaggedClass<BadParameter>()("BadParameter", {
  parameter: Schema.String,
  message: Schema.String
}) {}

export class NotSubscribed extends Schema.TaggedClass<NotSubscribed>()("NotSubscribed", { message: Schema.String }) {}

/** The callback did not confirm the intent. */
export class NotVerified extends Schema.TaggedClass<NotVerified>()("NotVerified", { message: Schema.String }) {}

export class Unauthenticated
  extends Schema.TaggedClass<Unauthenticated>()("Unauthenticated", { message: Schema.String }) {}

export class Forbidden
  extends Schema.TaggedClass<Forbidden>()("Forbidden", { right: Schema.String, message: Schema.String }) {}

/** Too many requests; `retryAfter` in seconds. */
export class Throttled extends Schema.TaggedClass<Throttled>()("Throttled", {
  message: Schema.String,
  retryAfter: Schema.Finite
}) {}

/** A needed part is unavailable at the moment, as the database or the owner of a partition. `retryAfter` in seconds. */
export class Unavailable extends Schema.TaggedClass<Unavailable>()("Unavailable", {
  message: Schema.String,
  retryAfter: Schema.Finite
}) {}

export type RefusalReason =
  | BadParameter
  | NotSubscribed
  | NotVerified
  | Unauthenticated
  | Forbidden
  | Throttled
  | Unavailable

/** The error of all operations, for callers. */
export class Refusal extends Schema.TaggedError<Refusal>()("Refusal", {
  reason: Schema.Union([BadParameter, NotSubscribed, NotVerified, Unauthenticated, Forbidden, Throttled, Unavailable])
}) {
  override get message(): string {
    return this.reason.message
  }
}

export const refuse = (reason: RefusalReason): Refusal => new Refusal({ reason })

export const badParameter = (parameter: string, message: string): Refusal =>
  refuse(new BadParameter({ parameter, message }))

/** `retryAfter` is in seconds. */
export const refuseUnavailable = (message: string, retryAfter: number): Refusal =>
  refuse(new Unavailable({ message, retryAfter }))

/** `retryAfter` is in seconds. */
export const refuseThrottled = (message: string, retryAfter: number): Refusal =>
  refuse(new Throttled({ message, retryAfter }))
