import { Context, Effect, Layer, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { type Refusal, refuse, Unavailable } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import { type BodyLimits, readBytes } from "./BodyReader.ts"
import { addressOf } from "./Authentication.ts"
import { HttpRejection, malformed, tooLarge } from "./HttpRejection.ts"
import { maxDepth, maxParameters, merge, type Pair, type Parameters, tooManyParameters } from "./Parameters.ts"
import { type Limits, MemoryBudget, type Reservation } from "./MemoryBudget.ts"

/** Bytes of a request's body, at most. */
export const maxBodySize = 1024 * 1024

/** Bytes of all bodies together whose requests are under way, and of one address: 16 and 64 of the largest, hundreds of usual ones. */
const roomLimits: Limits = { each: 16 * maxBodySize, all: 64 * maxBodySize }

/** What a body takes in memory, however small it is. */
const leastBytes = 1024

/** A body up to this counts as a whole before it has come, which is read more cheaply. */
const small = 16 * 1024

/** The room for all of them, whichever face they come to. */
export class Bodies extends Context.Service<Bodies, MemoryBudget>()("windhover/http/RequestBody/Bodies") {
  static readonly layer = Layer.sync(Bodies, () => new MemoryBudget(roomLimits))
}

type Reading<A> = Effect.Effect<A, Refusal | HttpRejection>

/**
 * Reads the parameters of a request, and does something with them: its query, and its body as a form, JSON or multipart, whatever the method
 * (clients send a query with POST and a form with GET). Where both have a name, the body wins.
 *
 * What came counts until the request is answered.
 */
export const reading = Effect.fnUntraced(function*<A, E>(
  room: MemoryBudget,
  request: HttpServerRequest.HttpServerRequest,
  use: (parameters: Parameters) => Effect.Effect<A, E>
): Effect.fn.Return<A, E | Refusal | HttpRejection> {
  const query = yield* fromForm(queryOf(request.url))
  if (!hasBody(request)) return yield* use(yield* merge(query, []))
  return yield* Effect.acquireUseRelease(
    Effect.suspend(() => {
      const place = room.enter(addressOf(request), leastBytes)
      return place === undefined ? Effect.fail(noRoom) : Effect.succeed(place)
    }),
    (place) => Effect.flatMap(Effect.flatMap(fromBody(request, place), (body) => merge(query, body)), use),
    (place) => Effect.sync(place.leave)
  )
})

const hasBody = ({ headers, method }: HttpServerRequest.HttpServerRequest): boolean =>
  method === "POST" || headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"

const queryOf = (url: string): string => {
  const start = url.indexOf("?")
  if (start < 0) return ""
  const end = url.indexOf("#", start)
  return url.slice(start + 1, end < 0 ? undefined : end)
}

const fromBody = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, place: Reservation) {
  const { headers } = request
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    return yield* new HttpRejection({
      status: 415,
      message: `The body has the Content-Encoding ${quote(encoding)}; send it uncompressed.`
    })
  }
  const bytes = yield* bytesOf(request, place)
  if (bytes.byteLength === 0) return []
  return yield* parse(bytes, headers["content-type"] ?? "")
})

const bytesOf = (
  request: HttpServerRequest.HttpServerRequest,
  place: Reservation
): Effect.Effect<ArrayBuffer, Refusal | HttpRejection> => {
  const { "content-length": announced, "transfer-encoding": chunked } = request.headers
  const length = chunked === undefined ? Number(announced ?? 0) : Infinity
  if (length > small) return Effect.map(readBytes(request, place, terms), ({ buffer }) => buffer)
  return place.grow(length) ? Effect.mapError(request.arrayBuffer, () => terms.brokenOff) : Effect.fail(noRoom)
}

const noRoom = refuse(
  new Unavailable({ message: "Too many large requests are under way. Please send it again.", retryAfter: 5 })
)

const terms: BodyLimits = {
  max: maxBodySize,
  tooLarge: tooLarge(`The body of the request has more than ${maxBodySize} bytes; send less.`),
  noRoom,
  brokenOff: malformed("The body of the request ended early or could not be read.")
}

/** Without a Content-Type it is JSON when it looks so, and a form otherwise. */
const parse = (bytes: ArrayBuffer, contentType: string): Reading<Iterable<Pair>> => {
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? ""
  if (type === "multipart/form-data") return fromMultipart(bytes, contentType)
  const text = new TextDecoder().decode(bytes)
  if (type === "application/x-www-form-urlencoded") return fromForm(text)
  if (type === "application/json" || type.endsWith("+json")) return fromJson(text)
  if (type === "") return text.trimStart().startsWith("{") ? fromJson(text) : fromForm(text)
  return Effect.fail(
    new HttpRejection({
      status: 415,
      message:
        `The body has the Content-Type ${
          quote(contentType)
        }; send the parameters as application/x-www-form-urlencoded, ` +
        "multipart/form-data or application/json."
    })
  )
}

const fromForm = (text: string): Reading<Iterable<Pair>> => {
  let ampersands = 0
  for (let at = text.indexOf("&"); at >= 0; at = text.indexOf("&", at + 1)) {
    if (++ampersands > maxParameters) return Effect.fail(tooManyParameters)
  }
  return Effect.succeed(text === "" ? [] : new URLSearchParams(text))
}

const fromMultipart = (bytes: ArrayBuffer, contentType: string): Reading<Iterable<Pair>> =>
  Effect.gen(function*() {
    const form = yield* Effect.tryPromise({
      try: () => new Response(bytes, { headers: { "content-type": contentType } }).formData(),
      catch: () =>
        malformed("The body is no valid multipart/form-data: check its boundary and that each part has a name.")
    })
    const pairs: Array<Pair> = []
    for (const [name, value] of form) {
      if (pairs.length >= maxParameters) return yield* tooManyParameters
      pairs.push([name, typeof value === "string" ? value : yield* Effect.promise(() => value.text())])
    }
    return pairs
  })

/** `null` is as good as absent; `true`, `false` and numbers are taken as their words; arrays repeat a parameter. */
const fromJson = Effect.fnUntraced(function*(text: string) {
  const document = yield* Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: () => malformed(`The body is no valid JSON: it starts with ${quote(text.slice(0, 40))}.`)
  })
  if (typeof document !== "object" || document === null || Array.isArray(document)) {
    return yield* malformed(`The JSON body has to be an object of parameters; received ${quote(text.slice(0, 40))}.`)
  }
  return yield* Effect.fromResult(flatten(document))
})

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
    if (depth > maxDepth) return malformed(`The JSON body is nested deeper than ${maxDepth} levels at ${quote(name)}.`)
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
