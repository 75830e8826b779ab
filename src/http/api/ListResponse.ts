import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type { ListedSubscription } from "#actors/operations/Hub.ts"
import { statusOf } from "#domain/poll/Resource.ts"
import type { Status } from "#domain/poll/Status.ts"
import type { BriefItem, SubscriptionItem } from "#domain/ports/SubscriptionStore.ts"
import { statusToJson } from "#domain/render/NotificationJson.ts"
import { toPlainText } from "#domain/render/PlainText.ts"
import { renderOnce } from "#domain/render/RenderOnce.ts"
import { shownFormat } from "#domain/Subscription.ts"
import * as Reply from "#http/Reply.ts"
import type { ApiCall } from "./Operation.ts"

/** Characters of a title in a list, at most. A page of 500 subscriptions so stays below 16 MiB. */
const maxTitleLength = 4_096

/** Page, number of matches and search, as `meta` of a detailed list. */
interface ListMeta {
  readonly total: number
  readonly page: number
  readonly byPage: number
  /** The search as the client sent it. */
  readonly search: object
}

type ListCall = Pick<ApiCall, "caller" | "ifNoneMatch" | "jsonp">

/**
 * Renders subscriptions as a JSON array.
 *
 * The secret is shown to credentials with the right `subscribe`, which may replace the secret anyway. Others get null: the secret signs
 * notifications, so a token for monitoring could forge them.
 */
export const renderList = (items: ReadonlyArray<BriefItem>, call: ListCall): HttpServerResponse =>
  respond(showsSecretTo(call) ? renderWithSecrets(items) : renderWithoutSecrets(items), call)

/** Renders subscriptions as an object, with the status of each resource and `meta`. The secret is shown as in `renderList`. */
export const renderDetailedList = (
  items: ReadonlyArray<ListedSubscription>,
  meta: ListMeta,
  call: ListCall
): HttpServerResponse =>
  respond(
    JSON.stringify(
      {
        subscriptions: items.map((item) => ({
          subscription: {
            id: item.subscription.id,
            ...subscriptionJson(item, showsSecretTo(call), { status: statusToJson(statusOfItem(item)) }),
            deliveries: item.deliveries,
            ...(item.subscription.headers !== undefined &&
              { headers: item.subscription.headers.map(([name]) => name) }),
            ...(item.subscription.labels !== undefined && { labels: item.subscription.labels }),
            delivery: deliveryJson(item),
            ...(item.subscription.channel === "xmpp" && { xmpp: xmppJson(item) })
          }
        })),
        meta: { ...meta, by_page: meta.byPage }
      }
    ),
    call
  )

const showsSecretTo = ({ caller }: ListCall): boolean => caller.rights.has("subscribe")

const respond = (json: string, { ifNoneMatch, jsonp }: ListCall): HttpServerResponse =>
  jsonp === undefined ? Reply.withETag(json, ifNoneMatch, Reply.json) : Reply.jsonp(jsonp, json)

const renderItemsWith = (showsSecret: boolean) =>
  renderOnce((items: ReadonlyArray<BriefItem>): string =>
    JSON.stringify(items.map((item) => ({ subscription: subscriptionJson(item, showsSecret, {}) })))
  )

/** Requests that share a read share its text. */
const renderWithSecrets = renderItemsWith(true)
const renderWithoutSecrets = renderItemsWith(false)

const subscriptionJson = (
  { resource: { header, kind }, subscription }: BriefItem,
  showsSecret: boolean,
  details: object
) => ({
  format: shownFormat(subscription, { kind }),
  endpoint: subscription.endpoint,
  secret: showsSecret ? subscription.secret ?? null : null,
  feed: {
    title: header?.title === undefined ? null : cutTitle(toPlainText(header.title)),
    url: subscription.topic,
    ...details
  }
})

const statusOfItem = ({ resource, subscription }: SubscriptionItem): Status => {
  const status = statusOf(resource, subscription.topic)
  return status.title === undefined ? status : { ...status, title: cutTitle(status.title) }
}

const cutTitle = (title: string): string =>
  title.length <= maxTitleLength ? title : title.slice(0, maxTitleLength).toWellFormed()

/** State of the delivery. Times are in seconds, and absent while they are unknown. */
const deliveryJson = ({ lastSuccessAt, nextTryAt, subscription: { failing, retry, state } }: SubscriptionItem) => ({
  state,
  retry: retry ?? null,
  ...(failing !== undefined && { failing_since: Math.floor(failing.since / 1000) }),
  ...(nextTryAt !== undefined && { next_try: Math.floor(nextTryAt / 1000) }),
  ...(lastSuccessAt !== undefined && { last_success: Math.floor(lastSuccessAt / 1000) })
})

/** State of an XMPP subscription: active or paused, online if Windhover knows, and its bounces. Times are in seconds. */
const xmppJson = ({ bounces, presence, subscription: { state } }: ListedSubscription) => ({
  state,
  ...(presence !== undefined && presence !== "unknown" && { online: presence === "online" }),
  ...(bounces !== undefined && {
    bounces: {
      count: bounces.count,
      since: Math.floor(bounces.since / 1000),
      last: Math.floor(bounces.lastAt / 1000),
      message: bounces.message
    }
  })
})
