import { Effect, Schema } from "effect"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import { type HttpRejection, tooLarge } from "./HttpRejection.ts"

/** Maximum number of name-value pairs in one query or body. */
export const maxParameters = 1000

/** Maximum characters of a name, brackets included. */
const maxParameterNameLength = 256

/** Maximum parts of a name: `search[feed][url]` has three. */
export const maxNestingDepth = 8

export type Pair = readonly [name: string, value: string]

/** A parameter that is a whole number with a default, and its schema for OpenAPI. */
export interface IntegerParameter {
  readonly schema: Schema.Codec<number>
  readonly minimum: number
  readonly maximum: number
  readonly fallback: number
}

/**
 * The parameters of a request, from the query and from a body of any format.
 *
 * Names are normalized to dots: `search[feed][url]`, `search[feed.url]` and `search.feed.url` are one parameter, and so are `hub.url`,
 * `hub.url[]` and `hub.url[0]`. The values live in a `Map` and never in an object, so that `__proto__` is an ordinary name.
 */
export class Parameters {
  readonly #values: ReadonlyMap<string, ReadonlyArray<string>>

  constructor(values: ReadonlyMap<string, ReadonlyArray<string>>) {
    this.#values = values
  }

  /** All names, in the order of the request. */
  get names(): ReadonlyArray<string> {
    return [...this.#values.keys()]
  }

  /** All values of a name in the order of the request. An empty value counts as absent. */
  all(name: string): ReadonlyArray<string> {
    const values = this.#values.get(name) ?? []
    return values.includes("") ? values.filter((value) => value !== "") : values
  }

  /** The value of a name. Fails when the request has two different values, because either could be the right one. */
  one(name: string): Effect.Effect<string | undefined, Refusal> {
    const values = this.all(name)
    if (values.length <= 1) return Effect.succeed(values[0])
    const first = values[0]
    const other = values.find((value) => value !== first)
    if (other === undefined) return Effect.succeed(first)
    const received = secretNames.has(name) || name.startsWith("hub.header.")
      ? ""
      : `, such as ${quote(first ?? "")} and ${quote(other)}`
    return Effect.fail(
      badParameter(name, `${name} was sent ${values.length} times with different values${received}; send it once.`)
    )
  }

  /** True when a name, or a name below (`search.feed.url` is below `search`), has a value. */
  has(name: string): boolean {
    return this.all(name).length > 0 || this.namesBelow(name).length > 0
  }

  /** The names below a name, without its prefix. */
  namesBelow(name: string): ReadonlyArray<string> {
    const prefix = `${name}.`
    return [...this.#values.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length))
  }

  /** A whole number. */
  integer(name: string, { fallback, maximum, minimum }: IntegerParameter): Effect.Effect<number, Refusal> {
    if (!this.#values.has(name)) return Effect.succeed(fallback)
    return Effect.flatMap(this.one(name), (text) => {
      if (text === undefined) return Effect.succeed(fallback)
      const value = /^[+-]?\d{1,15}$/.test(text.trim()) ? Number(text) : NaN
      return value >= minimum && value <= maximum
        ? Effect.succeed(value)
        : Effect.fail(
          badParameter(
            name,
            `${name} has to be a whole number from ${minimum} to ${maximum}; received ${
              quote(text)
            }. The default is ${fallback}.`
          )
        )
    })
  }

  /** One of the words, in lower or upper case. */
  choice<Word extends string>(
    name: string,
    words: Schema.Literals<ReadonlyArray<Word>>
  ): Effect.Effect<Word | undefined, Refusal> {
    if (!this.#values.has(name)) return Effect.undefined
    return Effect.flatMap(this.one(name), (text) => {
      if (text === undefined) return Effect.undefined
      const sent = text.trim().toLowerCase()
      const word = words.literals.find((known) => known === sent)
      return word !== undefined
        ? Effect.succeed(word)
        : Effect.fail(badParameter(name, `${name} can be ${words.literals.join(" or ")}; received ${quote(text)}.`))
    })
  }

  /** A boolean; false when the parameter is absent. */
  flag(name: string): Effect.Effect<boolean, Refusal> {
    return Effect.map(
      this.choice(name, flagWords),
      (word) => word === "true" || word === "1" || word === "yes"
    )
  }
}

/** Parameters whose values no sentence repeats. */
const secretNames: ReadonlySet<string> = new Set(["authorization", "hub.secret", "hub.verify_token"])

const flagWords = Schema.Literals(["true", "false", "1", "0", "yes", "no"])

/** Normalizes a name; undefined when the name has too many parts. Unpaired brackets are ordinary characters. */
export const normalizeName = (name: string): string | undefined => {
  const parts = splitName(name)
  // `[]` or `[0]` at the end marks a repeated parameter
  while (parts.length > 1 && /^\d*$/.test(parts.at(-1) ?? "")) parts.pop()
  return parts.length > maxNestingDepth ? undefined : parts.join(".")
}

const splitName = (name: string): Array<string> => {
  if (!name.includes("[")) return [name]
  const bracketed = /^([^[\]]+)((?:\[[^[\]]*\])+)$/.exec(name)
  if (bracketed === null) return [name]
  return [bracketed[1] ?? "", ...(bracketed[2] ?? "").slice(1, -1).split("][")]
}

/** Merges query and body; a name of the body replaces the same name of the query. */
export const merge = (
  query: Iterable<Pair>,
  body: Iterable<Pair>
): Effect.Effect<Parameters, Refusal | HttpRejection> => {
  const values = collect(query)
  const replacing = collect(body)
  if (!isCollected(values)) return Effect.fail(values)
  if (!isCollected(replacing)) return Effect.fail(replacing)
  for (const [name, sent] of replacing) values.set(name, sent)
  return Effect.succeed(new Parameters(values))
}

type Collected = Map<string, Array<string>>

const isCollected = (one: Collected | Refusal | HttpRejection): one is Collected => one instanceof Map

/** The values by name, or the first fault. Without effects, because each request has some parameters. */
const collect = (pairs: Iterable<Pair>): Collected | Refusal | HttpRejection => {
  const values: Collected = new Map()
  let count = 0
  for (const [given, value] of pairs) {
    if (++count > maxParameters) return tooManyParameters
    const name = checkName(given)
    if (typeof name !== "string") return name
    // PostgreSQL, XML and headers cannot hold NUL, and a secret without its NUL would be a different secret
    if (value.includes("\0")) return badParameter(name, `${name} contains a NUL character; leave it out.`)
    if (!value.isWellFormed()) {
      return badParameter(name, `${name} contains half of a surrogate pair, which is not a character; leave it out.`)
    }
    const sent = values.get(name)
    if (sent === undefined) values.set(name, [value])
    else sent.push(value)
  }
  return values
}

/** The normalized name, or the reason against it. */
const checkName = (given: string): string | Refusal => {
  if (given.length > maxParameterNameLength) {
    return badParameter(
      quote(given),
      `The name of a parameter has ${given.length} characters: ${
        quote(given)
      }; at most ${maxParameterNameLength} are read. Send parameters as name=value&name=value.`
    )
  }
  return normalizeName(given) ?? badParameter(
    quote(given),
    `The name of a parameter is nested too deep: ${quote(given)}; at most ${maxNestingDepth} parts are read.`
  )
}

export const tooManyParameters = tooLarge(`The request has more than ${maxParameters} parameters; send fewer.`)
