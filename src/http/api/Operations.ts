import { Effect, Schema } from "effect"
import type { Hub, RetrieveRequest } from "#actors/operations/Hub.ts"
import { rights, tokenRights } from "#domain/Account.ts"
import { maxLabelLength, maxLabels } from "#domain/Labels.ts"
import { badParameter, NotSubscribed, type Refusal } from "#domain/Refusal.ts"
import { requireRight } from "#http/Authentication.ts"
import {
  readCallbackFilter,
  readListSearch,
  readOwnHeaders,
  readPublishedTopics,
  readSearch,
  readSecret,
  readVerification
} from "#http/HubParameters.ts"
import { readRequestedFormat } from "#http/Negotiation.ts"
import * as Parameter from "#http/ParameterSchemas.ts"
import * as Reply from "#http/Reply.ts"
import { readFatPing } from "./FatPing.ts"
import { renderDetailedList, renderList } from "./ListResponse.ts"
import type { ApiCall, Operation } from "./Operation.ts"
import * as ResponseSchemas from "./ResponseSchemas.ts"
import { renderRetrieved } from "./RetrieveResponse.ts"

const { optional } = Parameter

/** Maximum bytes of a `hub.secret` (WebSub). */
const maxSecretLength = 200

const page = Parameter.integer(1, 1_000_000_000, 1, "Pages count from 1.")
const byPage = Parameter.integer(1, 500, 20, "Subscriptions per page.")
const retrieveCount = Parameter.integer(1, 50, 10, "Entries, at most.")
const replayCount = Parameter.integer(1, 50, 1, "Entries in the notification.")

export const waitSchema = Schema.Literals(["stream", "poll"]).annotate({
  description: "stream sends future entries as they arrive; poll responds with the next ones."
})

const retrieveParameters = {
  "hub.topic": optional(Parameter.topic),
  "hub.callback": optional(Parameter.text("Retrieves the entries of all subscriptions with this callback.")),
  ...Parameter.searchKeys("hub.callback"),
  count: optional(retrieveCount.schema),
  before: optional(
    Parameter.text("Id of an entry; selects entries published before it, or with wait=poll stored before it.")
  ),
  after: optional(
    Parameter.text("Id of an entry; selects entries published after it, or with wait=poll stored after it.")
  ),
  format: optional(Parameter.formatSchema),
  callback: optional(Parameter.jsonpFunction)
}

const subscribe = Effect.fnUntraced(function*(hub: Hub["Service"], call: ApiCall) {
  const { accept, caller, parameters } = call
  const topic = yield* parameters.one("hub.topic")
  const callback = yield* parameters.one("hub.callback")
  const { feedsOnly, format } = yield* readRequestedFormat(parameters, accept)
  const retry = yield* parameters.choice("hub.retry", Parameter.retrySchema)
  const headers = yield* readOwnHeaders(parameters)
  const labels = parameters.all("hub.label")
  const retrieve = yield* parameters.flag("retrieve")
  if (retrieve) yield* requireRight(caller, "retrieve")
  const discover = parameters.has("hub.discover") ? yield* parameters.flag("hub.discover") : undefined
  const { discovered, outcome, representation } = yield* hub.subscribe({
    caller,
    topic: topic ?? "",
    callback: callback ?? "",
    ...(format !== undefined && { format }),
    ...(feedsOnly && { feedsOnly }),
    ...(yield* readSecret(parameters, maxSecretLength)),
    ...(headers !== undefined && { headers }),
    ...(labels.length > 0 && { labels }),
    ...(retry !== undefined && { retry }),
    ...(yield* readVerification(parameters)),
    ...(discover !== undefined && { discover }),
    face: "api",
    retrieve
  })
  if (outcome === "pending") return Reply.withSelfLink(Reply.accepted, discovered)
  return representation === undefined
    ? Reply.withSelfLink(Reply.noContent, discovered)
    : yield* renderRetrieved(representation, { ...call, format, feedsOnly, ifNoneMatch: undefined })
})

const unsubscribe = Effect.fnUntraced(function*(hub: Hub["Service"], { caller, parameters }: ApiCall) {
  const topic = yield* parameters.one("hub.topic")
  const callback = yield* parameters.one("hub.callback")
  const outcome = yield* hub.unsubscribe({
    caller,
    topic: topic ?? "",
    ...(callback !== undefined && { callback }),
    ...(yield* readVerification(parameters)),
    face: "api"
  }).pipe(Effect.mapError(asBadParameter))
  return outcome === "pending" ? Reply.accepted : Reply.noContent
})

/** An unsubscription without a subscription is 422 and not 404, because the request itself is wrong. */
const asBadParameter = (refusal: Refusal): Refusal =>
  refusal.reason instanceof NotSubscribed ? badParameter("hub.topic", refusal.message) : refusal

const list = Effect.fnUntraced(function*(hub: Hub["Service"], call: ApiCall) {
  const { caller, parameters } = call
  const search = yield* readListSearch(parameters)
  const pageNumber = yield* parameters.integer("page", page)
  const pageSize = yield* parameters.integer("by_page", byPage)
  const detailed = yield* parameters.flag("detailed")
  const request = {
    caller,
    page: pageNumber,
    byPage: pageSize,
    ...(search !== undefined && { search: search.search })
  }
  if (!detailed) return renderList(yield* hub.listBriefly(request), call)
  const { items, total = 0 } = yield* hub.list({ ...request, counted: true, presence: true })
  const meta = { total, page: pageNumber, byPage: pageSize, search: search?.sent ?? {} }
  return renderDetailedList(items, meta, call)
})

/** Reads the parameters of a retrieve, for a single response or for a stream. */
export const readRetrieveRequest = Effect.fnUntraced(function*({ caller, parameters }: ApiCall) {
  const topic = yield* parameters.one("hub.topic")
  const callback = yield* readCallbackFilter(parameters, "hub.callback")
  const search = callback === undefined ? yield* readSearch(parameters, "hub.callback") : undefined
  if (topic === undefined && callback === undefined && search === undefined) {
    return yield* badParameter(
      "hub.topic",
      "Please provide a hub.topic, the URL of a resource that you are subscribed to, or a hub.callback, the callback of your subscriptions."
    )
  }
  const count = yield* parameters.integer("count", retrieveCount)
  const before = yield* parameters.one("before")
  const after = yield* parameters.one("after")
  return {
    caller,
    count,
    ...(topic !== undefined && { topic }),
    ...(callback !== undefined && { callback }),
    ...(search !== undefined && { search: search.search }),
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after })
  } satisfies RetrieveRequest
})

const retrieve = Effect.fnUntraced(function*(hub: Hub["Service"], call: ApiCall) {
  const requested = yield* readRequestedFormat(call.parameters, call.accept)
  const representation = yield* hub.retrieve(yield* readRetrieveRequest(call))
  return yield* renderRetrieved(representation, { ...call, ...requested })
})

/** The status alone, as a retrieve without entries. */
const status = Effect.fnUntraced(function*(hub: Hub["Service"], call: ApiCall) {
  const requested = yield* readRequestedFormat(call.parameters, call.accept)
  const topic = yield* call.parameters.one("hub.topic")
  if (topic === undefined) {
    return yield* badParameter(
      "hub.topic",
      "Please provide a hub.topic, the URL of a resource that you are subscribed to."
    )
  }
  return yield* renderRetrieved(yield* hub.retrieve({ caller: call.caller, topic, count: 0 }), {
    ...call,
    ...requested
  })
})

const replay = Effect.fnUntraced(function*(hub: Hub["Service"], { caller, parameters }: ApiCall) {
  const topic = yield* parameters.one("hub.topic")
  const callback = yield* parameters.one("hub.callback")
  if (callback === undefined) {
    return yield* badParameter(
      "hub.callback",
      "Please provide a hub.callback: the callback of the subscription for the replay."
    )
  }
  const count = yield* parameters.integer("count", replayCount)
  const async = yield* parameters.flag("async")
  yield* hub.replay({ caller, topic: topic ?? "", callback, count, async })
  return Reply.noContent
})

const publish = Effect.fnUntraced(function*(hub: Hub["Service"], { caller, parameters, service }: ApiCall) {
  const topics = yield* readPublishedTopics(parameters)
  const content = yield* readFatPing(parameters, topics, service.publishers, service.acceptedContents)
  yield* hub.publish(topics, { accountId: caller.account.id, ...(content !== undefined && { content }) }).pipe(
    // the publisher may send the same content again after a failure
    Effect.tapError(() => Effect.sync(() => content !== undefined && service.acceptedContents.forget(content.body)))
  )
  return Reply.noContent
})

/** A subscriber's account cannot have the right `admin`, so that its response keeps the keys of the original service. */
const authenticate = Effect.fnUntraced(function*(_hub: Hub["Service"], { caller, jsonp, parameters }: ApiCall) {
  if (!(yield* parameters.flag("rights")) && jsonp === undefined) return Reply.noContent
  const named = caller.account.admin === true ? tokenRights : rights
  const granted = JSON.stringify(Object.fromEntries(named.map((right) => [right, caller.rights.has(right)])))
  return jsonp === undefined ? Reply.json(granted) : Reply.jsonp(jsonp, granted)
})

/** The operations by `hub.mode`. A new operation is a new entry here. */
export const operations = {
  subscribe: {
    right: "subscribe",
    changesState: true,
    parameters: Schema.Struct({
      "hub.topic": Parameter.topic,
      "hub.callback": Parameter.callback,
      "hub.secret": optional(Parameter.text("Signs the notifications.", maxSecretLength)),
      "hub.retry": optional(Parameter.retrySchema),
      "hub.secret_grace": optional(Parameter.secretGrace.schema),
      "hub.header[NAME]": optional(
        Parameter.text("Value of the header NAME, which each notification gets; at most 10 headers, 4 kB together.")
      ),
      "hub.label": optional(
        Parameter.text(
          `Label of the subscription. Repeat the parameter for up to ${maxLabels} labels; without it, stored labels stay.`,
          maxLabelLength
        )
      ),
      ...Parameter.verification,
      "hub.discover": optional(
        Schema.Boolean.annotate({
          description:
            "For an HTML page that advertises feeds. true subscribes to its first feed, false to the page. " +
            "Without the parameter, Windhover refuses the page and names its feeds."
        })
      ),
      format: optional(Parameter.formatSchema),
      retrieve: optional(Parameter.flag("Whether the response contains the stored entries."))
    }),
    responses: [ResponseSchemas.Retrieved],
    run: subscribe
  },
  unsubscribe: {
    right: "unsubscribe",
    changesState: true,
    parameters: Schema.Struct({
      "hub.topic": Parameter.topic,
      "hub.callback": optional(Parameter.callback),
      ...Parameter.verification
    }),
    run: unsubscribe
  },
  list: {
    right: "list",
    changesState: false,
    parameters: Schema.Struct({
      page: optional(page.schema),
      by_page: optional(byPage.schema),
      detailed: optional(Parameter.flag("Whether the response is an object with the status of each resource.")),
      "hub.topic": optional(Parameter.topic),
      "hub.callback": optional(Parameter.text("Lists the subscriptions with this callback.")),
      ...Parameter.searchKeys("search"),
      callback: optional(Parameter.jsonpFunction)
    }),
    responses: [ResponseSchemas.Subscriptions, ResponseSchemas.DetailedSubscriptions],
    run: list
  },
  retrieve: {
    right: "retrieve",
    changesState: false,
    parameters: Schema.Struct(retrieveParameters),
    streamParameters: Schema.Struct({
      ...retrieveParameters,
      wait: optional(waitSchema),
      lastEventId: optional(
        Parameter.text("Id of the last event, or X-Windhover-Last-Event-Id of the last poll; resumes after it.")
      )
    }),
    responses: [ResponseSchemas.Retrieved],
    run: retrieve
  },
  status: {
    right: "retrieve",
    changesState: false,
    parameters: Schema.Struct({
      "hub.topic": Parameter.topic,
      format: optional(Parameter.formatSchema),
      callback: optional(Parameter.jsonpFunction)
    }),
    responses: [ResponseSchemas.Retrieved],
    run: status
  },
  replay: {
    right: "retrieve",
    // GET is allowed, as in the original service: a replay repeats content that the callback has received before
    changesState: false,
    sendsNotifications: true,
    parameters: Schema.Struct({
      "hub.topic": Parameter.topic,
      "hub.callback": Parameter.callback,
      count: optional(replayCount.schema),
      async: optional(Parameter.flag("Whether to respond before the callback accepts the notification."))
    }),
    run: replay
  },
  publish: {
    right: "publish",
    changesState: true,
    parameters: Schema.Struct({
      "hub.url": Parameter.text(Parameter.publishedUrlDescription),
      "hub.content": optional(Parameter.text("The new document of a single URL.")),
      "hub.signature": optional(Parameter.text("sha256=HEX, the HMAC of hub.content with the publisher's secret."))
    }),
    run: publish
  },
  authenticate: {
    right: undefined,
    changesState: false,
    parameters: Schema.Struct({
      rights: optional(Parameter.flag("Whether the response lists the rights of the credentials.")),
      callback: optional(Parameter.jsonpFunction)
    }),
    responses: [ResponseSchemas.GrantedRights],
    run: authenticate
  }
} satisfies { readonly [mode: string]: Operation }
