import { Schema } from "effect"
import { keys } from "#domain/Search.ts"
import { retries } from "#domain/delivery/Retry.ts"
import { maxCallbackLength } from "#domain/Subscription.ts"
import { maxTopicLength } from "#domain/Topic.ts"
import { maxJsonpNameLength } from "./Json.ts"
import type { IntegerParameter } from "./Parameters.ts"

/** Schemas of parameters that several operations share. Handlers decode requests with them, and `OpenApi` describes them. */

/** Maximum bytes of a `hub.verify_token`. The limit is low, because the URL of the verification repeats the token. */
export const maxVerifyTokenLength = 1024

export const optional: typeof Schema.optionalKey = Schema.optionalKey

export const integer = (
  minimum: number,
  maximum: number,
  fallback: number,
  description: string
): IntegerParameter => ({
  schema: Schema.Int.check(Schema.isBetween({ minimum, maximum })).annotate({ default: fallback, description }),
  minimum,
  maximum,
  fallback
})

export const text = (description: string, maxLength?: number) =>
  (maxLength === undefined ? Schema.String : Schema.String.check(Schema.isMaxLength(maxLength))).annotate({
    description
  })

export const flag = (description: string) => Schema.Boolean.annotate({ default: false, description })

export const topic = text("URL of the resource.", maxTopicLength)
export const callback = text("URL that receives the notifications by POST.", maxCallbackLength)
export const publishedUrlDescription =
  "URL with new content. Repeat the parameter, or separate several URLs with commas."
export const jsonpFunction = text(
  "Name of a JavaScript function that receives the response (JSONP). The response is JSON then, also without format=json.",
  maxJsonpNameLength
)

export const formatSchema = Schema.Literals(["json", "atom"]).annotate({
  description:
    "Format of feeds; the Accept header can request one too. Other resources keep their own bytes without this parameter."
})

export const retrySchema = Schema.Literals(retries).annotate({
  description:
    "Retries of failed notifications. short: after 5, 10 and 15 s, then dropped. days: after 5, 10, 15 s, 1, 5, 15 min, 1, 3, 6, 12 h, " +
    "then every 12 h for up to 3 days. The API's default is the setting WINDHOVER_RETRY; the open hub's default doubles the waits for a day."
})

/** Seconds for which a replaced secret goes on signing; a week at most. */
export const secretGrace = integer(
  0,
  7 * 24 * 3_600,
  0,
  "Seconds for which the stored secret signs beside a different hub.secret, in webhook-signature."
)

const verify = Schema.Literals(["sync", "async"]).annotate({
  description: "Whether Windhover asks the callback before or after its response."
})

/** `hub.verify` and `hub.verify_token`. */
export const verification = {
  "hub.verify": optional(verify),
  "hub.verify_token": optional(text("The verification request repeats this text.", maxVerifyTokenLength))
}

/** The keys of a search under a name: `search[feed.url]`. */
export const searchKeys = (name: string) =>
  Object.fromEntries(keys.map((key) => [`${name}[${key}]`, optional(text(`Searches for ${key}; see docs/http.md.`))]))
