import { Result, Schema } from "effect"

/** Parses JSON of a client or a publisher, of any shape. */
export const parseJson = Schema.decodeUnknownResult(Schema.fromJsonString(Schema.Unknown))

const decoder = new TextDecoder()

/** A JSON document on one line; undefined for other bytes. */
export const compactJson = (bytes: Uint8Array): string | undefined =>
  Result.match(parseJson(decoder.decode(bytes)), { onSuccess: JSON.stringify, onFailure: () => undefined })

/** Characters of the name of a JSONP function, at most. */
export const maxJsonpNameLength = 128

const identifier = "[A-Za-z_$][\\w$]*"

const namePattern = new RegExp(`^${identifier}(?:\\.${identifier}|\\[\\d{1,9}\\])*$`)

/** True for a name, a path of names or an index. Statements, calls and ends of a script are not names. */
export const isJsonpName = (name: string): boolean => name.length <= maxJsonpNameLength && namePattern.test(name)

/** A script that passes JSON to the function `name`. Escapes U+2028 and U+2029, because they end a line in older scripts. */
export const wrapJson = (name: string, json: string): string =>
  `${name}(${json.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")})`
