import { Cause, Clock, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { randomBytes } from "node:crypto"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { ProductVersion } from "#domain/ports/ProductVersion.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { basePathOf, withBasePath } from "#http/BasePath.ts"
import { formatCookie, readCookie } from "#http/Cookies.ts"
import { methodNotAllowed } from "#http/HttpRejection.ts"
import type { Parameters } from "#http/Parameters.ts"
import * as Reply from "#http/Reply.ts"
import { readQueryParameters, withParameters } from "#http/RequestBody.ts"
import { cookieName, protectionOf } from "#http/SessionCookie.ts"
import { type OpenSession, Sessions } from "#http/Sessions.ts"
import { assetsPath, loadAssets } from "./Assets.ts"
import { checkForm, checkOrigin } from "./FormCheck.ts"
import { type Frame, renderDocument } from "./Layout.ts"
import { noticeAgeSeconds, openNotice, sealNotice } from "./Notices.ts"
import {
  type Action,
  type Content,
  findByPath,
  type Needs,
  type Notice,
  type Outcome,
  type Page,
  type PageError,
  type PublicCall
} from "./Page.ts"
import { actions, pages, type PageServices } from "./Pages.ts"
import { forbidden, notFound, problemContent, signInPath } from "./Problems.ts"

type Response = HttpServerResponse.HttpServerResponse

/** The table entry of a request, and its call. */
interface Visit {
  readonly request: HttpServerRequest
  readonly path: string
  readonly viewer: OpenSession | undefined
  /** Of the page before, by its cookie. */
  readonly notice: Notice | undefined
}

/** Serves the pages, the targets of their forms, and their assets. Every failure becomes a page. */
export const makePagesEndpoint = Effect.gen(function*() {
  const assets = yield* loadAssets
  const { exchanges } = yield* DocumentMemory
  const sessions = yield* Sessions
  const settings = yield* Settings
  const version = yield* ProductVersion
  const services = yield* Effect.context<PageServices>()
  const { baseUrl } = settings
  const basePath = basePathOf(baseUrl)

  const render = (visit: Visit, content: Content, problem?: Notice): Response => {
    const { path, request, viewer } = visit
    const nonce = randomBytes(16).toString("base64")
    const isUnprotected = path.startsWith("/dashboard") && protectionOf(request, baseUrl) === "none"
    const frame: Frame = { assets, nonce, path, version, viewer, notice: problem ?? visit.notice, isUnprotected }
    const response = HttpServerResponse.text(withBasePath(renderDocument(content, frame), basePath), {
      status: content.status ?? 200,
      contentType: "text/html; charset=utf-8",
      headers: pageHeaders(nonce)
    })
    return visit.notice === undefined ? response : withCookie(response, request, "", 0)
  }

  const withCookie = (response: Response, request: HttpServerRequest, notice: string, maxAgeSeconds: number) =>
    HttpServerResponse.setHeader(
      response,
      "set-cookie",
      formatCookie(
        cookieName(request, baseUrl, "-notice"),
        notice,
        maxAgeSeconds,
        protectionOf(request, baseUrl) !== "none"
      )
    )

  const callOf = Effect.fnUntraced(function*(
    { request }: Visit,
    path: PublicCall["path"],
    sent: Parameters | undefined
  ) {
    const query = yield* readQueryParameters(request)
    return { request, path, query, sent, settings, now: yield* Clock.currentTimeMillis } satisfies PublicCall
  })

  const showPage = Effect.fnUntraced(
    function*(visit: Visit, problem?: { error: PageError; sent: Parameters | undefined }) {
      const found = findByPath(pages, visit.path)
      if (found === undefined) {
        return render(visit, problem === undefined ? notFound(visit.path) : problemContent(problem.error))
      }
      const call = yield* callOf(visit, found.parts, problem?.sent)
      const refusal = refuseVisit(found.entry, visit)
      if (refusal !== undefined) return refusal === "sign in" ? goToSignIn(visit, basePath) : render(visit, refusal)
      const content = yield* Effect.provideContext(showEntry(found.entry, call, visit.viewer), services)
      if ("_tag" in content) return answer(visit, content)
      const status = problem === undefined ? content.status : Reply.errorHead(problem.error).status
      const shown = { ...content, ...(status !== undefined && { status }) }
      if (problem === undefined) return render(visit, shown)
      return withErrorHead(render(visit, shown, { kind: "bad", text: problem.error.message }), problem.error)
    }
  )

  const runAction = Effect.fnUntraced(function*(visit: Visit) {
    const found = findByPath(actions, visit.path)
    if (found === undefined) {
      return yield* findByPath(pages, visit.path) === undefined
        ? Effect.succeed(render(visit, notFound(visit.path)))
        : methodNotAllowed("This page takes no form; open it with GET.", "GET, HEAD")
    }
    const refusal = refuseVisit(found.entry, visit)
    if (refusal !== undefined) return refusal === "sign in" ? goToSignIn(visit, basePath) : render(visit, refusal)
    yield* checkOrigin(visit.request, baseUrl)
    return yield* withParameters(exchanges, visit.request, (form) =>
      Effect.gen(function*() {
        if (visit.viewer !== undefined && found.entry.needs !== "nothing") yield* checkForm(form, visit.viewer)
        const call = yield* callOf(visit, found.parts, undefined)
        const run = runEntry(found.entry, form, call, visit.viewer)
        return answer(visit, yield* Effect.provideContext(run, services))
      }).pipe(Effect.catch((error) => showPage(visit, { error, sent: form }))))
  })

  const answer = (visit: Visit, outcome: Outcome): Response => {
    if (outcome._tag === "Leave") return redirect(outcome.url, outcome.cookie)
    if (outcome._tag === "Show") {
      const { content, cookie, refresh } = outcome
      return HttpServerResponse.setHeaders(render(visit, content), {
        ...(cookie !== undefined && { "set-cookie": cookie }),
        ...(refresh !== undefined && { refresh: `0; url=${basePath}${refresh}` })
      })
    }
    const response = redirect(basePath + outcome.path, outcome.cookie)
    return outcome.notice === undefined || visit.viewer === undefined
      ? response
      : withCookie(response, visit.request, sealNotice(outcome.notice, visit.viewer), noticeAgeSeconds)
  }

  const respond = Effect.fnUntraced(function*(visit: Visit) {
    const { request } = visit
    switch (request.method) {
      case "GET":
      case "HEAD":
        return yield* showPage(visit)
      case "POST":
        return yield* runAction(visit)
      default:
        return yield* methodNotAllowed("A page is read with GET, and a form is sent with POST.", "GET, HEAD, POST")
    }
  })

  const handle = (request: HttpServerRequest): Effect.Effect<Response> => {
    const path = pathOf(request.url)
    if (path.startsWith(assetsPath)) {
      const asset = assets.serve(request, path)
      if (asset !== undefined) return Effect.succeed(asset)
    }
    const bare: Visit = { request, path, viewer: undefined, notice: undefined }
    return Effect.gen(function*() {
      const viewer = path.startsWith("/dashboard") ? yield* sessions.resume(request) : undefined
      const sealed = readCookie(request.headers["cookie"], cookieName(request, baseUrl, "-notice"))
      const notice = viewer === undefined ? undefined : openNotice(sealed, viewer)
      const visit = { ...bare, viewer, notice }
      return yield* Effect.catch(
        respond(visit),
        (error) => Effect.succeed(withErrorHead(render(visit, problemContent(error)), error))
      )
    }).pipe(
      Effect.catch((error) => Effect.succeed(withErrorHead(render(bare, problemContent(error)), error))),
      Effect.withSpan("Pages.handle"),
      Effect.catchCause((cause) => renderCause(cause, () => render(bare, internalError)))
    )
  }
  return handle
})

/** Path without the query, and without slashes at the end. A pattern would take a second for 30,000 slashes with another sign behind. */
const pathOf = (url: string): string => {
  const path = url.split("?", 1)[0] ?? ""
  let end = path.length
  while (end > 1 && path[end - 1] === "/") end--
  return path.slice(0, end)
}

/** A page for a visitor who may not see the entry; undefined for those who may. */
const refuseVisit = (
  { needs }: { readonly needs: Needs | "nothing" },
  { viewer }: Visit
): Content | "sign in" | undefined => {
  if (needs === "nothing") return undefined
  if (viewer === undefined) return "sign in"
  return needs === "session" || viewer.caller.rights.has(needs) ? undefined : forbidden(needs, viewer)
}

const showEntry = (
  entry: Page<PageServices>,
  call: PublicCall,
  viewer: OpenSession | undefined
): Effect.Effect<Content | Outcome, PageError, PageServices> => {
  if (entry.needs === "nothing") return entry.show(call)
  return viewer === undefined
    ? Effect.die("a page without a session")
    : entry.show({ ...call, viewer, caller: viewer.caller })
}

const runEntry = (
  entry: Action<PageServices>,
  form: Parameters,
  call: PublicCall,
  viewer: OpenSession | undefined
): Effect.Effect<Outcome, PageError, PageServices> => {
  if (entry.needs === "nothing") return entry.run(form, call)
  return viewer === undefined
    ? Effect.die("an action without a session")
    : entry.run(form, { ...call, viewer, caller: viewer.caller })
}

const redirect = (path: string, cookie?: string): Response =>
  HttpServerResponse.empty({
    status: 303,
    headers: { location: path, "cache-control": "no-store", ...(cookie !== undefined && { "set-cookie": cookie }) }
  })

/** The sign-in leads back to the page; a form has to be sent again. */
const goToSignIn = ({ path, request }: Visit, basePath: string): Response => {
  const back = request.method === "POST" || path === "/dashboard"
    ? ""
    : `?${new URLSearchParams({ next: request.url })}`
  return redirect(`${basePath}${signInPath}${back}`)
}

/** The headers of an error, such as `Retry-After`. A challenge would open the browser's own window for a login. */
const withErrorHead = (response: Response, error: PageError): Response => {
  const { "www-authenticate": _, ...headers } = Reply.errorHead(error).headers ?? {}
  return HttpServerResponse.setHeaders(response, headers)
}

/**
 * Headers of every page.
 *
 * The policy allows the scripts and styles with the nonce of this response alone: `'self'` would also allow the JSONP of the API.
 * `same-origin` keeps the Origin header of forms, which `no-referrer` would turn into `null`.
 */
const pageHeaders = (nonce: string) => ({
  "content-security-policy":
    `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; img-src 'self'; connect-src 'self'; ` +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY"
})

const internalError: Content = problemContent({
  title: "Internal error",
  message: "The log of Windhover has the details.",
  status: 500
})

const renderCause = (cause: Cause.Cause<never>, render: () => Response): Effect.Effect<Response> =>
  Cause.hasInterruptsOnly(cause)
    ? Effect.interrupt // the client has disconnected
    : Effect.as(Effect.logError("A page failed unexpectedly; the browser gets status 500", cause), render())
