import { gzipSync } from "node:zlib"
import { nextInteger, pick, type Random } from "#scripts/feeds/Random.ts"
import { oddText, type Places, spell, valueOf } from "./Values.ts"

/** A request as its bytes, in the parts that the client sends after each other. */
export interface RawRequest {
  readonly method: string
  readonly path: string
  readonly parts: ReadonlyArray<Buffer>
}

/** What the OpenAPI document tells of one request: method, path, and the names of its parameters. */
export interface Operation {
  readonly method: string
  readonly path: string
  readonly mode?: string
  readonly names: ReadonlyArray<string>
}

interface Schema {
  readonly oneOf?: ReadonlyArray<Schema>
  readonly properties?: { readonly [name: string]: { readonly const?: string; readonly enum?: ReadonlyArray<string> } }
}

interface PathItem {
  readonly parameters?: ReadonlyArray<{ readonly name: string; readonly schema?: Schema }>
  readonly requestBody?: { readonly content: { readonly [type: string]: { readonly schema: Schema } } }
}

/** The part of an OpenAPI document that tells the parameters. */
export interface OpenApiDocument {
  readonly paths: { readonly [path: string]: { readonly [method: string]: PathItem } }
}

/** Reads the operations of an OpenAPI document, one for each mode of the API and the hub. */
export const operationsOf = ({ paths }: OpenApiDocument): ReadonlyArray<Operation> =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { parameters = [], requestBody }]) => {
      const plain = parameters.flatMap(({ name, schema }) => schema?.properties === undefined ? [name] : [])
      const schemas = [
        ...parameters.map(({ schema }) => schema),
        ...Object.values(requestBody?.content ?? {}).slice(0, 1).map(({ schema }) => schema)
      ].flatMap((schema) => schema?.oneOf ?? (schema?.properties === undefined ? [] : [schema]))
      const base = { method: method.toUpperCase(), path }
      return schemas.length === 0
        ? [{ ...base, names: plain }]
        : schemas.map(({ properties = {} }) => {
          const { "hub.mode": mode, ...own } = properties
          const word = mode?.const ?? mode?.enum?.[0]
          return { ...base, ...(word === undefined ? {} : { mode: word }), names: [...plain, ...Object.keys(own)] }
        })
    })
  )

/** Paths beside the document. */
const morePaths = [
  "/hubbub",
  "/&",
  "//stream",
  "/stream/&",
  "/dev/null",
  "/internal/xmpp/auth",
  "/hub/callback/aaaaaaaaaaaaaaaaaaaaaa",
  "/openapi.json",
  "/docs",
  "/metrics",
  "/api",
  "/api/",
  "/api/nothing",
  "/%00",
  "/..%2f..%2fetc/passwd",
  "*",
  "http://other.invalid/"
]

const methods = ["GET", "POST", "GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"]

const oddModes = ["", "Subscribe", "subscribe ", "search", "status", "authenticate", "denied", "toString"]

type Pair = readonly [name: string, value: string]

const pairsOf = (random: Random, { mode, names }: Operation, places: Places): ReadonlyArray<Pair> => {
  const few: ReadonlyArray<Pair> = names.filter(() => random() < 0.6).map((name) => [
    spell(random, name),
    valueOf(random, name, places)
  ])
  const many: ReadonlyArray<Pair> = nextInteger(random, 60) === 0
    ? Array.from({ length: pick(random, [999, 1000, 1001, 5000]) }, (_, i) => [`n${i}`, "1"])
    : []
  const odd: ReadonlyArray<Pair> = nextInteger(random, 6) === 0
    ? [[`${oddText(random)}${"[x]".repeat(nextInteger(random, 12))}`, oddText(random)]]
    : []
  const word = nextInteger(random, 15) === 0 ? pick(random, oddModes) : mode
  return [...(word === undefined ? [] : [["hub.mode", word] as const]), ...few, ...odd, ...many]
}

const wellFormed = (text: string) => text.toWellFormed()

const encode = (pairs: ReadonlyArray<Pair>): string =>
  pairs.map(([name, value]) => `${encodeURIComponent(wellFormed(name))}=${encodeURIComponent(wellFormed(value))}`).join(
    "&"
  )

interface Body {
  readonly type: string
  readonly bytes: Buffer
}

const nested = (random: Random): unknown => {
  let value: unknown = "deep"
  for (let depth = pick(random, [1, 8, 9, 100, 10_000]); depth > 0; depth--) {
    value = random() < 0.5
      ? [value]
      : { a: value }
  }
  return value
}

const jsonText = (random: Random, pairs: ReadonlyArray<Pair>): string => {
  const record = Object.fromEntries(pairs.map(([name, value]) => [name, random() < 0.1 ? [value, value] : value]))
  try {
    return JSON.stringify(random() < 0.05 ? { ...record, more: nested(random) } : record)
  } catch {
    return "{".repeat(10_000) // deeper than JSON.stringify can go
  }
}

const multipart = (random: Random, pairs: ReadonlyArray<Pair>): Body => {
  const boundary = pick(random, ["b", "b".repeat(70), "with space", "'"])
  const parts = pairs.map(([name, value]) =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${wellFormed(name).replace(/["\r\n]/g, "")}"${
      random() < 0.1 ? "; filename=\"f\"" : ""
    }\r\n\r\n${value}\r\n`
  )
  return {
    type: `multipart/form-data; boundary="${boundary}"`,
    bytes: Buffer.from(`${parts.join("")}--${boundary}--\r\n`)
  }
}

const makeBody = (random: Random, pairs: ReadonlyArray<Pair>): Body => {
  switch (nextInteger(random, 10)) {
    case 0:
    case 1:
      return { type: "application/json", bytes: Buffer.from(jsonText(random, pairs)) }
    case 2:
      return multipart(random, pairs)
    case 3:
      return {
        type: "application/x-www-form-urlencoded; charset=iso-8859-1",
        bytes: Buffer.from(encode(pairs), "latin1")
      }
    case 4:
      return { type: "text/plain", bytes: Buffer.from(encode(pairs)) }
    case 5:
      return {
        type: "application/xml",
        bytes: Buffer.from("<methodCall><methodName>weblogUpdates.ping</methodName></methodCall>")
      }
    default:
      return { type: "application/x-www-form-urlencoded", bytes: Buffer.from(encode(pairs)) }
  }
}

/** Damages some bytes, or cuts the end off. */
const damage = (random: Random, bytes: Buffer): Buffer => {
  if (bytes.length === 0) return bytes
  if (random() < 0.5) return bytes.subarray(0, nextInteger(random, bytes.length))
  const copy = Buffer.from(bytes)
  for (let i = 0; i < 4; i++) copy[nextInteger(random, copy.length)] = nextInteger(random, 256)
  return copy
}

const bigSizes = [64 << 10, 1 << 20, 4 << 20, 17 << 20]

const credentials = ["none", "none", "wrong", "not base64", "right", "right", "right", "right", "right"]

const headersOf = (random: Random, authorization: string): ReadonlyArray<string> => {
  const credential = pick(random, credentials)
  const some: ReadonlyArray<string> = [
    `Accept: ${
      pick(random, ["application/json", "text/event-stream", "application/atom+xml;q=0.1", "*/*;q=a", "a".repeat(9000)])
    }`,
    `If-None-Match: ${pick(random, ["*", "\"x\"", "W/\"x\", \"y\"", "x"])}`,
    `Last-Event-ID: ${pick(random, ["0", "1-2", "-", "9".repeat(30)])}`,
    "Origin: http://evil.invalid",
    `Sec-Fetch-Site: ${pick(random, ["cross-site", "same-origin", "none", "x"])}`,
    `X-Forwarded-For: ${pick(random, ["1.2.3.4", "::1", "x", "1.2.3.4, ".repeat(500)])}`,
    `Cookie: ${pick(random, ["a=b", "__Host-session=x", "=", ";".repeat(100)])}`,
    `X-Hub-Signature: ${pick(random, ["sha1=00", "sha256=zz", "="])}`,
    "Expect: 100-continue",
    `Link: <http://a/>; rel="hub"`
  ].filter(() => random() < 0.1)
  return [
    ...some,
    ...(credential === "none"
      ? []
      : [
        `Authorization: ${
          credential === "right" ? authorization : credential === "wrong" ? "Basic YTpi" : `Basic ${"%".repeat(20)}`
        }`
      ])
  ]
}

const chunked = (random: Random, bytes: Buffer): ReadonlyArray<Buffer> => {
  const half = nextInteger(random, bytes.length + 1)
  return [bytes.subarray(0, half), bytes.subarray(half)].flatMap((chunk) =>
    chunk.length === 0 ? [] : [Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n")]
  ).concat(Buffer.from("0\r\n\r\n"))
}

/** A request that is near to one of the operations: other spellings, encodings, sizes, credentials, and sometimes damaged bytes. */
export const makeRequest = (
  random: Random,
  operations: ReadonlyArray<Operation>,
  places: Places,
  authorization: string
): RawRequest => {
  const operation = pick(random, operations)
  const path = (nextInteger(random, 12) === 0 ? pick(random, morePaths) : operation.path)
    .replace(/\{[^}]*\}/g, () => encodeURIComponent(wellFormed(random() < 0.7 ? "1" : oddText(random))))
  const method = nextInteger(random, 10) === 0 ? pick(random, methods) : operation.method
  const pairs = pairsOf(random, operation, places)
  const inBody = method !== "GET" && random() < 0.9
  const query = inBody ? "" : encode(pairs)
  const made = inBody ? makeBody(random, pairs) : { type: "", bytes: Buffer.alloc(0) }
  const big = inBody && nextInteger(random, 200) === 0
    ? Buffer.concat([made.bytes, Buffer.alloc(pick(random, bigSizes), "&a=b")])
    : made.bytes
  const damaged = nextInteger(random, 12) === 0 ? damage(random, big) : big
  const isZipped = inBody && nextInteger(random, 25) === 0
  const body = isZipped ? gzipSync(damaged) : damaged
  const isChunked = inBody && nextInteger(random, 8) === 0
  const length = nextInteger(random, 80) === 0 ? body.length + 100 : body.length
  const head = [
    `${method} ${path}${query === "" ? "" : path.includes("?") ? `&${query}` : `?${query}`} HTTP/1.1`,
    `Host: ${nextInteger(random, 50) === 0 ? "evil.invalid" : new URL(places.base).host}`,
    "Connection: close",
    ...headersOf(random, authorization),
    ...(made.type === "" ? [] : [`Content-Type: ${nextInteger(random, 20) === 0 ? "application/json" : made.type}`]),
    ...(isZipped ? ["Content-Encoding: gzip"] : []),
    ...(isChunked ? ["Transfer-Encoding: chunked"] : inBody ? [`Content-Length: ${length}`] : [])
  ].join("\r\n")
  const start = Buffer.from(`${head}\r\n\r\n`, "latin1")
  return {
    method,
    path,
    parts: [
      nextInteger(random, 50) === 0 ? damage(random, start) : start,
      ...(isChunked ? chunked(random, body) : [body])
    ]
  }
}
