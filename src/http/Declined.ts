import { Schema } from "effect"

/**
 * What HTTP itself does not allow, before any operation is asked.
 *
 * `Refusal` says that an operation will not do it; this says that the request could not be taken at all.
 */
export class Declined extends Schema.TaggedError<Declined>()("Declined", {
  status: Schema.Literals([400, 404, 405, 408, 413, 415, 500]),
  message: Schema.String,
  /** Methods that would be right, for 405. */
  allow: Schema.optionalKey(Schema.String)
}) {}

export const malformed = (message: string): Declined => new Declined({ status: 400, message })

export const tooLarge = (message: string): Declined => new Declined({ status: 413, message })
