import { Effect, Result } from "effect"
import { quote } from "#domain/Topic.ts"
import { type HttpRejection, malformed, unsupportedBody } from "./HttpRejection.ts"
import { parseJson } from "./Json.ts"
import { maxNestingDepth, maxParameters, type Pair, tooManyParameters } from "./Parameters.ts"

type ParsedPairs = Effect.Effect<Iterable<Pair>, HttpRejection>

/** Without a state between calls, one decoder serves all bodies. */
const utf8 = new TextDecoder()

/** Parses the parameters of a body. Without a Content-Type, a body that starts with `{` is JSON, every other body a form. */
export const parseBody = (bytes: Uint8Array<ArrayBuffer>, contentType: string): ParsedPairs => {
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? ""
  if (type === "multipart/form-data") return parseMultipart(bytes, contentType)
  const text = utf8.decode(bytes)
  if (type === "application/x-www-form-urlencoded") return parseForm(text)
  if (type === "application/json" || type.endsWith("+json")) return parseJsonBody(text)
  if (type === "") return text.trimStart().startsWith("{") ? parseJsonBody(text) : parseForm(text)
  if (text.includes("<methodCall")) return Effect.fail(xmlRpcBody)
  return Effect.fail(
    unsupportedBody(
      `The body has the Content-Type ${
        quote(contentType)
      }; send the parameters as application/x-www-form-urlencoded, ` +
        "multipart/form-data or application/json."
    )
  )
}

/** Answers the pings of blogs by XML-RPC (`weblogUpdates.ping`): they name a site, and Windhover watches feeds. */
const xmlRpcBody = unsupportedBody(
  "XML-RPC, such as weblogUpdates.ping, is not served here. To ping, POST hub.mode=publish and hub.url=URL-OF-THE-FEED " +
    "to /hub, as application/x-www-form-urlencoded."
)

/** Parses `name=value&name=value`, of a query or a body. */
export const parseForm = (text: string): ParsedPairs => {
  let ampersands = 0
  for (let at = text.indexOf("&"); at >= 0; at = text.indexOf("&", at + 1)) {
    if (++ampersands > maxParameters) return Effect.fail(tooManyParameters)
  }
  return Effect.succeed(text === "" ? [] : new URLSearchParams(text))
}

const parseMultipart = (bytes: Uint8Array<ArrayBuffer>, contentType: string): ParsedPairs =>
  Effect.gen(function*() {
    const form = yield* Effect.tryPromise({
      try: () => new Response(bytes, { headers: { "content-type": contentType } }).formData(),
      catch: () =>
        malformed("The body is not valid multipart/form-data: check its boundary and that each part has a name.")
    })
    const pairs: Array<Pair> = []
    for (const [name, value] of form) {
      if (pairs.length >= maxParameters) return yield* tooManyParameters
      pairs.push([name, typeof value === "string" ? value : yield* Effect.promise(() => value.text())])
    }
    return pairs
  })

/** Parses a JSON object. `null` counts as absent; booleans and numbers become text; an array repeats its parameter. */
const parseJsonBody = (text: string): ParsedPairs => {
  const excerpt = quote(text.slice(0, 40))
  const document = parseJson(text)
  if (document === undefined) {
    return Effect.fail(malformed(`The body is not valid JSON: it starts with ${excerpt}.`))
  }
  if (typeof document !== "object" || document === null || Array.isArray(document)) {
    return Effect.fail(malformed(`The JSON body has to be an object of parameters; received ${excerpt}.`))
  }
  return Effect.fromResult(flatten(document))
}

/** Joins nested names with dots: `{"hub": {"topic": "x"}}` is `hub.topic=x`. */
const flatten = (document: object): Result.Result<ReadonlyArray<Pair>, HttpRejection> => {
  const pairs: Array<Pair> = []
  let visited = 0
  const visit = (name: string, value: unknown, depth: number): HttpRejection | undefined => {
    if (++visited > maxParameters) return tooManyParameters
    if (value === null) return undefined
    if (typeof value !== "object") {
      pairs.push([name, String(value)])
      return undefined
    }
    if (depth > maxNestingDepth) {
      return malformed(`The JSON body is nested deeper than ${maxNestingDepth} levels at ${quote(name)}.`)
    }
    for (const [key, item] of Object.entries(value)) {
      const path = Array.isArray(value) ? name : name === "" ? key : `${name}.${key}`
      const problem = visit(path, item, depth + 1)
      if (problem !== undefined) return problem
    }
    return undefined
  }
  const problem = visit("", document, 0)
  return problem === undefined ? Result.succeed(pairs) : Result.fail(problem)
}
