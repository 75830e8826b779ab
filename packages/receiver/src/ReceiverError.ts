/** Reason of a refused request. */
export type ReceiverErrorCode =
  | "missing-signature"
  | "wrong-signature"
  | "expired-timestamp"
  | "invalid-header"
  | "incomplete-body"
  | "too-large"
  | "busy"
  | "wrong-method"
  | "wrong-intent"
  | "refused-topic"
  | "parsed-body"

const statuses: { readonly [code in ReceiverErrorCode]: number } = {
  "missing-signature": 401,
  "wrong-signature": 401,
  "expired-timestamp": 401,
  "invalid-header": 400,
  "incomplete-body": 400,
  "too-large": 413,
  "busy": 503,
  "wrong-method": 405,
  "wrong-intent": 400,
  "refused-topic": 404,
  "parsed-body": 500
}

/** A refused request. `message` is the sentence of the response, and tells the next step. */
export class ReceiverError extends Error {
  override readonly name = "ReceiverError"
  readonly code: ReceiverErrorCode

  constructor(code: ReceiverErrorCode, message: string) {
    super(message)
    this.code = code
  }

  /** HTTP status of the response. */
  get status(): number {
    return statuses[this.code]
  }
}
