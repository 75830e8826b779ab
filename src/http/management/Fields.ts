import { Schema } from "effect"
import { parseRfc3339, rfc3339Pattern } from "#domain/Rfc3339.ts"
import { maxCallbackLength } from "#domain/Subscription.ts"
import { maxTopicLength } from "#domain/Topic.ts"
import { maxCursorLength } from "./Cursor.ts"

/** Parameters that several routes share. `expected` completes the error sentence "NAME has to be …". */

export const optional: typeof Schema.optionalKey = Schema.optionalKey

/** A whole number, for example an id or a limit. */
export const integer = (minimum: number, maximum: number, description: string) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum })).annotate({
    description,
    expected: maximum === Number.MAX_SAFE_INTEGER
      ? `a whole number from ${minimum} on`
      : `a whole number from ${minimum} to ${maximum}`
  })

export const text = (maxLength: number, description: string, expected = "a text") =>
  Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(maxLength)).annotate({
    description,
    expected: `${expected} of 1 to ${maxLength} characters`
  })

/** One of some words, in exactly this spelling. */
export const word = <const Words extends ReadonlyArray<string>>(words: Words, description: string) =>
  Schema.Literals(words).annotate({ description, expected: words.map((word) => JSON.stringify(word)).join(" or ") })

export const flag = (description: string) => Schema.Boolean.annotate({ description, expected: "true or false" })

/** A list of 1 to `maxItems` items, which `expected` names. */
export const list = <Item extends Schema.Codec<unknown>>(
  item: Item,
  maxItems: number,
  description: string,
  expected: string
) =>
  Schema.Array(item).check(Schema.isMinLength(1), Schema.isMaxLength(maxItems)).annotate({
    description,
    expected: `a list of 1 to ${maxItems} ${expected}`
  })

/** Rows of a page. */
export const limit = optional(integer(1, 100, "Maximum of rows in the response; 20 by default."))

export const defaultLimit = 20

export const cursorOf = (maxLength: number) =>
  optional(
    text(maxLength, "`next` of the page before; the list begins at its start without it.", "the cursor of a page")
  )

/** Where a page begins. */
export const cursor = cursorOf(maxCursorLength)

/** `next` in a response. */
export const cursorText = Schema.String.annotate({ description: "Cursor of the next page; absent at the end." })

/** `all=true`, for operators. */
export const ofAll = optional(flag("true: of all accounts, for the right `admin`."))

/** A search in one line, in the keys of `hub.mode=list`. */
export const search = optional(
  text(
    2_048,
    "Keys of the search of `hub.mode=list` with their values, and parts of the URL: `feed.failing:true example.org`.",
    "a search"
  )
)

export const subscriptionId = integer(
  1,
  Number.MAX_SAFE_INTEGER,
  "Id of a subscription, as `hub.mode=list` shows it with `detailed=true`."
)

/** Names one subscription: its id, or topic and callback together. `readSubscription` checks which. */
export const subscriptionName = {
  subscription: optional(subscriptionId),
  topic: optional(text(maxTopicLength, "URL of the resource, with `callback` instead of `subscription`.", "a URL")),
  callback: optional(text(maxCallbackLength, "Callback of the subscription, with `topic`.", "a URL"))
}

const timeText = Schema.String.check(
  Schema.isPattern(rfc3339Pattern),
  Schema.makeFilter((text) => parseRfc3339(text) !== undefined)
)

/** A moment. */
export const instant = (description: string) =>
  timeText.annotate({ description, expected: "a time such as 2026-01-31T09:30:00Z" })

/** A sequence of the subscription, or a time. */
export const since = optional(
  Schema.Union([
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
    timeText
  ]).annotate({
    description: "The first sequence, or the time since which notifications were recorded.",
    expected: "a sequence from 1 on, or a time such as 2026-01-31T09:30:00Z"
  })
)

export const time = Schema.String.annotate({ format: "date-time", description: "UTC, as in RFC 3339." })

/** Formats epoch ms as `time`. */
export const formatTime = (ms: number): string => new Date(ms).toISOString()
