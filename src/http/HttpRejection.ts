import { Schema } from "effect"

/**
 * What HTTP itself does not allow, before any operation is asked.
 *
 * `Refusal` says that an operation will not do it; this says that the request could not be taken at all.
 */
export class HttpRejection extends Schema.TaggedError<HttpRejection>()("Declined", {
  status: Schema.Literals([400, 404, 405, 408, 413, 415, 500]),
  message: Schema.String,
  /** Methods that would be right, for 405. */
  allow: Schema.optionalKey(Schema.String)
}) {}

export const malformed = (message: string): HttpRejection => new HttpRejection({ status: 400, message })

export const tooLarge = (message: string): HttpRejection => new HttpRejection({ status: 413, message })
