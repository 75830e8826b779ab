import { Schema } from "effect"

const fields = { message: Schema.String }

/** The body cannot be parsed, or ended early. */
export class Malformed extends Schema.TaggedClass<Malformed>()("Malformed", fields) {}

/** The resource takes other methods, named in `allow` (`GET, HEAD`). */
export class MethodNotAllowed
  extends Schema.TaggedClass<MethodNotAllowed>()("MethodNotAllowed", { ...fields, allow: Schema.String }) {}

/** The body did not arrive in time. */
export class TooSlow extends Schema.TaggedClass<TooSlow>()("TooSlow", fields) {}

/** The request has too many bytes or parameters. */
export class TooLarge extends Schema.TaggedClass<TooLarge>()("TooLarge", fields) {}

/** The body has a Content-Type or Content-Encoding that Windhover does not read. */
export class UnsupportedBody extends Schema.TaggedClass<UnsupportedBody>()("UnsupportedBody", fields) {}

export type HttpRejectionReason = Malformed | MethodNotAllowed | TooSlow | TooLarge | UnsupportedBody

/** From reasons to statuses, exhaustively: a new reason does not compile until it has a status. */
const statuses: { readonly [Tag in HttpRejectionReason["_tag"]]: number } = {
  Malformed: 400,
  MethodNotAllowed: 405,
  TooSlow: 408,
  TooLarge: 413,
  UnsupportedBody: 415
}

/**
 * A request that HTTP itself does not allow. Windhover rejects the request before an operation runs.
 *
 * An operation that does not accept its parameters fails with a `Refusal` instead.
 */
export class HttpRejection extends Schema.TaggedError<HttpRejection>()("HttpRejection", {
  reason: Schema.Union([Malformed, MethodNotAllowed, TooSlow, TooLarge, UnsupportedBody])
}) {
  override get message(): string {
    return this.reason.message
  }

  get status(): number {
    return statuses[this.reason._tag]
  }
}

const reject = (reason: HttpRejectionReason): HttpRejection => new HttpRejection({ reason })

export const malformed = (message: string): HttpRejection => reject(new Malformed({ message }))

export const methodNotAllowed = (message: string, allow: string): HttpRejection =>
  reject(new MethodNotAllowed({ message, allow }))

export const tooSlow = (message: string): HttpRejection => reject(new TooSlow({ message }))

export const tooLarge = (message: string): HttpRejection => reject(new TooLarge({ message }))

export const unsupportedBody = (message: string): HttpRejection => reject(new UnsupportedBody({ message }))
