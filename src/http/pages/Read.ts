import { Effect } from "effect"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import type { Parameters } from "#http/Parameters.ts"

/** The first value of a field; undefined for an empty one. */
export const readText = (parameters: Parameters, name: string): string | undefined => {
  const value = parameters.all(name)[0]
  return value === undefined || value.trim() === "" ? undefined : value
}

/** A whole number from 1 on, from a path or a field. */
export const readId = (text: string | undefined, name = "id"): Effect.Effect<number, Refusal> => {
  const id = /^\d{1,15}$/.test(text ?? "") ? Number(text) : 0
  return id > 0
    ? Effect.succeed(id)
    : Effect.fail(badParameter(name, `${name} has to be a whole number from 1 on; received ${quote(text ?? "")}.`))
}

/** The same for an optional field. */
export const readOptionalId = (parameters: Parameters, name: string): Effect.Effect<number | undefined, Refusal> => {
  const text = readText(parameters, name)
  return text === undefined ? Effect.undefined : readId(text, name)
}

/** A refusal of a URL in the words of a page: without the first sentence of the API, which names a parameter. */
export const describeUrlProblem = (message: string): string =>
  message.replace(
    /^Please provide a valid url \(feed\) URL that is accepted on this hub\. (?:url\b)?/,
    (sentence) => sentence.endsWith("url") ? "The URL" : ""
  )
