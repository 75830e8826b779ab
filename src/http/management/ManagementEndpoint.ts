import { Cause, Context, Effect, Scope } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type { Caller } from "#domain/Account.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import { Authentication, requireRight } from "#http/Authentication.ts"
import { isSameOrigin, rejectCrossSite } from "#http/CrossSite.ts"
import { crossSite, type HttpRejection, methodNotAllowed, unsupportedBody } from "#http/HttpRejection.ts"
import type { Parameters } from "#http/Parameters.ts"
import { readQueryParameters, withBody } from "#http/RequestBody.ts"
import { Sessions } from "#http/Sessions.ts"
import { checkOfAll } from "./CheckOfAll.ts"
import * as JsonReply from "./JsonReply.ts"
import type { ManagementRoute } from "./ManagementRoute.ts"
import { managementRoutes, type ManagementServices, streamedRoutes } from "./ManagementRoutes.ts"
import { collectQuery, credentialsParameter, parseJsonObject, type ReceivedInput } from "./ReadInput.ts"
import type { StreamedRoute } from "./StreamedRoute.ts"

type Route = ManagementRoute<ManagementServices> | StreamedRoute<ManagementServices>

/** Answers a request for live events with a stream, which ends with the session. `ofAll` shows all accounts. */
type RespondLive = (
  request: HttpServerRequest,
  caller: Caller,
  ofAll: boolean,
  sessionId: number | undefined
) => Effect.Effect<HttpServerResponse, Refusal | HttpRejection>

/** Handles the paths below `/api`. Every failure becomes a JSON response. */
export const makeManagementEndpoint = Effect.fnUntraced(function*(live: RespondLive) {
  const authentication = yield* Authentication
  const { exchanges: budget } = yield* DocumentMemory
  const { baseUrl } = yield* Settings
  const sessions = yield* Sessions
  const services = yield* Effect.context<ManagementServices>()
  const routesByPath = Map.groupBy<string, Route>([...managementRoutes, ...streamedRoutes], ({ path }) => path)

  /** Credentials come first. Without any, the session of the dashboard counts for requests of its own pages. */
  const authenticate = Effect.fnUntraced(function*(request: HttpServerRequest, query: Parameters) {
    const hasCredentials = (request.headers["authorization"] ?? "") !== "" || query.has(credentialsParameter)
    const open = hasCredentials ? undefined : yield* sessions.resume(request)
    if (open === undefined) return { caller: yield* authentication.authenticate(request, query), sessionId: undefined }
    return isSameOrigin(request, baseUrl) ? { caller: open.caller, sessionId: open.session.id } : yield* otherOrigin
  })

  const respond = Effect.fnUntraced(function*(request: HttpServerRequest) {
    const path = request.url.split("?", 1)[0]?.replace(/(?<=.)\/$/, "") ?? ""
    if (path === livePath && request.method === "GET") {
      const query = yield* readQueryParameters(request)
      const { caller, sessionId } = yield* authenticate(request, query)
      yield* requireRight(caller, "retrieve")
      const ofAll = query.all("all")[0] === "true"
      yield* checkOfAll(caller, ofAll)
      return yield* live(request, caller, ofAll, sessionId)
    }
    const { id, routes } = findRoutes(routesByPath, path)
    if (routes === undefined) {
      return JsonReply.error(404, "not_found", `There is nothing at ${quote(path)}; /openapi.json lists the paths.`)
    }
    const route = yield* selectRoute(routes, request.method)
    const query = yield* readQueryParameters(request)
    const { caller } = yield* authenticate(request, query)
    if (route.method === "POST") yield* rejectCrossSite(request, baseUrl, `POST ${path}`)
    yield* requireRight(caller, route.right)
    if ("open" in route) {
      // the services were collected with the scope of the server, which ends with the process
      const ofRequest = Context.add(services, Scope.Scope, yield* Effect.scope)
      return yield* Effect.provide(route.open(yield* collectQuery(query), { caller }, request), ofRequest)
    }
    const handle = (input: ReceivedInput) => Effect.provideContext(route.handle(input, { caller }), services)
    if (route.method === "GET") return JsonReply.json(yield* handle(withId(yield* collectQuery(query), id)))
    yield* refuseOtherInput(request, query.names)
    return JsonReply.json(
      yield* withBody(budget, request, (bytes) => Effect.flatMap(parseJsonObject(bytes), handle))
    )
  })

  return (request: HttpServerRequest): Effect.Effect<HttpServerResponse, never, Scope.Scope> =>
    JsonReply.catchErrors(Effect.withSpan(respond(request), "Management.respond")).pipe(Effect.catchCause(renderCause))
})

/** Path of the stream of live events. */
const livePath = "/api/live"

const otherOrigin = crossSite("A page of another site may not use the session of the dashboard.")

/** The routes of a path. `{id}` in the path of a route stands for its last part. */
const findRoutes = (
  routesByPath: ReadonlyMap<string, ReadonlyArray<Route>>,
  path: string
): { readonly routes: ReadonlyArray<Route> | undefined; readonly id?: string } => {
  const routes = routesByPath.get(path)
  if (routes !== undefined) return { routes }
  const [, parent, id = ""] = /^(.*)\/([\w-]+)$/.exec(path) ?? []
  return { routes: routesByPath.get(`${parent}/{id}`), id }
}

/** The input with the id of the path, which wins over a parameter of this name. */
const withId = (input: ReceivedInput, id: string | undefined): ReceivedInput =>
  id === undefined ? input : { ...input, values: { ...input.values, id } }

const selectRoute = (routes: ReadonlyArray<Route>, method: string): Effect.Effect<Route, HttpRejection> => {
  const route = routes.find((route) => route.method === (method === "HEAD" ? "GET" : method))
  if (route !== undefined) return Effect.succeed(route)
  const allow = routes.flatMap((route) => route.method === "GET" ? ["GET", "HEAD"] : [route.method]).join(", ")
  return Effect.fail(
    methodNotAllowed(
      `The method ${quote(method)} is not allowed here; use ${allow.replace(/, (?=\w+$)/, " or ")}.`,
      allow
    )
  )
}

/** Refuses a POST whose body is of another type than JSON, or that has parameters in its query. */
const refuseOtherInput = (
  { headers }: HttpServerRequest,
  names: ReadonlyArray<string>
): Effect.Effect<void, Refusal | HttpRejection> => {
  const other = names.find((name) => name !== credentialsParameter)
  if (other !== undefined) {
    return Effect.fail(
      badParameter(
        quote(other),
        `${quote(other)} is in the query; POST takes its parameters as a JSON object in the body.`
      )
    )
  }
  const contentType = headers["content-type"] ?? ""
  const type = (contentType.split(";", 1)[0] ?? "").trim().toLowerCase()
  if (type === "application/json" || type.endsWith("+json")) return Effect.void
  const hasBody = headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"
  return contentType === "" && !hasBody
    ? Effect.void
    : Effect.fail(
      unsupportedBody(`The body has the Content-Type ${quote(contentType)}; send a JSON object as application/json.`)
    )
}

const renderCause = (cause: Cause.Cause<never>): Effect.Effect<HttpServerResponse> =>
  Cause.hasInterruptsOnly(cause)
    ? Effect.interrupt // the client has disconnected
    : Effect.as(Effect.logError("HTTP request failed unexpectedly; the client gets status 500", cause), internalError)

const internalError = JsonReply.error(500, "internal", "Internal error; the log of Windhover has the details.")
