import { Effect } from "effect"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type { Representation } from "#actors/operations/Hub.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { renderAtom } from "#domain/render/AtomXml.ts"
import { documentToEntry, isInFormat } from "#domain/render/DocumentEntry.ts"
import { renderJson } from "#domain/render/NotificationJson.ts"
import { toJsonLine } from "#http/Json.ts"
import type { RequestedFormat } from "#http/Negotiation.ts"
import * as Reply from "#http/Reply.ts"
import type { ApiCall } from "./Operation.ts"

/** The client's wishes for a response. */
type ResponseOptions = RequestedFormat & Pick<ApiCall, "jsonp" | "ifNoneMatch" | "service">

/**
 * Renders stored content: a feed in the requested format (Atom by default), every other resource as its own bytes unless the client
 * requests a format.
 */
export const renderRetrieved = (
  representation: Representation,
  options: ResponseOptions
): Effect.Effect<HttpServerResponse, Refusal> => {
  const { document, header, status } = representation
  const { feedsOnly, format, ifNoneMatch, jsonp, service: { extNamespace, hub } } = options
  if (jsonp !== undefined && format === "atom") return Effect.fail(jsonpNeedsJson)
  if (document !== undefined && (format === undefined || feedsOnly || isInFormat(document, format))) {
    return renderDocument(document, options)
  }
  const entries = document === undefined ? representation.entries : [documentToEntry(document, status)]
  if (jsonp !== undefined || format === "json") {
    const json = renderJson({ status, header, entries, retrieve: true })
    return Effect.succeed(
      jsonp === undefined ? Reply.withETag(json, ifNoneMatch, Reply.json) : Reply.jsonp(jsonp, json)
    )
  }
  // the hub does not know the URL of several feeds together
  const links = { self: status.feed, ...(representation.isCombined === true ? {} : { hub }) }
  return Effect.succeed(
    Reply.withETag(renderAtom({ status, header, entries, extNamespace, ...links }), ifNoneMatch, Reply.atom)
  )
}

const jsonpNeedsJson = badParameter(
  "callback",
  "callback (JSONP) goes with the JSON format only; received format=atom. Leave one of them out."
)

const renderDocument = (
  document: Document,
  { ifNoneMatch, jsonp }: ResponseOptions
): Effect.Effect<HttpServerResponse, Refusal> => {
  if (jsonp !== undefined) {
    // only valid JSON may enter a script, because a publisher controls the bytes
    const json = toJsonLine(document)
    return json === undefined ? Effect.fail(jsonpNeedsContent) : Effect.succeed(Reply.jsonp(jsonp, json))
  }
  const type = headerValueOf(document.contentType)
  return Effect.succeed(
    Reply.withETag(document.body, ifNoneMatch, (bytes, headers) => Reply.document(bytes, type, headers))
  )
}

const jsonpNeedsContent = badParameter(
  "callback",
  "callback (JSONP) goes with feeds and JSON only, and this resource is neither. Leave it out."
)

/** The publisher's Content-Type, if its characters are valid in a header. */
const headerValueOf = (contentType: string): string =>
  /^[\x20-\x7e]+$/.test(contentType) ? contentType : "application/octet-stream"
