import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Refusal, RefusalReason } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import { HttpRejection } from "./HttpRejection.ts"
import { wrap } from "./Jsonp.ts"

/** Sent with every answer. Browsers anywhere may call: who calls is told by the credentials in the request, never by a cookie. */
const common = {
  "pubsubhubbub-version": "0.3",
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "ETag, Link, Retry-After, Allow, PubSubHubbub-Version, WWW-Authenticate",
  "x-content-type-options": "nosniff"
}

/** Answers belong to who asked: no shared cache keeps them, and a private one only where there is an ETag to ask again with. */
const uncached = { ...common, "cache-control": "no-store" }
const revalidated = { ...common, "cache-control": "private, no-cache", vary: "Accept, Authorization" }

/** The methods that the API's address knows. */
export const methods: ReadonlyArray<string> = ["GET", "HEAD", "POST", "OPTIONS"]

export const allowed = methods.join(", ")

/** Done, nothing to say. */
export const done = HttpServerResponse.empty({ status: 204, headers: uncached })

/** Accepted; the callback is asked in the background. */
export const pending = HttpServerResponse.empty({ status: 202, headers: uncached })

/** The answer, with the topic that was found in place of the one that was asked for. */
export const instead = (answer: HttpServerResponse.HttpServerResponse, topic: string | undefined) =>
  topic === undefined ? answer : HttpServerResponse.setHeader(answer, "link", `<${new URL(topic).href}>; rel="self"`)

/** Says to browsers what other sites' scripts may send. */
export const preflight = HttpServerResponse.empty({
  status: 204,
  headers: {
    ...common,
    allow: allowed,
    "access-control-allow-methods": allowed,
    "access-control-allow-headers":
      "Authorization, Content-Type, Accept, If-None-Match, Last-Event-ID, X-HTTP-Method-Override",
    "access-control-max-age": "86400",
    "cache-control": "no-store"
  }
})

export const text = (status: number, sentence: string, headers: { readonly [name: string]: string } = {}) =>
  HttpServerResponse.text(sentence, {
    status,
    contentType: "text/plain; charset=utf-8",
    headers: { ...uncached, ...headers }
  })

/** 405: this address takes other methods, `GET, HEAD` for instance. */
export const wrongMethod = (method: string, allow: string) => {
  const these = allow.replace(/, (?=\w+$)/, " or ")
  return text(405, `The method ${quote(method)} is not known here; use ${these}.`, { allow })
}

/** An address that can only be read. */
export const onlyGet =
  <E, R>(answer: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  ({ method }: HttpServerRequest.HttpServerRequest) =>
    method === "GET" || method === "HEAD" ? answer : Effect.succeed(wrongMethod(method, "GET, HEAD"))

/** A script that hands JSON to the page's own function. */
export const script = (name: string, json: string) =>
  HttpServerResponse.text(wrap(name, json), {
    contentType: "text/javascript; charset=utf-8",
    headers: uncached
  })

export const json = (body: string, headers: { readonly [name: string]: string } = {}) =>
  HttpServerResponse.text(body, {
    contentType: "application/json; charset=utf-8",
    headers: { ...revalidated, ...headers }
  })

export const atom = (body: string, headers: { readonly [name: string]: string } = {}) =>
  HttpServerResponse.text(body, { contentType: "application/atom+xml", headers: { ...revalidated, ...headers } })

/**
 * The bytes of a watched resource. They are a stranger's and come from this service's own address:
 * a browser that shows them runs nothing in its name.
 */
export const document = (body: Uint8Array, contentType: string, headers: { readonly [name: string]: string } = {}) =>
  HttpServerResponse.uint8Array(body, {
    contentType,
    headers: { ...revalidated, "content-security-policy": "default-src 'none'; sandbox", ...headers }
  })

/** The header of what goes on and on; proxies are asked to hand it through as it comes. */
export const streaming = (contentType: string) => ({
  ...uncached,
  "content-type": contentType,
  "x-accel-buffering": "no",
  connection: "close" // whoever stops the service waits for connections that are kept
})

/** That header alone. */
export const head = (contentType: string) => HttpServerResponse.empty({ status: 200, headers: streaming(contentType) })

/** What the caller has is still right. */
export const notModified = (etag: string) =>
  HttpServerResponse.empty({ status: 304, headers: { ...revalidated, etag } })

interface Wire {
  readonly status: number
  readonly headers?: { readonly [name: string]: string }
}

const challenge = { "www-authenticate": "Basic realm=\"Windhover\", charset=\"UTF-8\"" }

/** From reasons to the wire, exhaustively: a new reason does not compile until it has a status. */
const wireOf = (reason: RefusalReason): Wire => {
  switch (reason._tag) {
    case "BadParameter":
    case "NotVerified":
      return { status: 422 }
    case "NotSubscribed":
      return { status: 404 }
    case "Unauthenticated":
      return { status: 401, headers: challenge }
    case "Forbidden":
      return { status: 403 }
    case "Throttled":
      return { status: 429, headers: retryAfter(reason.retryAfter) }
    case "Unavailable":
      return { status: 503, headers: retryAfter(reason.retryAfter) }
  }
}

const retryAfter = (seconds: number) => ({ "retry-after": String(Math.max(1, Math.ceil(seconds))) })

const wireOfDeclined = ({ allow, status }: HttpRejection): Wire =>
  allow === undefined ? { status } : { status, headers: { allow } }

/**
 * An error as the caller sees it: a sentence as text. A script cannot see the status of another script,
 * so that JSONP gets both inside a 200.
 */
export const failed = (error: Refusal | HttpRejection, jsonp?: string): HttpServerResponse.HttpServerResponse => {
  const { headers, status } = error instanceof HttpRejection ? wireOfDeclined(error) : wireOf(error.reason)
  return jsonp === undefined
    ? text(status, error.message, headers)
    : script(jsonp, JSON.stringify({ error: { code: status, message: error.message } }))
}
