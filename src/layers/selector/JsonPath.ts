import { JSONPathEnvironment, type JSONValue } from "json-p3"
import { JSONPath } from "jsonpath-plus"
import { withQuotedNames } from "#domain/Fragment.ts"
import { collected, maxDepth, messageOf, Unselectable } from "./Limits.ts"
import { textOf } from "./Text.ts"
import { Trees } from "./Trees.ts"

/** A path that is ready to be asked. `single`: it names one place, so its value stands alone; the others give an array. */
interface Query {
  readonly single: boolean
  readonly values: (json: JSONValue) => Iterable<unknown>
}

export const checkJsonPath = (path: string): void => void compile(path)

/** JSON of what was selected: one value for a path that names one place, an array for all others. */
export const selectJson = (bytes: Uint8Array, contentType: string | undefined, path: string) => {
  const query = compile(path)
  const parts = collected(asked(query, trees.of(bytes, contentType ?? "")), (value) => JSON.stringify(value))
  return { matches: parts.length, json: query.single ? parts.join("") : `[${parts.join(",")}]` }
}

const asked = (query: Query, json: JSONValue): Iterable<unknown> => {
  try {
    return query.values(json)
  } catch (error) {
    throw new Unselectable("too-much", messageOf(error), { cause: error })
  }
}

const standard = new JSONPathEnvironment({ maxRecursionDepth: maxDepth })

const compile = (given: string): Query => {
  const path = withQuotedNames(given).replace(/\[\(@\.length\s*-\s*(\d{1,9})\)\]/g, "[-$1]")
  try {
    const query = standard.compile(path)
    return { single: query.singularQuery(), values: (json) => map(query.lazyQuery(json), ({ value }) => value) }
  } catch (error) {
    const classic = classicQuery(path)
    if (classic !== undefined) return classic
    throw new Unselectable("invalid", `${JSON.stringify(given)} is no JSONPath (RFC 9535): ${messageOf(error)}`, {
      cause: error
    })
  }
}

function* map<A, B>(values: Iterable<A>, f: (value: A) => B): Iterable<B> {
  for (const value of values) yield f(value)
}

/**
 * What came before the RFC and it left out: parents (`^`), names (`~`), names in brackets without quotes.
 *
 * Filters and scripts are not among it: they would be programs. Each character of a path has one place in the pattern, so that it is linear.
 */
const classic = /^\$(?:\.{1,2}(?:[^\s.[\]()'"?@,^~`*]+|\*)|(?:\.\.)?\[(?:'[^']*'|"[^"]*"|[^[\]()?'"]+)\]|\^|~)*$/

const classicQuery = (path: string): Query | undefined =>
  classic.test(path)
    ? {
      single: false,
      values: (json) => JSONPath({ path, json, eval: false, wrap: true }) as unknown as ReadonlyArray<unknown>
    }
    : undefined

const parse = (bytes: Uint8Array, contentType: string): JSONValue => {
  const json = textOf(bytes, contentType)
  try {
    return JSON.parse(json, /\d{16}/.test(json) ? keepingNumbers : undefined) as JSONValue
  } catch (error) {
    throw new Unselectable("unfit", `the document is no JSON: ${messageOf(error)}`, { cause: error })
  }
}

const trees = new Trees(parse)

/** A whole number that JavaScript would round (ids of 64 bits) goes out with the digits that it came with. */
const keepingNumbers = (_: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
    ? rawJson(context?.source ?? "")
    : value

const rawJson = (source: string): unknown => (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON(source)
