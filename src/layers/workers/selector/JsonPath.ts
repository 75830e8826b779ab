import { JSONPathEnvironment, type JSONValue } from "json-p3"
import { JSONPath } from "jsonpath-plus"
import { withQuotedNames } from "#domain/poll/Fragment.ts"
import { collectMatches, maxDepth, messageOf, SelectionError } from "./Limits.ts"
import { textOf } from "./Text.ts"
import { hasFewNodes, TreeCache } from "./Trees.ts"

/** A value, and how it is reached from the root: names and indexes. */
interface Found {
  readonly value: unknown
  readonly location: ReadonlyArray<string | number>
}

/** A path that is ready to be asked. `single`: it names one place, so its value stands alone; the others give an array. */
interface Query {
  readonly single: boolean
  readonly find: (json: JSONValue) => Iterable<Found>
}

export const checkJsonPath = (path: string): void => void compile(path)

/** JSON of what was selected: one value for a path that names one place, an array for all others. */
export const selectJson = (bytes: Uint8Array, contentType: string | undefined, path: string) => {
  const query = compile(path)
  const json = trees.get(bytes, contentType ?? "")
  const parts = collectMatches(query.find(json.plain), (found) => JSON.stringify(withDigits(found, json)))
  return { matches: parts.length, json: query.single ? parts.join("") : `[${parts.join(",")}]` }
}

const standard = new JSONPathEnvironment({ maxRecursionDepth: maxDepth })

const compile = (given: string): Query => {
  const path = withQuotedNames(given).replace(/\[\(@\.length\s*-\s*(\d{1,9})\)\]/g, "[-$1]")
  try {
    const query = standard.compile(path)
    return { single: query.singularQuery(), find: (json) => query.lazyQuery(json) }
  } catch (error) {
    const classic = classicQuery(path)
    if (classic !== undefined) return classic
    throw new SelectionError("Invalid", `${JSON.stringify(given)} is no JSONPath (RFC 9535): ${messageOf(error)}`, {
      cause: error
    })
  }
}

/**
 * What came before the RFC and it left out: parents (`^`), names (`~`), names in brackets without quotes.
 *
 * Filters and scripts are not among it: they would be programs. Each character of a path has one place in the pattern, so that it is linear.
 */
const classic = /^\$(?:\.{1,2}(?:[^\s.[\]()'"?@,^~`*]+|\*)|(?:\.\.)?\[(?:'[^']*'|"[^"]*"|[^[\]()?'"]+)\]|\^|~)*$/

/** Indexes and slices that the RFC refuses (`[01]`, `[9007199254740992]`) are not what came before it. */
const numerals = /'[^']*'|"[^"]*"|\[[\s\d:,-]+\]/g

const isNumeral = (bracket: string): boolean => {
  if (!bracket.startsWith("[")) return true
  try {
    standard.compile(`$${bracket}`)
    return true
  } catch {
    return false
  }
}

/** What jsonpath-plus gives for `resultType: "all"`, among others. */
interface Pointed {
  readonly value: unknown
  readonly pointer: string
}

const classicQuery = (path: string): Query | undefined =>
  classic.test(path) && (path.match(numerals) ?? []).every(isNumeral)
    ? { single: false, find: (json) => classicFound(path, json) }
    : undefined

function* classicFound(path: string, json: JSONValue): Iterable<Found> {
  const all = JSONPath({ path, json, eval: false, wrap: true, resultType: "all" }) as ReadonlyArray<Pointed>
  for (const { pointer, value } of all) yield { value, location: pointer.split("/").slice(1).map(nameOf) }
}

/** A step of a JSON Pointer (RFC 6901, 4). */
const nameOf = (step: string): string => step.replaceAll("~1", "/").replaceAll("~0", "~")

/** The document twice: what is asked knows numbers only; in what is given, large ones have their digits. */
interface Json {
  readonly plain: JSONValue
  /** The same tree where no number is large. */
  readonly exact: unknown
}

const parse = (bytes: Uint8Array, contentType: string): Json => {
  const json = textOf(bytes, contentType)
  try {
    const plain = JSON.parse(json) as JSONValue
    return { plain, exact: /\d{16}/.test(json) ? JSON.parse(json, keepingDigits) : plain }
  } catch (error) {
    throw new SelectionError("Unfit", `the document is no JSON: ${messageOf(error)}`, { cause: error })
  }
}

const isSmall = ({ exact, plain }: Json): boolean =>
  hasFewNodes<unknown>(
    exact === plain ? [plain] : [plain, exact],
    (value) => typeof value === "object" && value !== null ? Object.values(value) : []
  )

const trees = new TreeCache(parse, isSmall)

/** A whole number that JavaScript would round (ids of 64 bits) goes out with the digits that it came with. */
const keepingDigits = (_: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
    ? rawJson(context?.source ?? "")
    : value

const rawJson = (source: string): unknown => (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON(source)

/** What the library gives no location of (names that `~` selects, what is under a name such as `^`) stays as it is. */
const withDigits = ({ location, value }: Found, { exact, plain }: Json): unknown =>
  exact === plain || at(plain, location) !== value ? value : at(exact, location)

const at = (tree: unknown, location: Found["location"]): unknown =>
  location.reduce((inner, step) => (inner as Record<string | number, unknown> | null | undefined)?.[step], tree)
