import type { FeedHeader } from "./Feed.ts"

/** Maximum of bytes of a header as JSON. A header is stored once, and sent with each notification and each item of a list. */
export const maxHeaderBytes = 64 * 1024

/** Maximum of bytes of one field when the whole header is too long. So a long title leaves room for the links. */
const maxFieldBytes = 16 * 1024

/** Fields that come first: polls and hubs need the links, subscribers the title. */
const firstFields: ReadonlyArray<string> = ["links", "id", "title", "hints", "updated", "subtitle", "language"]

const encoder = new TextEncoder()

const countBytes = (value: unknown): number => encoder.encode(JSON.stringify(value)).length

/**
 * The header, cut to `maxHeaderBytes` when its JSON is longer. `json` is the JSON of the header.
 *
 * Texts keep their beginning, lists their first values. Other fields without room are left out, because half a URL or id is wrong.
 */
export const limitHeader = (header: FeedHeader, json: string): FeedHeader =>
  json.length <= maxHeaderBytes && (json.length * 3 <= maxHeaderBytes || encoder.encode(json).length <= maxHeaderBytes)
    ? header
    : cutHeader(header)

const cutHeader = (header: FeedHeader): FeedHeader => {
  const fields: Readonly<Record<string, unknown>> = { ...header }
  const names = [...new Set([...firstFields.filter((name) => name in fields), ...Object.keys(fields)])]
  const kept: Record<string, unknown> = {}
  let room = maxHeaderBytes - 2
  for (const name of names) {
    const overhead = countBytes(name) + 2
    const value = cutValue(fields[name], Math.min(room - overhead, maxFieldBytes))
    if (value === undefined) continue
    kept[name] = value
    room -= overhead + countBytes(value)
  }
  return kept
}

/** The value, or its beginning, as JSON of at most `maxBytes`; undefined without room. */
const cutValue = (value: unknown, maxBytes: number): unknown => {
  if (value === undefined || maxBytes <= 0) return undefined
  if (countBytes(value) <= maxBytes) return value
  if (Array.isArray(value)) return cutList(value, maxBytes)
  return isText(value) ? cutText(value, maxBytes) : undefined
}

const cutList = (values: ReadonlyArray<unknown>, maxBytes: number): ReadonlyArray<unknown> | undefined => {
  const kept: Array<unknown> = []
  let bytes = 2
  for (const value of values) {
    bytes += countBytes(value) + 1
    if (bytes > maxBytes) break
    kept.push(value)
  }
  return kept.length === 0 ? undefined : kept
}

const isText = (value: unknown): value is { readonly value: string } =>
  typeof value === "object" && value !== null && "value" in value && typeof value.value === "string"

const cutText = (text: { readonly value: string }, maxBytes: number): unknown => {
  const room = maxBytes - countBytes({ ...text, value: "", truncated: true })
  // A character takes 6 bytes as JSON at most, as for the escape of half a surrogate pair.
  const value = text.value.slice(0, Math.floor(room / 6)).toWellFormed()
  return value === "" ? undefined : { ...text, value, truncated: true }
}
