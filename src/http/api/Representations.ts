import { Effect } from "effect"
import type { HttpServerResponse } from "effect/http"
import type { ListedSubscription, Representation } from "#actors/operations/Hub.ts"
import * as Fingerprint from "#domain/Fingerprint.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import type { SubscriptionItem } from "#domain/ports/SubscriptionStore.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { renderAtom } from "#domain/render/AtomXml.ts"
import { documentToEntry, isInFormat } from "#domain/render/DocumentEntry.ts"
import { renderJson, statusToJson } from "#domain/render/NotificationJson.ts"
import { statusOf } from "#domain/poll/Resource.ts"
import { shownFormat } from "#domain/Subscription.ts"
import { type Asked, matches } from "#http/Negotiation.ts"
import * as Reply from "#http/Reply.ts"

type Response = HttpServerResponse.HttpServerResponse

/** How the caller wants an answer. */
export interface Wanted {
  readonly format: Asked | undefined
  /** What is no feed comes as it is, whatever the format. */
  readonly feedsOnly: boolean
  readonly jsonp: string | undefined
  readonly ifNoneMatch: string | undefined
  readonly service: Service
}

/** How this service names itself in what it sends. */
export interface Service {
  /** Namespace of `status` in Atom. */
  readonly extNamespace: string
  /** URL of the hub that documents name, see `hubOf`. */
  readonly hub: string
}

/** What is stored of a resource: a feed in the format that was asked for, everything else as its own bytes unless a format was asked for. */
export const reply = (representation: Representation, wanted: Wanted): Effect.Effect<Response, Refusal> => {
  const { document, header, status } = representation
  const { feedsOnly, format, ifNoneMatch, jsonp, service: { extNamespace, hub } } = wanted
  if (jsonp !== undefined && format === "atom") return Effect.fail(jsonpNeedsJson)
  if (document !== undefined && (format === undefined || feedsOnly || isInFormat(document, format))) {
    return replyDocument(document, wanted)
  }
  const entries = document === undefined ? representation.entries : [documentToEntry(document, status)]
  if (jsonp !== undefined || format === "json") {
    const json = renderJson({ status, header, entries, retrieve: true })
    return Effect.succeed(jsonp === undefined ? tagged(json, ifNoneMatch, Reply.json) : Reply.script(jsonp, json))
  }
  const links = { self: status.feed, hub }
  return Effect.succeed(
    tagged(renderAtom({ status, header, entries, extNamespace, ...links }), ifNoneMatch, Reply.atom)
  )
}

const jsonpNeedsJson = badParameter(
  "callback",
  "callback (JSONP) goes with the JSON format only; received format=atom. Leave one of them out."
)

const replyDocument = (
  { body, contentType }: Document,
  { ifNoneMatch, jsonp }: Wanted
): Effect.Effect<Response, Refusal> => {
  if (jsonp === undefined) {
    const etag = etagOf(Fingerprint.ofBytes(body))
    return Effect.succeed(
      matches(ifNoneMatch, etag) ? Reply.notModified(etag) : Reply.document(body, sendable(contentType), { etag })
    )
  }
  return Effect.map(jsonOf(body), (json) => Reply.script(jsonp, json))
}

/** Only what parses as JSON goes into a script: the bytes are a stranger's. */
const jsonOf = (body: Uint8Array): Effect.Effect<string, Refusal> =>
  Effect.try({
    try: () => JSON.stringify(JSON.parse(new TextDecoder().decode(body))),
    catch: () =>
      badParameter(
        "callback",
        "callback (JSONP) goes with feeds and JSON only, and this resource is neither. Leave it out."
      )
  })

/** The type that the publisher sent, when it can be a header's value. */
const sendable = (contentType: string): string =>
  /^[\x20-\x7e]+$/.test(contentType) ? contentType : "application/octet-stream"

/** What was asked for, and how many fit. */
interface ListMeta {
  readonly total: number
  readonly page: number
  readonly byPage: number
  /** As it was sent. */
  readonly search: object
}

export interface ListWanted {
  readonly jsonp: string | undefined
  readonly ifNoneMatch: string | undefined
  /** With it the answer is an object that holds the status of each resource. */
  readonly detailed: ListMeta | undefined
}

/** Subscriptions as a JSON array, or in detail. */
export const list = (
  items: ReadonlyArray<ListedSubscription>,
  { detailed, ifNoneMatch, jsonp }: ListWanted
): Response => {
  const json = JSON.stringify(
    detailed === undefined
      ? items.map((item) => ({ subscription: subscriptionOf(item, {}) }))
      : {
        subscriptions: items.map((item) => ({
          subscription: {
            ...subscriptionOf(item, { status: statusToJson(statusOf(item.resource, item.subscription.topic)) }),
            deliveries: item.deliveries,
            ...(item.subscription.channel === "xmpp" && { xmpp: xmppOf(item) })
          }
        })),
        meta: { ...detailed, by_page: detailed.byPage }
      }
  )
  return jsonp === undefined ? tagged(json, ifNoneMatch, Reply.json) : Reply.script(jsonp, json)
}

const subscriptionOf = ({ resource, subscription }: SubscriptionItem, details: object) => ({
  format: shownFormat(subscription, resource),
  endpoint: subscription.endpoint,
  secret: subscription.secret ?? null,
  feed: { title: resource.header?.title?.value ?? null, url: subscription.topic, ...details }
})

/** How an XMPP subscription stands: whether it is sent to, who is there if that is known, and what came back. Times in seconds. */
const xmppOf = ({ bounces, presence, subscription: { state } }: ListedSubscription) => ({
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

const tagged = (
  body: string,
  ifNoneMatch: string | undefined,
  send: (body: string, headers: { readonly [name: string]: string }) => Response
): Response => {
  const etag = etagOf(Fingerprint.ofString(body))
  return matches(ifNoneMatch, etag) ? Reply.notModified(etag) : send(body, { etag })
}

const etagOf = (fingerprint: Fingerprint.Fingerprint): string => `"${fingerprint.toString(16).padStart(16, "0")}"`
