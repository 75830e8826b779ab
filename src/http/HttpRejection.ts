import { Schema } from "effect"

const fields = { message: Schema.String }

/** The body cannot be parsed, or ended early. */
class Malformed extends Schema.TaggedClass<Malformed>()("Malformed", fields) {}

/** The resource takes other methods, named in `allow` (`GET, HEAD`). */
export class MethodNotAllowed
  extends Schema.TaggedClass<MethodNotAllowed>()("MethodNotAllowed", { ...fields, allow: Schema.String }) {}

/** The body did not arrive in time. */
class TooSlow extends Schema.TaggedClass<TooSlow>()("TooSlow", fields) {}

/** The request has too many bytes or parameters. */
export class TooLarge extends Schema.TaggedClass<TooLarge>()("TooLarge", fields) {}

/** The body has a Content-Type or Content-Encoding that Windhover does not read. */
class UnsupportedBody extends Schema.TaggedClass<UnsupportedBody>()("UnsupportedBody", fields) {}

/** A page of another site sent a request with effects and the browser's stored credentials. */
class CrossSite extends Schema.TaggedClass<CrossSite>()("CrossSite", fields) {}

type HttpRejectionReason = Malformed | CrossSite | MethodNotAllowed | TooSlow | TooLarge | UnsupportedBody

/** From reasons to statuses, exhaustively: a new reason does not compile until it has a status. */
const statuses: { readonly [Tag in HttpRejectionReason["_tag"]]: number } = {
  Malformed: 400,
  CrossSite: 403,
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
  reason: Schema.Union([Malformed, CrossSite, MethodNotAllowed, TooSlow, TooLarge, UnsupportedBody])
}) {
  override get message(): string {
    return this.reason.message
  }

  get status(): number {
    return statuses[this.reason._tag]
  }
}

const rejectWith = (Reason: new(fields: { readonly message: string }) => HttpRejectionReason) => (message: string) =>
  new HttpRejection({ reason: new Reason({ message }) })

export const malformed = rejectWith(Malformed)
export const crossSite = rejectWith(CrossSite)
export const tooSlow = rejectWith(TooSlow)
export const tooLarge = rejectWith(TooLarge)
export const unsupportedBody = rejectWith(UnsupportedBody)

export const methodNotAllowed = (message: string, allow: string) =>
  new HttpRejection({ reason: new MethodNotAllowed({ message, allow }) })
