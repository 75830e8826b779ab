import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Fingerprint from "#domain/Fingerprint.ts"
import type { Refusal, RefusalReason } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import { HttpRejection } from "./HttpRejection.ts"
import { wrapJson } from "./Json.ts"
import { matches } from "./Negotiation.ts"

type Response = HttpServerResponse.HttpServerResponse
type HeaderFields = { readonly [name: string]: string }

/**
 * Headers of every response. Scripts of any site may call the API with their own credentials. `CrossSite.ts` rejects those that a
 * browser has stored.
 */
const commonHeaders = {
  "pubsubhubbub-version": "0.3",
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "ETag, Link, Retry-After, Allow, X-Windhover-Last-Event-Id, PubSubHubbub-Version, WWW-Authenticate",
  "x-content-type-options": "nosniff"
}

/** Keeps responses out of every cache, because a response belongs to one account. */
const uncachedHeaders = { ...commonHeaders, "cache-control": "no-store" }

/** Lets a private cache keep a response with an ETag and revalidate it before each use. */
const revalidatedHeaders = { ...commonHeaders, "cache-control": "private, no-cache", vary: "Accept, Authorization" }

/** Methods of the API endpoint. */
export const methods: ReadonlyArray<string> = ["GET", "HEAD", "POST", "OPTIONS"]

/** Value of the `Allow` header of the API endpoint. */
export const allowedMethods = methods.join(", ")

/** 204 No Content: the operation is done. */
export const noContent = HttpServerResponse.empty({ status: 204, headers: uncachedHeaders })

/** 202 Accepted: Windhover asks the callback in the background. */
export const accepted = HttpServerResponse.empty({ status: 202, headers: uncachedHeaders })

/** Adds `Link: <topic>; rel="self"` after feed discovery, to name the feed that Windhover subscribed to instead of the page. */
export const withSelfLink = (response: Response, topic: string | undefined): Response =>
  topic === undefined
    ? response
    : HttpServerResponse.setHeader(response, "link", `<${new URL(topic).href}>; rel="self"`)

/** CORS preflight response: the methods and headers that scripts of other sites may send. */
export const preflight = HttpServerResponse.empty({
  status: 204,
  headers: {
    ...uncachedHeaders,
    allow: allowedMethods,
    "access-control-allow-methods": allowedMethods,
    "access-control-allow-headers":
      "Authorization, Content-Type, Accept, If-None-Match, Last-Event-ID, X-HTTP-Method-Override",
    "access-control-max-age": "86400"
  }
})

export const text = (status: number, sentence: string, headers: HeaderFields = {}): Response =>
  HttpServerResponse.text(sentence, {
    status,
    contentType: "text/plain; charset=utf-8",
    headers: { ...uncachedHeaders, ...headers }
  })

/** 405 Method Not Allowed. `allow` lists the right methods, for example `GET, HEAD`. */
export const wrongMethod = (method: string, allow: string): Response => {
  const alternatives = allow.replace(/, (?=\w+$)/, " or ")
  return text(405, `The method ${quote(method)} is not allowed here; use ${alternatives}.`, { allow })
}

/** Restricts a handler to GET and HEAD. */
export const onlyGet =
  <E, R>(handle: (request: HttpServerRequest.HttpServerRequest) => Effect.Effect<Response, E, R>) =>
  (request: HttpServerRequest.HttpServerRequest) =>
    request.method === "GET" || request.method === "HEAD"
      ? handle(request)
      : Effect.succeed(wrongMethod(request.method, "GET, HEAD"))

/** JSONP: a script that passes `json` to the function `name` of the caller's page. */
export const jsonp = (name: string, json: string): Response =>
  HttpServerResponse.text(wrapJson(name, json), {
    contentType: "text/javascript; charset=utf-8",
    headers: uncachedHeaders
  })

export const json = (body: string, headers: HeaderFields = {}): Response =>
  HttpServerResponse.text(body, {
    contentType: "application/json; charset=utf-8",
    headers: { ...revalidatedHeaders, ...headers }
  })

export const atom = (body: string, headers: HeaderFields = {}): Response =>
  HttpServerResponse.text(body, { contentType: "application/atom+xml", headers: { ...revalidatedHeaders, ...headers } })

/**
 * The bytes of a watched resource. The Content-Security-Policy keeps a browser from running a publisher's script on Windhover's origin.
 */
export const document = (body: Uint8Array, contentType: string, headers: HeaderFields = {}): Response =>
  HttpServerResponse.uint8Array(body, {
    contentType,
    headers: { ...revalidatedHeaders, "content-security-policy": "default-src 'none'; sandbox", ...headers }
  })

/** A page that is the same for every client. */
export const constant = (body: Uint8Array, contentType: string, headers: HeaderFields): Response =>
  HttpServerResponse.uint8Array(body, { contentType, headers: { ...commonHeaders, ...headers } })

/** Headers of a stream. `x-accel-buffering` tells proxies to pass events on at once. */
export const streamHeaders = (contentType: string): HeaderFields => ({
  ...uncachedHeaders,
  "content-type": contentType,
  "x-accel-buffering": "no",
  connection: "close" // a shutdown waits for connections that are kept alive
})

/** Response to HEAD: the headers of a stream without events. */
export const streamHead = (contentType: string): Response =>
  HttpServerResponse.empty({ status: 200, headers: streamHeaders(contentType) })

/** 304 Not Modified: the client has the current representation. */
const notModified = (etag: string): Response =>
  HttpServerResponse.empty({ status: 304, headers: { ...revalidatedHeaders, etag } })

/** A response with an ETag, or 304 when `If-None-Match` names the tag. */
export const withETag = <Body extends string | Uint8Array>(
  body: Body,
  ifNoneMatch: string | undefined,
  send: (body: Body, headers: HeaderFields) => Response
): Response => {
  const fingerprint = typeof body === "string" ? Fingerprint.hashString(body) : Fingerprint.hashBytes(body)
  const etag = `"${fingerprint.toString(16).padStart(16, "0")}"`
  return matches(ifNoneMatch, etag) ? notModified(etag) : send(body, { etag })
}

/** Status and headers of an error response. */
interface ErrorHead {
  readonly status: number
  readonly headers?: HeaderFields
}

const basicChallenge = { "www-authenticate": "Basic realm=\"Windhover\", charset=\"UTF-8\"" }

/** From reasons to statuses, exhaustively: a new reason does not compile until it has a status. */
const refusalHead = (reason: RefusalReason): ErrorHead => {
  switch (reason._tag) {
    case "BadParameter":
    case "NotVerified":
      return { status: 422 }
    case "NotSubscribed":
      return { status: 404 }
    case "Unauthenticated":
      return { status: 401, headers: basicChallenge }
    case "Forbidden":
      return { status: 403 }
    case "Throttled":
      return { status: 429, headers: retryAfterHeader(reason.retryAfter) }
    case "Unavailable":
      return { status: 503, headers: retryAfterHeader(reason.retryAfter) }
  }
}

const retryAfterHeader = (seconds: number): HeaderFields => ({ "retry-after": String(Math.max(1, Math.ceil(seconds))) })

/** Status and headers of the response to an error. */
export const errorHead = (error: Refusal | HttpRejection): ErrorHead =>
  error instanceof HttpRejection ? rejectionHead(error) : refusalHead(error.reason)

const rejectionHead = ({ reason, status }: HttpRejection): ErrorHead =>
  reason._tag === "MethodNotAllowed" ? { status, headers: { allow: reason.allow } } : { status }

/**
 * An error response: the sentence as plain text.
 *
 * JSONP puts status and sentence into a script with status 200, because a page cannot read the status of a script.
 */
const renderError = (error: Refusal | HttpRejection, jsonpName?: string): Response => {
  const { headers, status } = errorHead(error)
  return jsonpName === undefined
    ? text(status, error.message, headers)
    : jsonp(jsonpName, JSON.stringify({ error: { code: status, message: error.message } }))
}

/** Turns every failure of a handler into an error response. */
export const catchErrors = <R>(handler: Effect.Effect<Response, Refusal | HttpRejection, R>, jsonpName?: string) =>
  Effect.catch(handler, (error) => Effect.succeed(renderError(error, jsonpName)))
