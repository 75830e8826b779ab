import { JSONPathEnvironment, type JSONValue } from "json-p3"
import { JSONPath } from "jsonpath-plus"
import { mayNeedExactJson, parseExactJson } from "#domain/ExactJson.ts"
import { withQuotedNames } from "#domain/poll/Fragment.ts"
import { collectMatches, messageOf, SelectionError } from "./CollectMatches.ts"
import { decodeDocument } from "./DecodeDocument.ts"
import { hasFewNodes, TreeCache } from "./TreeCache.ts"

/** A selected value with its path from the root: names and indexes. */
interface JsonMatch {
  readonly value: unknown
  readonly location: ReadonlyArray<string | number>
}

/** A compiled path. A singular path names one place and gives one value; other paths give an array. */
interface JsonPathQuery {
  readonly isSingular: boolean
  readonly find: (json: JSONValue) => Iterable<JsonMatch>
}

export const checkJsonPath = (path: string): void => void compileJsonPath(path)

/** Selected JSON: one value for a singular path, an array for other paths. */
export const selectJson = (bytes: Uint8Array, contentType: string | undefined, path: string) => {
  const query = compileJsonPath(path)
  const json = jsonTrees.get(bytes, contentType ?? "")
  const parts = collectMatches(query.find(json.plain), (match) => JSON.stringify(withDigits(match, json)))
  return { matches: parts.length, json: query.isSingular ? parts.join("") : `[${parts.join(",")}]` }
}

/** The document as a tree, from the cache if it is there. */
export const parseJsonTree = (bytes: Uint8Array, contentType: string | undefined): JSONValue =>
  jsonTrees.get(bytes, contentType ?? "").plain

/** The places of the selected values: names and indexes from the root. */
export function* locateJson(json: JSONValue, path: string): Generator<ReadonlyArray<string | number>, void> {
  for (const { location } of compileJsonPath(path).find(json)) yield location
}

/** Levels of objects and arrays that a JSONPath descends. */
const maxJsonDepth = 500

const rfc9535 = new JSONPathEnvironment({ maxRecursionDepth: maxJsonDepth })

const compileJsonPath = (given: string): JsonPathQuery => {
  const path = withQuotedNames(given).replace(/\[\(@\.length\s*-\s*(\d{1,9})\)\]/g, "[-$1]")
  try {
    const query = rfc9535.compile(path)
    return { isSingular: query.singularQuery(), find: (json) => query.lazyQuery(json) }
  } catch (error) {
    const classic = compileClassic(path)
    if (classic !== undefined) return classic
    throw new SelectionError("Invalid", `${JSON.stringify(given)} is not a JSONPath (RFC 9535): ${messageOf(error)}`, {
      cause: error
    })
  }
}

/**
 * Syntax older than the RFC and not in it: parents (`^`), names (`~`), names in brackets without quotes.
 *
 * Filters and scripts are excluded, because they are programs. Each character of a path has one place in the pattern, so that matching
 * takes linear time.
 */
const classicSyntax = /^\$(?:\.{1,2}(?:[^\s.[\]()'"?@,^~`*]+|\*)|(?:\.\.)?\[(?:'[^']*'|"[^"]*"|[^[\]()?'"]+)\]|\^|~)*$/

/** Brackets with indexes or slices. Indexes that the RFC rejects (`[01]`, `[9007199254740992]`) are not classic syntax either. */
const brackets = /'[^']*'|"[^"]*"|\[[\s\d:,-]+\]/g

const hasValidIndexes = (bracket: string): boolean => {
  if (!bracket.startsWith("[")) return true
  try {
    rfc9535.compile(`$${bracket}`)
    return true
  } catch {
    return false
  }
}

/** Fields of a match of jsonpath-plus with `resultType: "all"`. */
interface ClassicMatch {
  readonly value: unknown
  readonly pointer: string
}

const compileClassic = (path: string): JsonPathQuery | undefined =>
  classicSyntax.test(path) && (path.match(brackets) ?? []).every(hasValidIndexes)
    ? { isSingular: false, find: (json) => findClassic(path, json) }
    : undefined

function* findClassic(path: string, json: JSONValue): Iterable<JsonMatch> {
  const all = JSONPath({ path, json, eval: false, wrap: true, resultType: "all" }) as ReadonlyArray<ClassicMatch>
  for (const { pointer, value } of all) yield { value, location: pointer.split("/").slice(1).map(unescapeStep) }
}

/** Unescapes a step of a JSON Pointer (RFC 6901, 4). */
const unescapeStep = (step: string): string => step.replaceAll("~1", "/").replaceAll("~0", "~")

/** A document as two trees: queries run on `plain`, and results come from `exact`. */
interface JsonTrees {
  readonly plain: JSONValue
  /** Keeps the digits of large numbers. The same tree as `plain` if the document has none. */
  readonly exact: unknown
}

const parseJsonTrees = (bytes: Uint8Array, contentType: string): JsonTrees => {
  const json = decodeDocument(bytes, contentType)
  try {
    // `JSONValue` is the type of every result of `JSON.parse`.
    const plain = JSON.parse(json) as JSONValue
    // A second tree would count twice in the cache.
    return { plain, exact: mayNeedExactJson(json) ? parseExactJson(json, rawJson) : plain }
  } catch (error) {
    throw new SelectionError("Unfit", `the document is not JSON: ${messageOf(error)}`, { cause: error })
  }
}

const isSmallJson = ({ exact, plain }: JsonTrees): boolean =>
  hasFewNodes<unknown>(
    exact === plain ? [plain] : [plain, exact],
    (value) => typeof value === "object" && value !== null ? Object.values(value) : []
  )

const jsonTrees = new TreeCache(parseJsonTrees, isSmallJson)

const rawJson = (source: string): unknown => (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON(source)

/** jsonpath-plus gives no location for some values, such as names selected by `~`. Such values stay unchanged. */
const withDigits = ({ location, value }: JsonMatch, { exact, plain }: JsonTrees): unknown =>
  exact === plain || valueAt(plain, location) !== value ? value : valueAt(exact, location)

const valueAt = (tree: unknown, location: JsonMatch["location"]): unknown =>
  location.reduce((inner, step) => (inner as Record<string | number, unknown> | null | undefined)?.[step], tree)
