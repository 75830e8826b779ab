import { Effect, Schema } from "effect"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import type { Whole } from "#http/api/Contract.ts"
import { type HttpRejection, tooLarge } from "./HttpRejection.ts"

/** Name and value pairs of one request, over query and body. */
export const maxParameters = 1000
/** Characters of a name, brackets included. */
const maxNameLength = 256
/** Parts of a name: `search[feed][url]` has three. */
export const maxDepth = 8

export type Pair = readonly [name: string, value: string]

/**
 * The parameters of a request, whichever way they came.
 *
 * Names are kept in one spelling, with dots: `search[feed][url]`, `search[feed.url]` and `search.feed.url` are the same
 * parameter, and so are `hub.url`, `hub.url[]` and `hub.url[0]`. They live in a `Map`, never in an object: a name such as
 * `__proto__` is a name like any other.
 */
export class Parameters {
  readonly #values: ReadonlyMap<string, ReadonlyArray<string>>

  constructor(values: ReadonlyMap<string, ReadonlyArray<string>>) {
    this.#values = values
  }

  /** All values of a name in the order of the request; empty ones are left out, as if they had not been sent. */
  all(name: string): ReadonlyArray<string> {
    return this.#values.get(name)?.filter((value) => value !== "") ?? []
  }

  /** The value of a name that can have one only. Sent twice with different values, nobody can know which one was meant. */
  one(name: string): Effect.Effect<string | undefined, Refusal> {
    const values = this.all(name)
    const first = values[0]
    const other = values.find((value) => value !== first)
    if (other === undefined) return Effect.succeed(first)
    const received = secret.has(name) ? "" : `, such as ${quote(first ?? "")} and ${quote(other)}`
    return Effect.fail(
      badParameter(name, `${name} was sent ${values.length} times with different values${received}; send it once.`)
    )
  }

  /** Whether a name, or one below it (`search.feed.url` is below `search`), was sent with a value. */
  has(name: string): boolean {
    return this.all(name).length > 0 || this.below(name).length > 0
  }

  /** The names below a name, without it. */
  below(name: string): ReadonlyArray<string> {
    const prefix = `${name}.`
    return [...this.#values.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length))
  }

  integer(name: string, { fallback, maximum, minimum, schema }: Whole): Effect.Effect<number, Refusal> {
    return Effect.flatMap(this.one(name), (text) => {
      if (text === undefined) return Effect.succeed(fallback)
      const value = /^[+-]?\d{1,15}$/.test(text.trim()) ? Number(text) : NaN
      return Schema.is(schema)(value)
        ? Effect.succeed(value)
        : Effect.fail(
          badParameter(
            name,
            `${name} has to be a whole number from ${minimum} to ${maximum}; received ${
              quote(text)
            }. Without it, ${fallback} is taken.`
          )
        )
    })
  }

  /** One of some words, in any case. */
  choice<Word extends string>(
    name: string,
    words: Schema.Literals<ReadonlyArray<Word>>
  ): Effect.Effect<Word | undefined, Refusal> {
    return Effect.flatMap(this.one(name), (text) => {
      if (text === undefined) return Effect.undefined
      const word = text.trim().toLowerCase()
      return Schema.is(words)(word)
        ? Effect.succeed(word)
        : Effect.fail(badParameter(name, `${name} can be ${words.literals.join(" or ")}; received ${quote(text)}.`))
    })
  }

  /** False when it was not sent. */
  flag(name: string): Effect.Effect<boolean, Refusal> {
    return Effect.map(
      this.choice(name, flagWords),
      (word) => word === "true" || word === "1" || word === "yes"
    )
  }
}

/** What is never repeated in a sentence. */
const secret: ReadonlySet<string> = new Set(["authorization", "hub.secret", "hub.verify_token"])

const flagWords = Schema.Literals(["true", "false", "1", "0", "yes", "no"])

/**
 * One spelling of a name, or undefined when it has too many parts. Brackets that do not pair are taken literally.
 */
export const normalizeName = (name: string): string | undefined => {
  const parts = partsOf(name)
  // A number or nothing at the end only says that the parameter is repeated.
  while (parts.length > 1 && /^\d*$/.test(parts.at(-1) ?? "")) parts.pop()
  return parts.length > maxDepth ? undefined : parts.join(".")
}

const partsOf = (name: string): Array<string> => {
  const bracketed = /^([^[\]]+)((?:\[[^[\]]*\])+)$/.exec(name)
  if (bracketed === null) return [name]
  return [bracketed[1] ?? "", ...(bracketed[2] ?? "").slice(1, -1).split("][")]
}

/**
 * Merges the sources of a request; where a name is in both, `body` wins.
 */
export const merge = (
  query: Iterable<Pair>,
  body: Iterable<Pair>
): Effect.Effect<Parameters, Refusal | HttpRejection> =>
  Effect.gen(function*() {
    const values = yield* collect(query)
    for (const [name, sent] of yield* collect(body)) values.set(name, sent)
    return new Parameters(values)
  })

const collect = Effect.fnUntraced(function*(pairs: Iterable<Pair>) {
  const values = new Map<string, Array<string>>()
  let count = 0
  for (const [given, value] of pairs) {
    if (++count > maxParameters) return yield* tooManyParameters
    const name = yield* checkedName(given)
    // PostgreSQL cannot keep these, XML and headers cannot carry them: nobody needs them, and a secret without them is another one.
    if (value.includes("\0")) return yield* badParameter(name, `${name} holds a NUL character; leave it out.`)
    if (!value.isWellFormed()) {
      return yield* badParameter(name, `${name} holds half of a surrogate pair, which is no character; leave it out.`)
    }
    const sent = values.get(name)
    if (sent === undefined) values.set(name, [value])
    else sent.push(value)
  }
  return values
})

const checkedName = (given: string): Effect.Effect<string, Refusal> => {
  if (given.length > maxNameLength) {
    return Effect.fail(
      badParameter(
        quote(given),
        `The name of a parameter has ${given.length} characters: ${
          quote(given)
        }; at most ${maxNameLength} are read. Send parameters as name=value&name=value.`
      )
    )
  }
  const name = normalizeName(given)
  return name === undefined
    ? Effect.fail(
      badParameter(
        quote(given),
        `The name of a parameter is nested too deep: ${quote(given)}; at most ${maxDepth} parts are read.`
      )
    )
    : Effect.succeed(name)
}

export const tooManyParameters = tooLarge(`The request has more than ${maxParameters} parameters; send fewer.`)
