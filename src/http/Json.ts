import { Result, Schema } from "effect"

/** Parses JSON of a client or a publisher, of any shape. */
export const parseJson = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Unknown))

const decoder = new TextDecoder()

/** A JSON document on one line; undefined for other bytes. */
export const compactJson = (bytes: Uint8Array): string | undefined =>
  Result.match(parseJson(decoder.decode(bytes)), { onSuccess: JSON.stringify, onFailure: () => undefined })
