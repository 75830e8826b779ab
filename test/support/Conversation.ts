import { assert } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { readFileSync } from "node:fs"
import type { Received } from "./FakeWeb.ts"
import type { RawAnswer, RawConnection } from "./RawHttp.ts"

/**
 * A conversation is a text file with the bytes that a client sends and receives:
 *
 *     # One sentence about its subject.
 *     = an event in the world
 *
 *     > GET /?hub.mode=list HTTP/1.1
 *     > Authorization: {{alice}}
 *
 *     < 200
 *     < Content-Type: application/json; charset=utf-8
 *     <
 *     < []
 *
 *     | POST /push
 *     | X-PubSubHubbub-Topic: {{outside}}/feed
 *
 *     ~ event: notification
 *     ~ data: /.+/
 *
 * `>` lines are sent as they are, with CRLF. A missing `Host` is added, and a missing `Content-Length` if there is a body.
 *
 * `<` lines are compared with the answer. A header is compared whole, or matched by a `/pattern/`; `!Name` asserts its absence. The body is
 * JSON (`"…"` matches any value), a `/pattern/`, or text. A blank line at the end asserts an empty body; without a blank line, the body is
 * ignored.
 *
 * `|` lines are compared with the next request to a callback. `~` lines are compared with the next lines of an endless body, each as text
 * or as a `/pattern/`; the header before has no body of its own. `{{name}}` stands for a word of the world.
 */
export interface Conversation {
  readonly about: string
  readonly steps: ReadonlyArray<Step>
}

interface Step {
  readonly kind: "world" | "send" | "receive" | "stream" | "callback"
  readonly line: number
  readonly lines: ReadonlyArray<string>
}

const kinds = { "=": "world", ">": "send", "<": "receive", "~": "stream", "|": "callback" } as const

/** Parses a conversation; fails at an unknown line. */
export const parse = (text: string): Conversation => {
  const about: Array<string> = []
  const steps: Array<Step & { readonly lines: Array<string> }> = []
  let open: Step & { readonly lines: Array<string> } | undefined
  for (const [index, line] of text.split("\n").entries()) {
    const sign = line[0]
    if (sign === undefined) {
      open = undefined
    } else if (sign === "#") {
      if (steps.length === 0) about.push(line.slice(1).trim())
    } else if (sign === "=" || sign === ">" || sign === "<" || sign === "~" || sign === "|") {
      const kind = kinds[sign]
      if (open?.kind !== kind || kind === "world") steps.push(open = { kind, line: index + 1, lines: [] })
      open.lines.push(line.slice(2))
    } else {
      throw new Error(`line ${index + 1} starts with none of # = > < ~ |: ${line}`)
    }
  }
  return { about: about.join(" "), steps }
}

export const load = (path: string): Conversation => parse(readFileSync(path, "utf8"))

/** Environment of a conversation. */
export interface World {
  readonly connect: Effect.Effect<RawConnection, never, Scope.Scope>
  /** Performs a `=` line; fails at an unknown one. */
  readonly perform: (words: string) => Effect.Effect<void>
  /** The next request to a callback. */
  readonly received: Effect.Effect<Received>
  /** Values of `{{name}}`. */
  readonly words: { readonly [name: string]: string }
}

/** Runs a conversation, step by step. */
export const hold = Effect.fnUntraced(function*({ steps }: Conversation, world: World) {
  let connection: RawConnection | undefined
  let request = ""
  for (const [index, { kind, line, lines }] of steps.entries()) {
    const said = lines.map((text) => text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => wordOf(world, name, line)))
    if (kind === "world") yield* world.perform(said.join(" "))
    if (kind === "send") {
      if (connection === undefined || connection.isClosed()) connection = yield* world.connect
      request = said[0] ?? ""
      yield* connection.send(requestOf(said))
    }
    if (kind === "receive") {
      if (connection === undefined) throw new Error(`line ${line}: nothing was sent yet`)
      const answer = steps[index + 1]?.kind === "stream"
        ? connection.receiveHead
        : connection.receive(request.startsWith("HEAD "))
      const received = yield* answer
      compareAnswer(received, said, `line ${line}`)
      if (!isManagement(request)) checkManners(received, `line ${line}`)
    }
    if (kind === "stream") {
      if (connection === undefined) throw new Error(`line ${line}: nothing was sent yet`)
      compareLines(yield* connection.receiveLines(said.length), said, line)
    }
    if (kind === "callback") compareRequest(yield* world.received, said, `line ${line}`)
  }
})

const wordOf = (world: World, name: string, line: number): string => {
  const word = world.words[name]
  if (word === undefined) throw new Error(`line ${line}: nobody knows {{${name}}}`)
  return word
}

const requestOf = (lines: ReadonlyArray<string>): string => {
  const blank = lines.indexOf("")
  const head = blank < 0 ? lines : lines.slice(0, blank)
  const body = blank < 0 ? "" : lines.slice(blank + 1).join("\r\n")
  const has = (name: string) => head.some((field) => field.toLowerCase().startsWith(`${name}:`))
  const added = [
    ...(has("host") ? [] : ["Host: windhover.test"]),
    ...(body === "" || has("content-length") || has("transfer-encoding")
      ? []
      : [`Content-Length: ${Buffer.byteLength(body)}`])
  ]
  return [...head, ...added, "", body].join("\r\n")
}

const compareAnswer = (answer: RawAnswer, expected: ReadonlyArray<string>, at: string): void => {
  const status = expected[0] ?? ""
  assert.strictEqual(`${answer.status} ${answer.body}`.slice(0, status.length), status, `${at}: ${answer.body}`)
  compareMessage(answer, expected, at)
}

/** True for a request line of the management API, whose answers have other headers. */
const isManagement = (request: string): boolean => /^\w+ \/api\//.test(request)

const compareRequest = (request: Received, expected: ReadonlyArray<string>, at: string): void => {
  assert.strictEqual(request.line, expected[0], at)
  compareMessage(request, expected, at)
}

const compareLines = (lines: ReadonlyArray<string>, expected: ReadonlyArray<string>, at: number): void => {
  for (const [index, wanted] of expected.entries()) {
    const line = lines[index] ?? ""
    const [, before = "", pattern] = /^([^/]*)\/(.*)\/$/.exec(wanted) ?? []
    if (pattern === undefined) assert.strictEqual(line, wanted, `line ${at + index}`)
    else assert.match(line, new RegExp(`^${before}(?:${pattern})$`), `line ${at + index}`)
  }
}

type Message = Pick<RawAnswer, "headers" | "body">

/** Compares all lines after the first. */
const compareMessage = (message: Message, expected: ReadonlyArray<string>, at: string): void => {
  const blank = expected.indexOf("")
  for (const field of expected.slice(1, blank < 0 ? undefined : blank)) compareField(message, field, at)
  if (blank >= 0) compareBody(message, expected.slice(blank + 1).join("\n"), at)
}

const compareField = ({ headers }: Message, field: string, at: string): void => {
  if (field.startsWith("!")) return assert.isFalse(headers.has(field.slice(1).toLowerCase()), `${at}: ${field}`)
  const colon = field.indexOf(":")
  const name = field.slice(0, colon)
  const wanted = field.slice(colon + 1).trim()
  const received = headers.get(name.toLowerCase())
  const pattern = patternOf(wanted)
  if (pattern === undefined) assert.strictEqual(received, wanted, `${at}: ${name}`)
  else assert.match(received ?? "", pattern, `${at}: ${name}`)
}

const compareBody = ({ body, headers }: Message, wanted: string, at: string): void => {
  const pattern = patternOf(wanted)
  if (pattern !== undefined) return assert.match(body, pattern, at)
  const isJson = headers.get("content-type")?.startsWith("application/json") === true
  if (!isJson || wanted === "") return assert.strictEqual(body, wanted, at)
  const pure: unknown = JSON.parse(wanted)
  assert.deepStrictEqual(blanked(JSON.parse(body), pure), pure, at)
}

const patternOf = (text: string): RegExp | undefined =>
  text.length > 1 && text.startsWith("/") && text.endsWith("/")
    ? new RegExp(`^(?:${text.slice(1, -1)})$`, "s")
    : undefined

/** Replaces values by "…" at the positions of "…" in the pattern. */
const blanked = (value: unknown, pattern: unknown): unknown => {
  if (pattern === "…") return value === undefined ? undefined : "…"
  if (typeof value !== "object" || value === null || typeof pattern !== "object" || pattern === null) return value
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => blanked(item, Array.isArray(pattern) ? pattern[index] : undefined))
  }
  const patterns = new Map<string, unknown>(Object.entries(pattern))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, blanked(item, patterns.get(key))]))
}

/** Checks the rules for every answer of the API. */
const checkManners = ({ body, headers, status }: RawAnswer, at: string): void => {
  assert.strictEqual(headers.get("pubsubhubbub-version"), "0.3", at)
  assert.strictEqual(headers.get("access-control-allow-origin"), "*", at)
  assert.match(headers.get("cache-control") ?? "", /^(no-store|private, no-cache)$/, at)
  if (status < 400) return
  assert.match(body, /\w.*\S$/, `${at}: a sentence is missing`)
  assert.strictEqual(headers.get("content-type"), "text/plain; charset=utf-8", at)
}
