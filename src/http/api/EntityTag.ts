import type { HttpServerResponse } from "effect/http"
import * as Fingerprint from "#domain/Fingerprint.ts"
import { matches } from "#http/Negotiation.ts"
import * as Reply from "#http/Reply.ts"

type Response = HttpServerResponse.HttpServerResponse

/** Sends a body with an ETag, or 304 when `If-None-Match` names the tag. */
export const replyTagged = <Body extends string | Uint8Array>(
  body: Body,
  ifNoneMatch: string | undefined,
  send: (body: Body, headers: { readonly [name: string]: string }) => Response
): Response => {
  const fingerprint = typeof body === "string" ? Fingerprint.ofString(body) : Fingerprint.ofBytes(body)
  const etag = `"${fingerprint.toString(16).padStart(16, "0")}"`
  return matches(ifNoneMatch, etag) ? Reply.notModified(etag) : send(body, { etag })
}
