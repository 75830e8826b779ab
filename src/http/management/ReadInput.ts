import { Effect, Schema, type SchemaIssue } from "effect"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import { type HttpRejection, malformed } from "#http/HttpRejection.ts"
import { parseJson } from "#http/Json.ts"
import type { Parameters } from "#http/Parameters.ts"

/** The query of a GET as texts by name, or the JSON object of a POST. */
export interface ReceivedInput {
  readonly kind: "query" | "json"
  readonly values: object
}

/** A `Schema.Struct` of the fields in `Fields.ts`. */
export type InputSchema<Input extends object> = Schema.Codec<Input, unknown> & { readonly fields: Schema.Struct.Fields }

/** Parameter with the credentials, which no route reads. */
export const credentialsParameter = "authorization"

/** Collects the parameters of a query. A repeated parameter with different values fails. */
export const collectQuery = Effect.fnUntraced(function*(parameters: Parameters) {
  const values = new Map<string, string>()
  for (const name of parameters.names) {
    const value = name === credentialsParameter ? undefined : yield* parameters.one(name)
    if (value !== undefined) values.set(name, value)
  }
  // no prototype: `__proto__` is an ordinary name
  return { kind: "query", values: Object.assign(Object.create(null), Object.fromEntries(values)) } as ReceivedInput
})

/** Parses a JSON object. An empty body is an empty object. */
export const parseJsonObject = (bytes: Uint8Array): Effect.Effect<ReceivedInput, HttpRejection> => {
  const text = new TextDecoder().decode(bytes)
  if (text.trim() === "") return Effect.succeed({ kind: "json", values: {} })
  const excerpt = quote(text.slice(0, 40))
  const document = parseJson(text)
  if (document === undefined) {
    return Effect.fail(malformed(`The body is not valid JSON: it starts with ${excerpt}.`))
  }
  return typeof document === "object" && document !== null && !Array.isArray(document)
    ? Effect.succeed({ kind: "json", values: document })
    : Effect.fail(malformed(`The body has to be a JSON object of parameters; received ${excerpt}.`))
}

/** Decodes a request strictly. The sentence of an error names the parameter, the received value and a correct one. */
export const decodeInput = <Input extends object>(
  input: InputSchema<Input>,
  { kind, values }: ReceivedInput
): Effect.Effect<Input, Refusal> => {
  const codec: Schema.Codec<Input, unknown> = kind === "query" ? Schema.toCodecStringTree(input) : input
  return Schema.decodeEffect(codec)(values, { onExcessProperty: "error" }).pipe(
    Effect.mapError(({ issue }) => describeIssue(input.fields, issue, values)),
    Effect.tap(checkTexts)
  )
}

const describeIssue = (fields: Schema.Struct.Fields, issue: SchemaIssue.Issue, values: object): Refusal => {
  const { path, tag } = locate(issue, [])
  const name = path.reduce<string>(
    (name, part) =>
      typeof part === "number" ? `${name}[${part}]` : name === "" ? String(part) : `${name}.${String(part)}`,
    ""
  )
  const first = String(path[0] ?? "")
  if (tag === "UnexpectedKey") {
    const known = Object.keys(fields)
    return badParameter(
      quote(name),
      `There is no parameter ${quote(name)} here; ${
        known.length === 0 ? "none is read" : `known are ${known.join(", ")}`
      }.`
    )
  }
  const expected = expectationOf(fields[first])
  if (tag === "MissingKey" && path.length === 1) {
    return badParameter(name, `Please provide ${name}${expected === undefined ? "" : `: ${expected}`}.`)
  }
  return badParameter(
    first,
    `${first} has to be ${expected ?? "of another type; see /openapi.json"}${describeReceived(name, path, values)}.`
  )
}

/** The innermost path of the first problem, and its tag. */
const locate = (
  issue: SchemaIssue.Issue,
  path: ReadonlyArray<PropertyKey>
): { readonly path: ReadonlyArray<PropertyKey>; readonly tag: SchemaIssue.Issue["_tag"] } => {
  if (issue._tag === "Pointer") return locate(issue.issue, [...path, ...issue.path])
  const [first] = issue._tag === "Composite" ? issue.issues : []
  return first === undefined ? { path, tag: issue._tag } : locate(first, path)
}

/** The correct values of a field in words, from its annotation `expected`. */
const expectationOf = (field: Schema.Struct.Fields[string] | undefined): string | undefined => {
  const expected = field === undefined ? undefined : Schema.resolveAnnotations(field)?.["expected"]
  return typeof expected === "string" ? expected : undefined
}

/** Fields whose values no sentence repeats. */
const secretFields: ReadonlySet<string> = new Set(["secret", "headers", "password"])

const describeReceived = (name: string, path: ReadonlyArray<PropertyKey>, values: object): string => {
  if (secretFields.has(String(path[0]))) return ""
  const value = path.reduce<unknown>(
    (value, part) => typeof value === "object" && value !== null ? Reflect.get(value, part) : undefined,
    values
  )
  if (value === undefined) return ""
  const text = typeof value === "string" ? quote(value) : shorten(JSON.stringify(value))
  return path.length === 1 ? `; received ${text}` : `; received ${text} as ${name}`
}

const shorten = (json: string): string => json.length > 120 ? `${json.slice(0, 117)}...` : json

/** PostgreSQL, XML and headers cannot hold NUL or half of a surrogate pair. */
const checkTexts = (values: object): Effect.Effect<void, Refusal> => {
  const name = findIllegalText(values)
  return name === undefined
    ? Effect.void
    : Effect.fail(badParameter(name, `${name} contains NUL or half of a surrogate pair; leave it out.`))
}

/** The name of the first field with an illegal text. The schema has bounded the depth. */
const findIllegalText = (values: object): string | undefined =>
  Object.entries(values).find(([, value]) =>
    typeof value === "string"
      ? value.includes("\0") || !value.isWellFormed()
      : typeof value === "object" && value !== null && findIllegalText(value) !== undefined
  )?.[0]
