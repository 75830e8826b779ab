import { Schema } from "effect"
import { retries } from "#domain/delivery/Retry.ts"
import { rights } from "#domain/Account.ts"
import { EventJsonSchema } from "#domain/Event.ts"
import { optional } from "#http/ParameterSchemas.ts"

/** Schemas of the JSON responses, for `OpenApi`. Times are seconds since 1970. */

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
      format: Schema.NullOr(Schema.Literals(["json", "atom"])).annotate({
        description: "null: a resource that is no feed is sent as its own bytes."
      }),
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
  language: optional(Schema.String),
  event: optional(EventJsonSchema)
}).annotate({ identifier: "Item" })

/** State of an XMPP subscription. */
const XmppState = Schema.Struct({
  state: Schema.Literals(["active", "paused"]),
  online: optional(Schema.Boolean),
  bounces: optional(
    Schema.Struct({ count: Schema.Int, since: Schema.Int, last: Schema.Int, message: Schema.String })
  )
})

export const Subscriptions = Schema.Array(subscription({}, {})).annotate({ identifier: "Subscriptions" })

export const DetailedSubscriptions = Schema.Struct({
  subscriptions: Schema.Array(
    subscription({ status: Status }, {
      id: Schema.Int.annotate({ description: "Names the subscription below /api." }),
      deliveries: Schema.Struct({ waiting: Schema.Int, dropped: Schema.Int }),
      headers: optional(Schema.Array(Schema.String)),
      labels: optional(Schema.Array(Schema.String)),
      delivery: Schema.Struct({
        state: Schema.Literals(["pending", "active", "paused"]),
        retry: Schema.NullOr(Schema.Literals(retries)),
        failing_since: optional(Schema.Int),
        next_try: optional(Schema.Int),
        last_success: optional(Schema.Int)
      }),
      xmpp: optional(XmppState)
    })
  ),
  meta: Schema.Struct({
    total: Schema.Int,
    page: Schema.Int,
    by_page: Schema.Int,
    byPage: Schema.Int,
    search: Schema.Record(Schema.String, Schema.Unknown)
  })
}).annotate({ identifier: "SubscriptionsInDetail" })

const feedHeader = {
  status: Status,
  title: Schema.String,
  subtitle: optional(Schema.String),
  updated: Schema.NullOr(Schema.Int),
  id: Schema.String,
  standardLinks: optional(Links)
}

const feed = Schema.Struct({ ...feedHeader, items: Schema.Array(Item) })

export const Retrieved = feed.annotate({ identifier: "Retrieved" })

/** A notification of new entries has the shape of a retrieve. */
export const Notification = feed.annotate({ identifier: "Notification" })

/** A notification that a resource fails. */
export const Failure = Schema.Struct(feedHeader).annotate({ identifier: "Failure" })

export const GrantedRights = Schema.Struct({
  ...Object.fromEntries(rights.map((right) => [right, Schema.Boolean])),
  admin: Schema.optionalKey(Schema.Boolean.annotate({ description: "Only for an operator's account." }))
}).annotate({ identifier: "Rights" })
