import { Cause, Effect, Layer, Option, type Scope, type Types } from "effect"
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
import { makeApiEndpoint } from "#http/api/ApiEndpoint.ts"
import type { makePagesEndpoint } from "#http/pages/PagesEndpoint.ts"
import type { makeManagementEndpoint } from "#http/management/ManagementEndpoint.ts"
import { makeLiveEndpoint } from "#http/stream/LiveEndpoint.ts"
import { makeStreamEndpoint } from "#http/stream/StreamEndpoint.ts"
import { StreamRegistry } from "#http/stream/StreamRegistry.ts"
import * as StreamRegistryLayer from "#http/stream/StreamRegistryLayer.ts"
import { hubCallbackPath, makeHubCallbackEndpoint } from "#http/websub/HubCallbackEndpoint.ts"
import * as OpenPingsLayer from "#http/websub/OpenPingsLayer.ts"
import { makeWebSubEndpoint } from "#http/websub/WebSubEndpoint.ts"
import { logRequests } from "./AccessLog.ts"
import { basePathOf, stripBasePath } from "./BasePath.ts"
import * as AuthenticationLayer from "./AuthenticationLayer.ts"
import { makeDescription } from "./Documentation.ts"
import { makeHealth } from "./Health.ts"
import { makeMetricsEndpoint, metricsPath } from "./MetricsEndpoint.ts"
import { accepts } from "./Negotiation.ts"
import * as ProviderSignInLayer from "./ProviderSignInLayer.ts"
import { removeForeignLogins } from "./ProxyLogin.ts"
import * as Reply from "./Reply.ts"
import * as SessionsLayer from "./SessionsLayer.ts"
import { makeXmppLoginCheck } from "./XmppLoginCheck.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

/** Paths of the API, with or without a slash at the end. Older clients use the second one. */
const apiPaths = ["/", "/hubbub"] as const

/**
 * True for a browser that opens the address of the service: it asks for HTML, with neither credentials nor parameters. Every other request
 * is one of the API.
 */
const isHome = ({ headers, method, url }: Request): boolean =>
  (method === "GET" || method === "HEAD") && /^\/+$/.test(url) && headers["authorization"] === undefined &&
  headers["x-http-method-override"] === undefined && accepts(headers["accept"], "text/html")

/** The URL with a `?` in place of the first `&`, which older samples print: `/&hub.mode=…`. */
const withQuestionMark = (request: Request) => request.modify({ url: request.url.replace("&", "?") })

/** The URL of a stream; undefined for another path. Inserts the `?` that is missing in `/stream/&hub.mode=…`, an old sample. */
const streamUrl = (url: string): string | undefined =>
  /^\/stream\/?(?:\?|$)/.test(url) ? url : /^\/stream\/?&/.test(url) ? url.replace("&", "?") : undefined

/**
 * Reduces slashes at the start of the path to one. Clients whose base URL ends in a slash send `//stream`. The router accepts this
 * path, but handlers parse the URL themselves.
 */
const withOneSlash = (request: Request) =>
  request.url.startsWith("//") ? request.modify({ url: request.url.replace(/^\/+/, "/") }) : request

const routes = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const { accessLog, hubOpen, metricsPort, proxyLoginHeader, trustedProxies, xmppComponent } = yield* Settings
  const api = yield* makeApiEndpoint(yield* makeStreamEndpoint)
  const operation = api("api")
  const page = yield* makePages
  yield* router.add("*", "/", (request) => isHome(request) ? page(request) : operation(request))
  yield* router.add("*", "/hubbub", operation)
  for (const path of apiPaths) {
    yield* router.add("*", `${path === "/" ? "" : path}/&*`, (request) => operation(withQuestionMark(request)))
  }
  const stream = api("stream")
  yield* router.add("*", "/stream/*", (received) => {
    const request = withOneSlash(received)
    const url = streamUrl(request.url)
    return url === undefined ? Effect.succeed(notFound(request.url)) : stream(request.modify({ url }))
  })
  const management = yield* makeManagement
  yield* router.add("*", "/api/*", (request) => management(withOneSlash(request)))
  if (hubOpen) yield* router.add("*", "/hub", yield* makeWebSubEndpoint)
  yield* router.add("*", "/dev/null", ({ method }) => Effect.succeed(respondAsNullDevice(method)))
  const hubCallback = yield* makeHubCallbackEndpoint
  yield* router.add("*", `${hubCallbackPath}*`, (request) => hubCallback(withOneSlash(request)))
  for (const path of ["/dashboard/*", "/assets/*", "/docs/*", "/ping"] as const) {
    yield* router.add("*", path, (request) => page(withOneSlash(request)))
  }
  yield* router.add("*", "/openapi.json", yield* makeDescription)
  if (xmppComponent !== undefined) yield* router.add("*", "/internal/xmpp/auth", yield* makeXmppLoginCheck)
  const { healthz, readyz } = yield* makeHealth
  yield* router.add("*", "/healthz", healthz)
  yield* router.add("*", "/readyz", readyz)
  if (metricsPort === undefined) yield* router.add("*", metricsPath, yield* makeMetricsEndpoint)
  if (accessLog) yield* router.addGlobalMiddleware(logRequests)
  yield* router.addGlobalMiddleware(renderFailures)
  const networks = trustedProxies.map(IpNetwork.fromStringUnsafe)
  if (proxyLoginHeader !== undefined) {
    yield* router.addGlobalMiddleware(removeForeignLogins(proxyLoginHeader, networks))
  }
  if (trustedProxies.length > 0) {
    yield* router.addGlobalMiddleware(HttpMiddleware.xForwardedHeaders({ trustedProxies: networks }))
  }
}))

/**
 * The null device as a callback. Windhover recognizes its own base URL and sends nothing there; a POST arrives only through another
 * address of the same server, and is discarded.
 *
 * The response repeats no challenge: otherwise another hub could be made to deliver a stranger's subscriptions here.
 */
const respondAsNullDevice = (method: string): Response => {
  if (method === "POST") return Reply.noContent
  return method === "GET" || method === "HEAD"
    ? Reply.text(
      200,
      "This is the null device: notifications for it as a hub.callback are not delivered, and a POST to it is discarded."
    )
    : Reply.wrongMethod(method, "GET, HEAD, POST")
}

/** Turns every failure into a response with a sentence, and logs unexpected failures. */
const renderFailures = (handler: Effect.Effect<Response, Types.unhandled>): Effect.Effect<Response, Types.unhandled> =>
  Effect.catchCause(handler, (cause) => {
    if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt // the client has disconnected
    const error = Option.getOrUndefined<unknown>(Cause.findErrorOption(cause))
    return error instanceof HttpServerError.HttpServerError && error.reason._tag === "RouteNotFound"
      ? Effect.succeed(notFound(error.request.url))
      : Effect.as(Effect.logError("HTTP request failed unexpectedly; the client gets status 500", cause), internalError)
  })

const notFound = (url: string): Response =>
  Reply.text(404, `There is nothing at ${quote(url.split("?", 1)[0] ?? "")}; the API is at /, with a hub.mode.`)

const internalError = Reply.text(500, "Internal error; the log of Windhover has the details.")

/** An endpoint whose modules its first request loads: an idle service does not need their memory. */
const loadLater = Effect.fnUntraced(
  function*<R, R2>(
    load: () => Promise<Effect.Effect<(request: Request) => Effect.Effect<Response, never, R2>, never, R>>
  ) {
    const services = yield* Effect.context<R>()
    const endpoint = yield* Effect.cached(
      Effect.promise(load).pipe(Effect.flatten, Effect.provideContext(services))
    )
    return (request: Request) => Effect.flatMap(endpoint, (respond) => respond(request))
  }
)

const makePages = loadLater<Effect.Services<typeof makePagesEndpoint>, never>(async () =>
  (await import("#http/pages/PagesEndpoint.ts")).makePagesEndpoint
)

const makeManagement = Effect.flatMap(
  makeLiveEndpoint,
  (live) =>
    loadLater<Effect.Services<ReturnType<typeof makeManagementEndpoint>>, Scope.Scope>(async () =>
      (await import("#http/management/ManagementEndpoint.ts")).makeManagementEndpoint(live)
    )
)

/** All routes of the HTTP server. */
export const layer = routes.pipe(
  Layer.provide([
    AuthenticationLayer.layer,
    OpenPingsLayer.layer,
    ProviderSignInLayer.layer,
    SessionsLayer.layer,
    StreamRegistryLayer.layer
  ])
)

/** Ends the streams at shutdown, because the server waits for open responses. */
const endStreams = Layer.effectDiscard(
  Effect.flatMap(StreamRegistry, ({ close }) => Effect.addFinalizer(() => close))
)

/**
 * The routes behind an `HttpServer`. Requests are not logged, because one log line per request would halve the throughput. The command
 * line prints the address instead of the server.
 */
export const layerServed = endStreams.pipe(
  Layer.provideMerge(Layer.unwrap(Settings.useSync(({ baseUrl }) => {
    const basePath = basePathOf(baseUrl)
    return HttpRouter.serve(layer, {
      disableLogger: true,
      disableListenLog: true,
      ...(basePath !== "" && { middleware: stripBasePath(basePath) })
    })
  }))),
  Layer.provide(StreamRegistryLayer.layer)
)

/** `/metrics` behind an `HttpServer` of its own, see `WINDHOVER_METRICS_PORT`. */
export const layerMetricsServed = HttpRouter.serve(
  HttpRouter.use(Effect.fnUntraced(function*(router) {
    yield* router.add("*", metricsPath, yield* makeMetricsEndpoint)
    yield* router.addGlobalMiddleware(renderFailures)
  })),
  { disableLogger: true, disableListenLog: true }
).pipe(Layer.provide(StreamRegistryLayer.layer))
