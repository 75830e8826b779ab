import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Refusal, RefusalReason } from "#domain/Refusal.ts"
import type { HttpRejection } from "#http/HttpRejection.ts"
import * as Reply from "#http/Reply.ts"

type Response = HttpServerResponse.HttpServerResponse

/**
 * Headers of every response below `/api`. Pages of other sites may not read these responses, so that no CORS header is sent. No cache
 * keeps them.
 */
export const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" }

export const json = (body: unknown): Response =>
  HttpServerResponse.text(JSON.stringify(body), { contentType: "application/json; charset=utf-8", headers })

/** Codes of errors by reason, exhaustively: a new reason does not compile until it has a code. */
const codes: { readonly [Tag in RefusalReason["_tag"] | HttpRejection["reason"]["_tag"]]: string } = {
  BadParameter: "invalid_parameter",
  NotSubscribed: "not_found",
  NotVerified: "not_verified",
  Unauthenticated: "unauthenticated",
  Forbidden: "forbidden",
  Throttled: "too_many_requests",
  Unavailable: "unavailable",
  Malformed: "malformed",
  CrossSite: "cross_site",
  MethodNotAllowed: "method_not_allowed",
  TooSlow: "too_slow",
  TooLarge: "too_large",
  UnsupportedBody: "unsupported_body"
}

/** All values of `error.code`. */
export const errorCodes: ReadonlyArray<string> = [...new Set([...Object.values(codes), "internal"])]

/** `{"error":{"code":"…","message":"…"}}` with the status of the error. */
export const error = (
  status: number,
  code: string,
  message: string,
  more: Readonly<Record<string, string>> = {}
): Response =>
  HttpServerResponse.text(JSON.stringify({ error: { code, message } }), {
    status,
    contentType: "application/json; charset=utf-8",
    headers: { ...headers, ...more }
  })

/** The body of an error response. */
export const errorJson = (failure: Refusal | HttpRejection): object => ({
  error: { code: codes[failure.reason._tag], message: failure.message }
})

/** Turns every failure of a handler into an error response. */
export const catchErrors = <R>(handler: Effect.Effect<Response, Refusal | HttpRejection, R>) =>
  Effect.catch(handler, (failure) => {
    const { headers, status } = Reply.errorHead(failure)
    return Effect.succeed(error(status, codes[failure.reason._tag], failure.message, headers))
  })
