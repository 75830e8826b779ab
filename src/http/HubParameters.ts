import { Effect } from "effect"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import type { Parameters } from "./Parameters.ts"
import { maxVerifyTokenLength } from "./ParameterSchemas.ts"

/** URLs of one ping, at most. */
const maxPublishedTopics = 500

/** Reads the distinct topics of a ping, from `hub.url` and `hub.topic`. */
export const readPublishedTopics = Effect.fnUntraced(function*(parameters: Parameters) {
  const values = [...parameters.all("hub.url"), ...parameters.all("hub.topic")]
  // a URL may contain commas, so a comma separates only before the next http:// or https://
  const urls = values.flatMap((value) => value.split(/\s*,\s*(?=https?:\/\/)/i)).map((url) => url.trim())
  const topics = [...new Set(urls)]
  if (topics.length === 0) {
    return yield* badParameter(
      "hub.url",
      "Please provide a hub.url: the URL of the resource that has new content; it can be repeated."
    )
  }
  if (topics.length > maxPublishedTopics) {
    return yield* badParameter(
      "hub.url",
      `hub.url names ${topics.length} URLs; at most ${maxPublishedTopics} are accepted in one request.`
    )
  }
  return topics
})

/**
 * Reads `hub.verify` and `hub.verify_token`. A subscriber of PubSubHubbub 0.3 may send both words in its order of preference; the first
 * known word counts.
 */
export const readVerification = Effect.fnUntraced(function*(parameters: Parameters) {
  const words = parameters.all("hub.verify").flatMap((value) => value.split(",")).map((word) =>
    word.trim().toLowerCase()
  )
  const verify = words.find((word) => word === "sync" || word === "async")
  if (verify === undefined && words.length > 0) {
    return yield* badParameter("hub.verify", `hub.verify can be sync or async; received ${quote(words.join(","))}.`)
  }
  const verifyToken = yield* readBounded(parameters, "hub.verify_token", maxVerifyTokenLength)
  return { ...(verify !== undefined && { verify }), ...(verifyToken !== undefined && { verifyToken }) }
})

/** Reads a value of at most `maxBytes` bytes. The error sentence does not repeat the value, because the value can be a secret. */
export const readBounded = (
  parameters: Parameters,
  name: string,
  maxBytes: number
): Effect.Effect<string | undefined, Refusal> =>
  Effect.flatMap(parameters.one(name), (value) => {
    const length = value === undefined ? 0 : Buffer.byteLength(value)
    return length > maxBytes
      ? Effect.fail(badParameter(name, `${name} has ${length} bytes; at most ${maxBytes} are accepted.`))
      : Effect.succeed(value)
  })
