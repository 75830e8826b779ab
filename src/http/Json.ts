import { parseExactJson } from "#domain/ExactJson.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import { decodeDocument } from "#domain/normalize/bytes/DecodeDocument.ts"

/** Parses JSON of a client. A number that JavaScript would round becomes its digits. `undefined` for invalid JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return parseExactJson(text, keepUnsafeDigits)
  } catch {
    return undefined // no value of JSON is undefined
  }
}

/** Some clients print whole numbers as floats: `864000.0`. */
const keepUnsafeDigits = (digits: string): number | string =>
  Number.isSafeInteger(Number(digits)) ? Number(digits) : digits

/** A JSON document on one line, in its own digits and order; undefined for other documents. */
export const toJsonLine = ({ body, contentType }: Document): string | undefined => {
  const text = decodeDocument(body, contentType)
  try {
    JSON.parse(text)
  } catch {
    return undefined // another document
  }
  // A line break inside a string is escaped, so that all others separate values.
  return text.trim().replace(/[\r\n]\s*/g, "")
}

/** Characters of the name of a JSONP function, at most. */
export const maxJsonpNameLength = 128

const identifier = "[A-Za-z_$][\\w$]*"

const namePattern = new RegExp(`^${identifier}(?:\\.${identifier}|\\[\\d{1,9}\\])*$`)

/** True for a name, a path of names or an index. Statements, calls and ends of a script are not names. */
export const isJsonpName = (name: string): boolean => name.length <= maxJsonpNameLength && namePattern.test(name)

/** A script that passes JSON to the function `name`. Escapes U+2028 and U+2029, because they end a line in older scripts. */
export const wrapJson = (name: string, json: string): string =>
  `${name}(${json.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")})`
