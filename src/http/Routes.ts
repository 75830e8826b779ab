import { Cause, Effect, Layer, Option, type Types } from "effect"
import {
  HttpMiddleware,
  HttpRouter,
  HttpServerError,
  type HttpServerRequest,
  type HttpServerResponse
} from "effect/http"
import { IpNetwork } from "effect/net"
import { Settings } from "#domain/ports/Settings.ts"
import { quote } from "#domain/Topic.ts"
import { Authentication } from "./Authentication.ts"
import { makeDocumentation } from "#http/api/Documentation.ts"
import { makeHealth } from "./Health.ts"
import { hubCallbacks, makeHubCallbackEndpoint } from "#http/websub/HubCallbackEndpoint.ts"
import { makeWebSubEndpoint } from "#http/websub/WebSubEndpoint.ts"
import * as Reply from "./Reply.ts"
import { Bodies } from "./RequestBody.ts"
import { Streams } from "#http/stream/Streams.ts"
import { makeApiEndpoint } from "#http/api/ApiEndpoint.ts"
import { makeXmppLogins } from "./XmppLogins.ts"

/** Where the API answers, with or without a slash at the end; older clients post to the second. */
const apiPaths = ["/", "/hubbub"] as const

/** With the `?` that is missing where clients ask as an old sample prints it, `/stream/&hub.mode=…`; undefined for a path below. */
const streamUrl = (url: string): string | undefined =>
  /^\/stream\/?(?:\?|$)/.test(url) ? url : /^\/stream\/?&/.test(url) ? url.replace("&", "?") : undefined

/** The router takes `//stream` for `/stream`, as clients ask whose base URL ends in a slash; who reads the path itself is given one. */
const withOneSlash = (request: HttpServerRequest.HttpServerRequest) =>
  request.url.startsWith("//") ? request.modify({ url: request.url.replace(/^\/+/, "/") }) : request

const routes = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const { hubOpen, trustedProxies, xmppComponent } = yield* Settings
  const webhook = yield* makeApiEndpoint
  const { healthz, readyz } = yield* makeHealth
  for (const path of apiPaths) yield* router.add("*", path, webhook("api"))
  const stream = webhook("stream")
  yield* router.add("*", "/stream/*", (given) => {
    const request = withOneSlash(given)
    const url = streamUrl(request.url)
    return url === undefined ? Effect.succeed(notFound(request.url)) : stream(request.modify({ url }))
  })
  if (hubOpen) yield* router.add("*", "/hub", yield* makeWebSubEndpoint)
  yield* router.add("*", "/dev/null", ({ method }) => Effect.succeed(nothingKept(method)))
  const hubCallback = yield* makeHubCallbackEndpoint
  yield* router.add("*", `${hubCallbacks}*`, (request) => hubCallback(withOneSlash(request)))
  const { openapi, page } = yield* makeDocumentation
  yield* router.add("*", "/openapi.json", openapi)
  yield* router.add("*", "/docs", page)
  if (xmppComponent !== undefined) yield* router.add("*", "/internal/xmpp/auth", yield* makeXmppLogins)
  yield* router.add("*", "/healthz", healthz)
  yield* router.add("*", "/readyz", readyz)
  yield* router.addGlobalMiddleware(answerFailures)
  if (trustedProxies.length > 0) {
    const networks = trustedProxies.map(IpNetwork.fromStringUnsafe)
    yield* router.addGlobalMiddleware(HttpMiddleware.xForwardedHeaders({ trustedProxies: networks }))
  }
}))

/**
 * The null device, for notifications that come by an address that was not known for it when it was subscribed.
 *
 * A challenge is not repeated: a stranger's hub that asks here would send whatever the stranger subscribes to.
 */
const nothingKept = (method: string): HttpServerResponse.HttpServerResponse => {
  if (method === "POST") return Reply.done
  return method === "GET" || method === "HEAD"
    ? Reply.text(
      200,
      "This is the null device: as a hub.callback it has nothing delivered, and what is posted here is not kept."
    )
    : Reply.wrongMethod(method, "GET, HEAD, POST")
}

/** Whatever happens, the caller gets a sentence; what should not have happened is logged. */
const answerFailures = (
  answer: Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled>
): Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled> =>
  Effect.catchCause(answer, (cause) => {
    // Nobody is there any more to be answered.
    if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
    const error = Option.getOrUndefined<unknown>(Cause.findErrorOption(cause))
    return error instanceof HttpServerError.HttpServerError && error.reason._tag === "RouteNotFound"
      ? Effect.succeed(notFound(error.request.url))
      : Effect.as(Effect.logError("a request could not be answered", cause), somethingIsWrong)
  })

const notFound = (url: string) =>
  Reply.text(404, `There is nothing at ${quote(url.split("?", 1)[0] ?? "")}; the API is at /, with a hub.mode.`)

const somethingIsWrong = Reply.text(500, "Something is wrong inside Windhover; its log says more.")

/** Everything that is served over HTTP. */
export const layer = routes.pipe(Layer.provide([Authentication.layer, Bodies.layer, Streams.layer]))

/** Who stops the server waits for its answers: streams are ended before. */
const endStreams = Layer.effectDiscard(
  Effect.flatMap(Streams, ({ close }) => Effect.addFinalizer(() => close))
)

/** The same behind an `HttpServer`. A log line a request would halve what it can serve; where it listens is told by who starts it. */
export const layerServed = endStreams.pipe(
  Layer.provideMerge(HttpRouter.serve(layer, { disableLogger: true, disableListenLog: true })),
  Layer.provide(Streams.layer)
)
