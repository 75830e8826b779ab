import type { Element } from "@xmpp/xml"
import { Effect, Option, Result } from "effect"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { Settings } from "#domain/ports/Settings.ts"
import type { Refusal } from "#domain/Refusal.ts"
import { statusOf } from "#domain/poll/Resource.ts"
import type { Status } from "#domain/poll/Status.ts"
import { documentIdOf } from "#domain/render/DocumentEntry.ts"
import { matchAll } from "#domain/Search.ts"
import { quote } from "#domain/Topic.ts"
import { accountKey, withContentRoom } from "#actors/limits/MemoryRoom.ts"
import { Hub, type Representation, type RetrieveRequest } from "#actors/operations/Hub.ts"
import * as Conditions from "./Conditions.ts"
import { countBytes, isHashedItemId, renderDocumentItem, renderEntryItem, type Style, toItemId } from "./Items.ts"
import { maxStanzaBytes } from "./Notifications.ts"
import * as Replies from "./Replies.ts"
import { makeIdentify, type Requester } from "./Requester.ts"
import { parseRequest, type Request, type SubscriptionRequest } from "./Requests.ts"

/** Subscriptions of one page of a list. */
const pageSize = 20

/** Maximum of characters in the name of a resource. */
const maxNameLength = 1_000

/** A request of an account, and the bytes that its answer may have. */
interface Call<Tag extends Request["_tag"]> {
  readonly hub: Hub["Service"]
  readonly extNamespace: string
  /** Period of a resource before its first fetch. */
  readonly minPeriodSeconds: number
  readonly requester: Requester
  readonly request: Extract<Request, { readonly _tag: Tag }>
  readonly maxBytes: number
}

type Answer = Effect.Effect<string, Conditions.Condition | Refusal>

/** Makes the function that answers an iq of type get or set. The function never fails. */
export const make = Effect.gen(function*() {
  const hub = yield* Hub
  const identify = yield* makeIdentify
  const { extNamespace, minPeriodSeconds } = yield* Settings
  const { exchanges } = yield* DocumentMemory

  const perform = Effect.fnUntraced(function*(from: string, request: Request, maxBytes: number) {
    if (request._tag === "Ping") return ""
    if (request._tag === "Items") return Replies.renderDiscoItems(request.node)
    if (request._tag === "Info" && request.node === undefined) {
      return Replies.renderDiscoInfo(undefined, "Windhover", extNamespace)
    }
    const call = { hub, extNamespace, minPeriodSeconds, requester: yield* identify(from), maxBytes }
    switch (request._tag) {
      case "Info":
        return yield* describeResource({ ...call, request })
      case "Subscribe":
        return yield* subscribe({ ...call, request })
      case "Unsubscribe":
        return yield* unsubscribe({ ...call, request })
      case "List":
        return yield* list({ ...call, request })
      case "Retrieve":
        return yield* withContentRoom(
          exchanges,
          accountKey(call.requester.caller.account.id),
          retrieve({ ...call, request })
        )
    }
  })

  return (iq: Element): Effect.Effect<string> => {
    const request = parseRequest(iq, extNamespace)
    if (Result.isFailure(request)) return Effect.succeed(Replies.renderError(iq, request.failure))
    const maxBytes = maxStanzaBytes - countBytes(Replies.renderResult(iq, " "))
    return perform(iq.attrs["from"] ?? "", request.success, maxBytes).pipe(
      Effect.map((payload) => Replies.renderResult(iq, payload)),
      Effect.catch((failure) =>
        Effect.succeed(Replies.renderError(iq, "_tag" in failure ? Conditions.toCondition(failure.reason) : failure))
      ),
      Effect.catchCause((cause) =>
        Effect.as(
          Effect.logError("XMPP: a request failed", cause),
          Replies.renderError(iq, Conditions.internalError("Something is wrong inside Windhover; its log says more."))
        )
      )
    )
  }
})

const requireOwnJid = (
  { isDomain, jid }: Requester,
  requested: SubscriptionRequest["jid"]
): Effect.Effect<void, Conditions.Condition> =>
  (isDomain ? requested.domain : requested.bare) === jid ? Effect.void : Effect.fail(
    Conditions.invalidJid(
      `${quote(requested.given)} is not yours: you are ${
        quote(jid)
      }. Subscriptions are made and ended for your own address${isDomain ? ", or one of your domain" : ""}.`
    )
  )

const subscribe = Effect.fnUntraced(
  function*(call: Call<"Subscribe">) {
    const { extNamespace, hub, maxBytes, request: { subscriptions }, requester } = call
    const [first] = subscriptions
    if (first === undefined) return ""
    yield* requireOwnJid(requester, first.jid)
    const statuses = yield* hub.subscribeJid({
      caller: requester.caller,
      jid: first.jid,
      awaitFirstStatus: true,
      resources: subscriptions.map(({ format, node }) => ({
        topic: node,
        ...(format === undefined ? {} : { format })
      }))
    })
    const items = subscriptions.flatMap(({ jid, node }, i) => {
      const status = statuses[i]
      return status === undefined ? [] : [{ node, jid: jid.given, status: withFirstPeriod(status, call) }]
    })
    return Replies.renderSubscribeResult(items, extNamespace, maxBytes)
  }
)

/** The status with the period by which an unfetched resource will be polled: the shortest one. */
const withFirstPeriod = (status: Status, { minPeriodSeconds }: Pick<Call<"List">, "minPeriodSeconds">): Status =>
  status.lastFetch === undefined ? { ...status, period: minPeriodSeconds } : status

/** Ends subscriptions. A missing subscription is a success. */
const unsubscribe = Effect.fnUntraced(
  function*({ hub, request: { subscriptions }, requester }: Call<"Unsubscribe">) {
    for (const { jid } of subscriptions) yield* requireOwnJid(requester, jid)
    for (const { jid, node } of subscriptions) {
      yield* hub.unsubscribe({ caller: requester.caller, topic: node, callback: jid.bare, face: "api" }).pipe(
        Effect.catchIf(
          ({ reason }) => reason._tag === "BadParameter" && reason.parameter === "hub.callback",
          () => Effect.void
        )
      )
    }
    return ""
  }
)

const list = Effect.fnUntraced(
  function*(call: Call<"List">) {
    const { extNamespace, hub, maxBytes, request: { jid: filter, page }, requester } = call
    if (filter !== undefined) yield* requireOwnJid(requester, filter)
    const jid = filter?.bare ?? requester.jid
    const isForDomain = requester.isDomain && jid === requester.jid
    const { items } = yield* hub.list({
      caller: requester.caller,
      page,
      byPage: pageSize,
      search: { ...matchAll, ...(isForDomain ? { endpointDomain: jid } : { endpointJid: jid }) }
    })
    const subscriptions = items.map(({ resource, subscription }) => ({
      node: subscription.topic,
      jid: subscription.endpoint,
      status: withFirstPeriod(statusOf(resource, subscription.topic), call)
    }))
    return Replies.renderListResult(subscriptions, page, extNamespace, maxBytes)
  }
)

const retrieve = Effect.fnUntraced(
  function*({ extNamespace, hub, maxBytes, request, requester }: Call<"Retrieve">) {
    const { count, itemIds, node } = request
    const read = (selection: Pick<RetrieveRequest, "count" | "ids">) =>
      hub.retrieve({ caller: requester.caller, topic: node, ...selection })
    const found = yield* (itemIds.length === 0 ? read({ count }) : readItems(read, node, itemIds)).pipe(
      Effect.asSome,
      Effect.catchIf(({ reason }) => reason._tag === "NotSubscribed", () => Effect.succeedNone)
    )
    const items = Option.isNone(found)
      ? ""
      : renderItems(found.value, node, extNamespace, maxBytes - countBytes(Replies.renderRetrieveResult(node, "")))
    return Replies.renderRetrieveResult(node, items)
  }
)

/** Newest entries in which an item is looked up by the hash of an entry id. */
const maxHashedItems = 50

/** Reads the named items that are stored, in the order of the request. */
const readItems = Effect.fnUntraced(function*(
  read: (selection: Pick<RetrieveRequest, "count" | "ids">) => Effect.Effect<Representation, Refusal>,
  node: string,
  itemIds: ReadonlyArray<string>
) {
  const { document, ...found } = yield* read({ count: itemIds.length, ids: itemIds })
  const entries = new Map(found.entries.map((entry) => [toItemId(entry.id), entry]))
  if (itemIds.some((id) => isHashedItemId(id) && !entries.has(id))) {
    for (const entry of (yield* read({ count: maxHashedItems })).entries) entries.set(toItemId(entry.id), entry)
  }
  return {
    ...found,
    entries: itemIds.flatMap((id) => entries.get(id) ?? []),
    ...(document !== undefined && itemIds.includes(documentIdOf(document, node)) ? { document } : {})
  } satisfies Representation
})

/** Answers service discovery for a resource that the account has subscribed to. */
const describeResource = ({ extNamespace, hub, request: { node = "" }, requester }: Call<"Info">): Answer =>
  hub.retrieve({ caller: requester.caller, topic: node, count: 0, awaitDocument: false }).pipe(
    Effect.catchIf(
      ({ reason }) => reason._tag === "NotSubscribed" || reason._tag === "BadParameter",
      () => Effect.fail(Conditions.noSuchNode(`You are not subscribed to ${quote(node)}.`))
    ),
    Effect.map(({ status }) =>
      Replies.renderDiscoInfo(node, (status.title ?? "").slice(0, maxNameLength).toWellFormed(), extNamespace)
    )
  )

/** Renders the items of an answer. Each item gets an equal share of the bytes. */
const renderItems = (
  { document, entries, format }: Representation,
  node: string,
  extNamespace: string,
  maxBytes: number
): string => {
  const style: Style = { format, extNamespace }
  const share = Math.floor(maxBytes / Math.max(1, entries.length))
  return document === undefined
    ? entries.map((entry) => renderEntryItem(entry, style, share)).join("")
    : renderDocumentItem(document, node, style, maxBytes)
}
