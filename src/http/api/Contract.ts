import { Schema } from "effect"
import { rights } from "#domain/Account.ts"
import * as Lease from "#domain/websub/Lease.ts"
import { keys } from "#domain/Search.ts"
import { maxCallbackLength, signatureMethods } from "#domain/Subscription.ts"
import { maxTopicLength } from "#domain/Topic.ts"

/**
 * What may be sent and what comes back, as schemas: `Parameters` decodes requests with them, and `OpenApi` tells of them.
 */

/** Bytes of a `hub.secret`, at most (WebSub). */
export const maxSecretLength = 200

/** The same on the open hub: fewer than 200, says section 5.1 of WebSub. */
export const maxHubSecretLength = 199

/** Bytes of a `hub.verify_token`, at most: it is repeated in the URL of the verification. */
export const maxVerifyTokenLength = 1024

/** A whole number that has a default. */
export interface Whole {
  readonly schema: Schema.Codec<number>
  readonly minimum: number
  readonly maximum: number
  readonly fallback: number
}

const whole = (minimum: number, maximum: number, fallback: number, description: string): Whole => ({
  schema: Schema.Int.check(Schema.isBetween({ minimum, maximum })).annotate({ default: fallback, description }),
  minimum,
  maximum,
  fallback
})

const text = (description: string, maxLength?: number) =>
  (maxLength === undefined ? Schema.String : Schema.String.check(Schema.isMaxLength(maxLength))).annotate({
    description
  })

const flag = (description: string) => Schema.Boolean.annotate({ default: false, description })

export const page = whole(1, 1_000_000_000, 1, "Pages count from 1.")
export const byPage = whole(1, 500, 20, "Subscriptions on a page.")
export const retrieveCount = whole(1, 50, 10, "Entries, at most.")
export const replayCount = whole(1, 50, 1, "Entries that are sent once more.")

export const format = Schema.Literals(["json", "atom"]).annotate({
  description: "Of feeds (Accept asks as well), and of what is no feed, which comes as it is otherwise."
})
export const wait = Schema.Literals(["stream", "poll"]).annotate({
  description: "Whether to go on with what comes, or to answer when something has come."
})
const verify = Schema.Literals(["sync", "async"]).annotate({
  description: "Whether the callback is asked before the answer, or after it."
})

const secret = text("Signs the notifications.", maxSecretLength)
const verifyToken = text("Is repeated to the callback when it is asked.", maxVerifyTokenLength)
const topic = text("URL of the resource.", maxTopicLength)
const callback = text("URL that notifications are posted to.", maxCallbackLength)
const script = text("Name of a JavaScript function that is handed the answer (JSONP).", 128)

const optional = Schema.optionalKey

const searched = (name: string) =>
  Object.fromEntries(keys.map((key) => [`${name}[${key}]`, optional(text(`Searches for ${key}; see docs/http.md.`))]))

const mode = <const M extends string>(mode: M) => ({ "hub.mode": Schema.Literal(mode) })

const retrieval = {
  "hub.topic": optional(topic),
  "hub.callback": optional(text("The callback of subscriptions: the entries of all of them.")),
  ...searched("hub.callback"),
  count: optional(retrieveCount.schema),
  before: optional(text("Id of an entry: only what was published before it.")),
  after: optional(text("Id of an entry: only what was published after it.")),
  format: optional(format),
  callback: optional(script)
}

/** What is sent to `/`, by `hub.mode`. */
export const requests = {
  subscribe: Schema.Struct({
    ...mode("subscribe"),
    "hub.topic": topic,
    "hub.callback": callback,
    "hub.secret": optional(secret),
    "hub.verify": optional(verify),
    "hub.verify_token": optional(verifyToken),
    "hub.discover": optional(
      Schema.Boolean.annotate({
        description:
          "Of an HTML page that advertises feeds: true subscribes to the first, false to the page; not sent, it is refused and the feeds are named."
      })
    ),
    format: optional(format),
    retrieve: optional(flag("Whether the answer holds what is stored."))
  }),
  unsubscribe: Schema.Struct({
    ...mode("unsubscribe"),
    "hub.topic": topic,
    "hub.callback": optional(callback),
    "hub.verify": optional(verify),
    "hub.verify_token": optional(verifyToken)
  }),
  list: Schema.Struct({
    ...mode("list"),
    page: optional(page.schema),
    by_page: optional(byPage.schema),
    detailed: optional(flag("Whether the answer is an object with the status of each resource.")),
    ...searched("search"),
    callback: optional(script)
  }),
  retrieve: Schema.Struct({ ...mode("retrieve"), ...retrieval }),
  replay: Schema.Struct({
    ...mode("replay"),
    "hub.topic": topic,
    "hub.callback": callback,
    count: optional(replayCount.schema),
    async: optional(flag("Whether to answer before the callback has taken it."))
  }),
  publish: Schema.Struct({
    ...mode("publish"),
    "hub.url": text("URL that has news; repeated, or several with commas between."),
    "hub.content": optional(text("The document itself, of one URL.")),
    "hub.signature": optional(text("sha256=HEX, the HMAC of hub.content with the publisher's secret."))
  }),
  authenticate: Schema.Struct({
    ...mode("authenticate"),
    rights: optional(flag("Whether the answer says what the credentials may do.")),
    callback: optional(script)
  })
}

export const signature = Schema.Literals(signatureMethods).annotate({
  description: "Method of X-Hub-Signature; when not sent, SHA-1 with SHA-256 beside it."
})

/** A number that no lease can have is brought to one that can be; what is no number is a mistake. */
export const leaseSeconds = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999_999_999_999_999 })).annotate({
  default: Lease.granted(undefined),
  description: `Seconds; from ${Lease.granted(0)} to ${
    Lease.granted(Infinity)
  }, others are brought to the nearer of the two.`
})

/** What is sent to `/hub`, by `hub.mode`; other parameters are ignored there. */
export const hubRequests = {
  subscribe: Schema.Struct({
    ...mode("subscribe"),
    "hub.topic": topic,
    "hub.callback": callback,
    "hub.lease_seconds": optional(leaseSeconds),
    "hub.secret": optional(text("Signs the notifications.", maxHubSecretLength)),
    "hub.signature": optional(signature),
    "hub.verify": optional(verify),
    "hub.verify_token": optional(verifyToken)
  }),
  unsubscribe: Schema.Struct({
    ...mode("unsubscribe"),
    "hub.topic": topic,
    "hub.callback": callback,
    "hub.verify": optional(verify),
    "hub.verify_token": optional(verifyToken)
  }),
  publish: Schema.Struct({
    ...mode("publish"),
    "hub.url": text("URL that has news; repeated, or several with commas between. hub.topic says the same.")
  })
}

/** What is sent to `/stream`. */
export const streamRequest = Schema.Struct({ ...mode("retrieve"), ...retrieval, wait: optional(wait) })

const Status = Schema.Struct({
  feed: Schema.String,
  title: optional(Schema.String),
  code: optional(Schema.Int),
  http: optional(Schema.String),
  nextFetch: optional(Schema.Int),
  period: optional(Schema.Int),
  lastFetch: optional(Schema.Int),
  lastParse: optional(Schema.Int),
  lastMaintenanceAt: optional(Schema.Int),
  entriesCountSinceLastMaintenance: optional(Schema.Int),
  velocity: optional(Schema.Finite),
  popularity: optional(Schema.Finite),
  pornRank: optional(Schema.Finite),
  bozoRank: optional(Schema.Finite),
  generatedIds: optional(Schema.Boolean)
}).annotate({ identifier: "Status", description: "Times are seconds since 1970." })

const subscription = <F extends Schema.Struct.Fields, D extends Schema.Struct.Fields>(feed: F, details: D) =>
  Schema.Struct({
    subscription: Schema.Struct({
      ...details,
      format: Schema.NullOr(Schema.Literals(["json", "atom"])),
      endpoint: Schema.String,
      secret: Schema.NullOr(Schema.String),
      feed: Schema.Struct({ title: Schema.NullOr(Schema.String), url: Schema.String, ...feed })
    })
  })

const Links = Schema.Record(
  Schema.String,
  Schema.Array(Schema.Struct({
    title: optional(Schema.String),
    href: Schema.String,
    rel: Schema.String,
    type: optional(Schema.String)
  }))
)

const Item = Schema.Struct({
  id: Schema.String,
  published: optional(Schema.Int),
  updated: optional(Schema.Int),
  title: optional(Schema.String),
  content: optional(Schema.String),
  summary: optional(Schema.String),
  permalinkUrl: optional(Schema.String),
  standardLinks: optional(Links),
  links: optional(Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.String))),
  verb: optional(Schema.String),
  categories: optional(Schema.Array(Schema.String)),
  geo: optional(Schema.Struct({ type: Schema.Literal("point"), coordinates: Schema.Array(Schema.Finite) })),
  actor: optional(Schema.Record(Schema.String, Schema.String)),
  object: optional(Schema.Record(Schema.String, Schema.Unknown)),
  source: optional(Schema.Record(Schema.String, Schema.Unknown)),
  language: optional(Schema.String)
}).annotate({ identifier: "Item" })

/** How an XMPP subscription stands; times in seconds. */
const Xmpp = Schema.Struct({
  state: Schema.Literals(["active", "paused"]),
  online: optional(Schema.Boolean),
  bounces: optional(
    Schema.Struct({ count: Schema.Int, since: Schema.Int, last: Schema.Int, message: Schema.String })
  )
})

/** What comes back as JSON, by `hub.mode`. */
export const answers = {
  list: Schema.Array(subscription({}, {})).annotate({ identifier: "Subscriptions" }),
  listDetailed: Schema.Struct({
    subscriptions: Schema.Array(
      subscription({ status: Status }, {
        deliveries: Schema.Struct({ waiting: Schema.Int, dropped: Schema.Int }),
        xmpp: optional(Xmpp)
      })
    ),
    meta: Schema.Struct({
      total: Schema.Int,
      page: Schema.Int,
      by_page: Schema.Int,
      byPage: Schema.Int,
      search: Schema.Record(Schema.String, Schema.Unknown)
    })
  }).annotate({ identifier: "SubscriptionsInDetail" }),
  retrieve: Schema.Struct({
    status: Status,
    title: Schema.String,
    subtitle: optional(Schema.String),
    updated: Schema.NullOr(Schema.Int),
    id: Schema.String,
    standardLinks: optional(Links),
    items: Schema.Array(Item)
  }).annotate({ identifier: "Retrieved" }),
  authenticate: Schema.Struct(Object.fromEntries(rights.map((right) => [right, Schema.Boolean]))).annotate({
    identifier: "Rights"
  })
}
