import { Result } from "effect"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"

/** A header of the subscriber's own: name and value. Values are secrets, because most of them are credentials. */
export type OwnHeader = readonly [name: string, value: string]

const maxHeaders = 10

/** Maximum bytes of all names and values together. */
const maxBytes = 4_096

/** Names that frame or route a message, that Windhover sets, or by which a receiver's proxy judges the sender. */
const refusedNames: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "keep-alive",
  "transfer-encoding",
  "te",
  "trailer",
  "upgrade",
  "expect",
  "date",
  "link",
  "user-agent",
  "cookie",
  "cookie2",
  "set-cookie",
  "forwarded",
  "via",
  "x-real-ip",
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
  "http2-settings"
])

const refusedPrefixes = [
  "content-",
  "webhook-",
  "proxy-",
  "sec-",
  "x-hub-",
  "x-pubsubhubbub-",
  "x-windhover-",
  "x-service-",
  "x-forwarded-"
]

/**
 * True for a name that belongs to HTTP, to a proxy or to Windhover. `headerPrefix` is the second prefix of Windhover's headers.
 *
 * Many receivers read `X_Hub_Signature` as `X-Hub-Signature`: CGI and its descendants name headers by variables.
 */
const isRefused = (name: string, headerPrefix: string): boolean => {
  const lower = name.toLowerCase().replaceAll("_", "-")
  return refusedNames.has(lower) ||
    [...refusedPrefixes, headerPrefix.toLowerCase()].some((prefix) => lower.startsWith(prefix))
}

/**
 * Checks the headers of a request. Headers with an empty value are left out, so that such a header alone removes all.
 *
 * The sentences repeat names, but no values.
 */
export const check = (
  given: ReadonlyArray<OwnHeader>,
  headerPrefix: string
): Result.Result<ReadonlyArray<OwnHeader>, Refusal> => {
  const headers = given.map(([name, value]): OwnHeader => [name, trimBlanks(value)])
  const problem = headers.map((header) => problemOf(header, headerPrefix)).find((found) => found !== undefined) ??
    problemOfAll(headers)
  return problem === undefined
    ? Result.succeed(headers.filter(([, value]) => value !== ""))
    : Result.fail(badParameter("hub.header", problem))
}

/** Without spaces and tabs at both ends. A pattern would take minutes for a value of a million spaces. */
const trimBlanks = (value: string): string => {
  const isBlank = (at: number) => value[at] === " " || value[at] === "\t"
  let start = 0
  let end = value.length
  while (start < end && isBlank(start)) start++
  while (end > start && isBlank(end - 1)) end--
  return value.slice(start, end)
}

const problemOf = ([name, value]: OwnHeader, headerPrefix: string): string | undefined => {
  // no dot: the parameters `hub.header[a][b]` and `hub.header[a.b]` have one name
  if (!/^[\w-]+$/.test(name)) {
    return `hub.header[NAME] needs a name of letters, digits, hyphens and underscores, without further brackets; received ${
      quote(name)
    }.`
  }
  if (isRefused(name, headerPrefix)) {
    return `hub.header[${name}] cannot be set: the header belongs to HTTP, to a proxy or to Windhover; choose another name.`
  }
  if (/[\r\n\0]/.test(value)) {
    return `The value of hub.header[${name}] holds a line break or NUL; a header has one line.`
  }
  return /^[\t\x20-\x7e]*$/.test(value)
    ? undefined
    : `The value of hub.header[${name}] holds a character that no header can have; printable ASCII characters, spaces and tabs are accepted.`
}

const problemOfAll = (headers: ReadonlyArray<OwnHeader>): string | undefined => {
  const names = headers.map(([name]) => name.toLowerCase())
  const repeated = names.find((name, index) => names.indexOf(name) < index)
  if (repeated !== undefined) return `hub.header[${repeated}] is named twice, in other letters; send it once.`
  if (headers.length > maxHeaders) {
    return `hub.header names ${headers.length} headers; at most ${maxHeaders} are accepted.`
  }
  const bytes = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  return bytes > maxBytes
    ? `The headers of hub.header have ${bytes} bytes together; at most ${maxBytes} are accepted.`
    : undefined
}
