import { Option, Schema } from "effect"
import { retries } from "#domain/delivery/Retry.ts"
import type { ListedItem, ListLine } from "./ListLine.ts"

/** Version of the export. A later version may have other fields. */
export const exportVersion = 1

const optional = Schema.optionalKey
const Format = Schema.Literals(["atom", "json"])

/** A subscription of an export, or of a list in the same words. */
export const SubscriptionLine = Schema.Struct({
  type: optional(Schema.Literal("subscription")),
  topic: Schema.String,
  callback: optional(Schema.String),
  jid: optional(Schema.String),
  null: optional(Schema.String),
  format: optional(Format),
  feedsOnly: optional(Schema.Boolean),
  secret: optional(Schema.String),
  headers: optional(Schema.Array(Schema.Tuple([Schema.String, Schema.String]))),
  retry: optional(Schema.Literals(retries)),
  state: optional(Schema.Literals(["active", "paused"])),
  labels: optional(Schema.Array(Schema.String))
})

export type SubscriptionLine = typeof SubscriptionLine.Type

/** An item of `hub.mode=list`, as the original service and this one answer. */
const HubListItem = Schema.Struct({
  subscription: Schema.Struct({
    endpoint: Schema.String,
    format: optional(Schema.NullOr(Schema.String)),
    secret: optional(Schema.NullOr(Schema.String)),
    labels: optional(Schema.Array(Schema.String)),
    feed: Schema.Struct({
      url: optional(Schema.NullOr(Schema.String)),
      status: optional(Schema.Struct({ feed: optional(Schema.String) }))
    })
  })
})

/** A feed of Miniflux's API (`GET /v1/feeds`). */
const MinifluxFeed = Schema.Struct({
  feed_url: Schema.String,
  category: optional(Schema.NullOr(Schema.Struct({ title: optional(Schema.String) }))),
  username: optional(Schema.NullOr(Schema.String)),
  disabled: optional(Schema.Boolean)
})

const decodeExported = Schema.decodeUnknownOption(SubscriptionLine)
const decodeHubItem = Schema.decodeUnknownOption(HubListItem)
const decodeMiniflux = Schema.decodeUnknownOption(MinifluxFeed)
const decodeType = Schema.decodeUnknownOption(
  Schema.Struct({ type: Schema.String, version: optional(Schema.Finite) })
)

/** Reads a value of JSON as a line. */
export const readItem = (line: number, value: unknown): ListLine => {
  if (typeof value === "string") return { _tag: "Item", line, item: { topic: value, labels: [] } }
  const other = readOther(line, value)
  if (other !== undefined) return other
  const item = exportedItem(value) ?? hubItem(value)
  if (item !== undefined) return { _tag: "Item", line, item }
  return readMiniflux(line, value) ?? {
    _tag: "Refused",
    line,
    reason:
      "The item is no subscription: it has none of \"topic\", \"subscription\" and \"feed_url\", or a wrong value."
  }
}

/** Lines of an export that are no subscriptions. */
const skippedTypes: { readonly [type: string]: string } = {
  end: "The last line of the export.",
  account: "An account is not imported: its subscriptions are.",
  token: "A token is not imported, because an export has no secrets. Create a new one.",
  entry: "An entry is not imported: the first fetch stores the present entries."
}

const readOther = (line: number, value: unknown): ListLine | undefined => {
  const typed = Option.getOrUndefined(decodeType(value))
  if (typed === undefined || typed.type === "subscription") return undefined
  const { type, version = exportVersion } = typed
  if (type === "export") {
    return version > exportVersion
      ? {
        _tag: "Fault",
        line,
        reason: `The export has version ${version}; this service reads versions up to ${exportVersion}.`
      }
      : { _tag: "Skipped", line, reason: "The first line of the export." }
  }
  const reason = Object.hasOwn(skippedTypes, type) ? skippedTypes[type] : undefined
  return reason === undefined ? undefined : { _tag: "Skipped", line, reason }
}

const exportedItem = (value: unknown): ListedItem | undefined =>
  Option.getOrUndefined(Option.map(decodeExported(value), (line): ListedItem => {
    const endpoint = line.callback ?? line.jid
    return {
      topic: line.topic,
      ...(endpoint !== undefined && { endpoint }),
      ...(line.null !== undefined && { nullDevice: line.null }),
      ...(line.format !== undefined && { format: line.format }),
      ...(line.feedsOnly === true && { feedsOnly: true }),
      ...(line.secret !== undefined && { secret: line.secret }),
      ...(line.headers !== undefined && { headers: line.headers }),
      ...(line.retry !== undefined && { retry: line.retry }),
      ...(line.state === "paused" && { paused: true }),
      labels: line.labels ?? [],
      ...(line.type === "subscription" && { isOwn: true })
    }
  }))

const hubItem = (value: unknown): ListedItem | undefined =>
  Option.getOrUndefined(Option.map(decodeHubItem(value), ({ subscription }): ListedItem => {
    const { endpoint, feed, format, labels = [], secret } = subscription
    return {
      topic: feed.url ?? feed.status?.feed ?? "",
      endpoint,
      ...((format === "atom" || format === "json") && { format }),
      ...(secret !== undefined && secret !== null && secret !== "" && { secret }),
      labels
    }
  }))

const readMiniflux = (line: number, value: unknown): ListLine | undefined =>
  Option.getOrUndefined(Option.map(decodeMiniflux(value), ({ category, disabled, feed_url: topic, username }) => {
    if (username !== undefined && username !== null && username !== "") {
      const reason = "The feed needs a login, which a list does not carry over. Subscribe to it by itself."
      return { _tag: "Refused", line, topic, reason }
    }
    if (disabled === true) return { _tag: "Refused", line, topic, reason: "The feed is disabled in its reader." }
    return { _tag: "Item", line, item: { topic, labels: [category?.title ?? ""] } }
  }))
