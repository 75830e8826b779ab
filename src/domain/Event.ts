import { Schema, SchemaGetter } from "effect"
import { toSingleLine } from "./ControlCharacters.ts"
import { maskCredentials } from "./UrlCredentials.ts"

/** Version of the list of events and of their fields. A new field keeps the version; a changed or removed one raises the version. */
export const eventVersion = 1

/** Epoch milliseconds inside, epoch seconds in the JSON of an event. */
const Time = Schema.Finite.pipe(
  Schema.decodeTo(Schema.Finite, {
    decode: SchemaGetter.transform((seconds: number) => seconds * 1000),
    encode: SchemaGetter.transform((millis: number) => Math.floor(millis / 1000))
  })
)

const subscription = {
  accountId: Schema.Int,
  subscriptionId: Schema.Int,
  /** As the subscriber wrote the topic. */
  topic: Schema.String,
  /** Callback URL or bare JID. */
  endpoint: Schema.String
}

const resource = {
  resourceId: Schema.Int,
  /** Canonical topic. */
  topic: Schema.String
}

/** The last failed attempt: status (0 without an answer), and a sentence. */
const failure = { code: Schema.Int, message: Schema.String }

const define = <Type extends string, Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({ type: Schema.Literal(type), ...fields })

/**
 * All events, by owner: subscriptions and accounts belong to one account, resources to the accounts of their subscriptions, all others to the
 * operator.
 */
export const Event = Schema.Union([
  /** No delivery has succeeded for so many hours. */
  define("subscription.failing", {
    ...subscription,
    ...failure,
    failingSince: Time,
    hours: Schema.Literals([1, 24])
  }),
  /** Only trials are sent until the receiver answers, or the account resumes the subscription. */
  define("subscription.paused", { ...subscription, ...failure, failingSince: Time }),
  /** A delivery succeeded after `subscription.failing` or `subscription.paused`. */
  define("subscription.recovered", { ...subscription, failingSince: Time }),
  /** `gone`: the callback answered 410, or the JID exists no longer. `lease`: the lease expired. */
  define("subscription.ended", { ...subscription, reason: Schema.Literals(["gone", "lease"]), message: Schema.String }),
  /** The resource entered its error state. */
  define("resource.failing", { ...resource, ...failure }),
  define("resource.recovered", { ...resource, code: Schema.Int }),
  /** The publisher redirects the topic permanently. The subscriptions keep their topic. */
  define("resource.moved", { ...resource, to: Schema.String }),
  /** The server answers 410 or 404 in place of the resource. */
  define("resource.gone", { ...resource, ...failure }),
  /** A publisher's hub misses pushes. Windhover polls its resources as if they had no hub. */
  define("hub.lost", { hub: Schema.String, message: Schema.String }),
  /** The credits of the account fell below zero. Deliveries go on. */
  define("account.out_of_allowance", { accountId: Schema.Int, credits: Schema.Int }),
  /** `reserve`: the free space is below the reserve. `full` and `read-only`: the database accepts no writes. */
  define("database.full", { reason: Schema.Literals(["reserve", "full", "read-only"]), message: Schema.String }),
  /** More events of one type than are kept in a minute. */
  define("events.omitted", {
    /** Undefined for the operator's own count. */
    accountId: Schema.optionalKey(Schema.Int),
    omittedType: Schema.String,
    count: Schema.Int,
    since: Time
  })
])

export type Event = typeof Event.Type

/** The JSON of an event, with times in seconds. */
export const encodeEvent = Schema.encodeSync(Event)

/** An event in the JSON of its entry. */
export interface EventJson {
  readonly version: typeof eventVersion
  /** As in `LoggedEvent`. */
  readonly id: number
  readonly type: Event["type"]
  /** Epoch seconds. */
  readonly at: number
  /** The fields of its type. */
  readonly data: { readonly [field: string]: string | number }
}

/** Characters of a text of an event. Topics and callbacks are shorter. */
const maxTextLength = 2048

/** Schema of an event in the JSON of its entry: one member for each type. */
export const EventJsonSchema = Schema.Union(Event.members.map(({ fields: { type, ...data } }) =>
  Schema.Struct({
    version: Schema.Literal(eventVersion),
    id: Schema.Int,
    type: type as Schema.Literal<Event["type"]>,
    at: Schema.Int,
    data: Schema.Struct(data as { readonly [field: string]: Schema.Codec<string | number> })
  })
)).annotate({ identifier: "Event" })

/**
 * The event with bounded texts in one line. Texts come from publishers, callbacks and hubs.
 *
 * Passwords in URLs are masked: an event goes to other callbacks, and to operators of other accounts.
 */
export const boundTexts = (event: Event): Event =>
  Object.fromEntries(
    Object.entries(event).map(([field, value]) => [field, typeof value === "string" ? boundText(value) : value])
  ) as Event

const boundText = (text: string): string => maskCredentials(toSingleLine(text)).slice(0, maxTextLength).toWellFormed()

/** The fields of an event that name its subscription. */
export const subscriptionFieldsOf = (
  { accountId, endpoint, id, topic }: {
    readonly accountId: number
    readonly endpoint: string
    readonly id: number
    readonly topic: string
  }
) => ({ accountId, subscriptionId: id, topic, endpoint })

/** An event in a log. */
export interface LoggedEvent {
  /** Ascending in the order of the log, with gaps. */
  readonly id: number
  /** Epoch ms. */
  readonly at: number
  readonly event: Event
}
