import { Effect } from "effect"
import { badParameter } from "#domain/Refusal.ts"
import * as Search from "#domain/Search.ts"
import type { Parameters } from "#http/Parameters.ts"

/** Reads the search under a name (`search[feed][url]=…`), parsed and as the client sent it; undefined when the client sent none. */
export const readSearch = Effect.fnUntraced(function*(parameters: Parameters, name: string) {
  if (name === "search" && parameters.all(name).length > 0) {
    return yield* badParameter(
      name,
      `search needs a key: search[KEY]=…, where KEY is one of ${Search.keys.join(", ")}.`
    )
  }
  const criteria: Array<Criterion> = []
  for (const key of parameters.below(name)) {
    const text = yield* parameters.one(`${name}.${key}`)
    if (text !== undefined) criteria.push([key, text])
  }
  if (criteria.length === 0) return undefined
  return { search: yield* Effect.fromResult(Search.parse(criteria, name)), sent: nest(criteria) }
})

type Criterion = readonly [key: string, text: string]

/** Turns `feed.url` into `{feed: {url}}`. `Search.parse` has rejected unknown keys before, such as `__proto__`. */
const nest = (criteria: ReadonlyArray<Criterion>) => {
  const tree: Record<string, string | Record<string, string>> = {}
  for (const [key, text] of criteria) {
    const [group = "", name] = key.split(".")
    const below = tree[group]
    tree[group] = name === undefined ? text : { ...(typeof below === "object" && below), [name]: text }
  }
  return tree
}
