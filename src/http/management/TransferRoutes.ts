import { Cause, Effect, Option, Schema, Stream } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { Export } from "#actors/operations/Export.ts"
import { Import, type ImportEvent, maxListBytes } from "#actors/operations/Import.ts"
import type { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import { retries } from "#domain/delivery/Retry.ts"
import { maxLabelLength } from "#domain/Labels.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { badParameter, type Refusal, refuseUnavailable } from "#domain/Refusal.ts"
import { maxCallbackLength } from "#domain/Subscription.ts"
import { maxTopicLength, quote } from "#domain/Topic.ts"
import { requireRight } from "#http/Authentication.ts"
import { growTo } from "#actors/limits/MemoryRoom.ts"
import { type HttpRejection, malformed, tooLarge, unsupportedBody } from "#http/HttpRejection.ts"
import * as Field from "./Fields.ts"
import * as JsonReply from "./JsonReply.ts"
import { makeStreamedRoute, type StreamedRoute } from "./StreamedRoute.ts"

const group = "Import and export"

const lines = "application/x-ndjson; charset=utf-8"

/** Maximum bytes of a secret, as of `hub.secret`. */
const maxSecretLength = 200

const importRoute = makeStreamedRoute({
  method: "POST",
  path: "/api/import",
  right: "subscribe",
  group,
  summary: "Subscribes to the lines of a list; the response has a JSON line for each",
  body: "OPML, URLs, CSV, JSON lines, or a JSON list of subscriptions or feeds; at most 64 MiB. Absent with `url`. " +
    "The header `X-Windhover-Secret` has the secret of the lines that name none.",
  produces: ["application/x-ndjson"],
  input: Schema.Struct({
    url: Field.optional(Field.text(maxTopicLength, "URL of the list, in place of a body.", "a URL")),
    callback: Field.optional(
      Field.text(maxCallbackLength, "Callback of the lines that name none.", "a URL")
    ),
    jid: Field.optional(Field.text(3_072, "A JID of the account, for the lines that name none.", "a JID")),
    null: Field.optional(Field.flag("true: the null device, for the lines that name no callback.")),
    format: Field.optional(Field.word(["json", "atom"], "Format of the lines that name none.")),
    retry: Field.optional(Field.word(retries, "Retries of the lines that name none.")),
    label: Field.optional(Field.text(maxLabelLength, "A further label of every line.", "a label"))
  }),
  run: Effect.fnUntraced(function*({ label, null: nullDevice, url, ...defaults }, { caller }, request) {
    if (nullDevice === true && (defaults.callback !== undefined || defaults.jid !== undefined)) {
      return yield* badParameter("null", "Please provide one of callback, jid and null, not several.")
    }
    const secret = yield* readSecret(request)
    const { exchanges } = yield* DocumentMemory
    const source = url ?? (yield* readAhead(exchanges, request, `account ${caller.account.id}`))
    const events = yield* Import.use((importer) =>
      importer.start({
        caller,
        source,
        defaults: {
          ...defaults,
          ...(secret !== undefined && { secret }),
          nullDevice: nullDevice === true,
          labels: label === undefined ? [] : [label]
        }
      })
    )
    const texts = events.pipe(
      Stream.map(eventJson),
      Stream.catchCause((cause) => Stream.fromEffect(brokenJson(cause))),
      Stream.map((json) => `${JSON.stringify(json)}\n`)
    )
    return respond(texts, lines)
  })
})

/** A secret comes in a header, because URLs stay in the logs of proxies. */
const readSecret = ({ headers }: HttpServerRequest): Effect.Effect<string | undefined, Refusal> => {
  const secret = headers["x-windhover-secret"]
  return Buffer.byteLength(secret ?? "") > maxSecretLength
    ? Effect.fail(badParameter("X-Windhover-Secret", `X-Windhover-Secret has more than ${maxSecretLength} bytes.`))
    : Effect.succeed(secret === "" ? undefined : secret)
}

/**
 * Reads a body ahead of its import, because the server grants a minute for a request to arrive, and an import may take longer.
 *
 * The bytes stay reserved until the end of the response.
 */
const readAhead = Effect.fnUntraced(function*(budget: MemoryBudget, request: HttpServerRequest, key: string) {
  const encoding = request.headers["content-encoding"] ?? "identity"
  if (encoding.toLowerCase() !== "identity") {
    return yield* unsupportedBody(`The body has the Content-Encoding ${quote(encoding)}; send it uncompressed.`)
  }
  if (Number(request.headers["content-length"] ?? 0) > maxListBytes) return yield* tooLargeList
  const reservation = yield* Effect.acquireRelease(
    Effect.sync(() => budget.reserve(key)),
    (reservation) => Effect.sync(() => reservation.release())
  )
  let length = 0
  return Stream.mapError(request.stream, () => incomplete).pipe(
    Stream.tap((chunk): Effect.Effect<void, Refusal | HttpRejection> => {
      length += chunk.length
      return length > maxListBytes ? Effect.fail(tooLargeList) : growTo(reservation, length, outOfMemory)
    }),
    Stream.buffer({ capacity: "unbounded" })
  )
})

const tooLargeList = tooLarge(`The list has more than ${maxListBytes} bytes; split it.`)

const incomplete = malformed("The list ended early or could not be read. Send it again: lines that are imported stay.")

const outOfMemory = refuseUnavailable("Too many large requests are under way. Please try again.", 5)

/** The events of an import as JSON. */
const eventJson = (event: ImportEvent): object => {
  switch (event._tag) {
    case "Line": {
      const { _tag, ...line } = event
      return line
    }
    case "Progress":
      return { progress: { bytes: event.bytes, ...event.counts } }
    case "Done":
      return { done: event.counts }
    case "Broken":
      return { error: { code: "malformed", message: event.reason, line: event.line }, counts: event.counts }
  }
}

/** The last line of an import that has failed. Its lines so far stay, and the same list can be sent again. */
const brokenJson = (cause: Cause.Cause<Refusal | HttpRejection>): Effect.Effect<object> => {
  const failure = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (failure !== undefined) return Effect.succeed(JsonReply.errorJson(failure))
  return Cause.hasInterruptsOnly(cause)
    ? Effect.interrupt
    : Effect.as(
      Effect.logError("An import failed unexpectedly; its lines so far stay.", cause),
      { error: { code: "internal", message: "Internal error; the log of Windhover has the details." } }
    )
}

const exportRoute = makeStreamedRoute({
  method: "GET",
  path: "/api/export",
  right: "list",
  group,
  summary: "Exports the subscriptions of the account with their settings and labels, and the names of its tokens",
  produces: ["application/x-ndjson", "text/x-opml"],
  input: Schema.Struct({
    format: Field.optional(Field.word(["ndjson", "opml"], "JSON lines by default.")),
    secrets: Field.optional(
      Field.flag("true: with secrets, headers and passwords of URLs, for the right `subscribe`; not in OPML.")
    ),
    entries: Field.optional(Field.flag("true: with the stored entries, for the right `retrieve`; not in OPML."))
  }),
  run: Effect.fnUntraced(function*({ entries = false, format = "ndjson", secrets = false }, { caller }) {
    if (format === "opml" && (entries || secrets)) {
      return yield* badParameter("format", "OPML has neither secrets nor entries; send format=ndjson for these.")
    }
    if (secrets) yield* requireRight(caller, "subscribe")
    if (entries) yield* requireRight(caller, "retrieve")
    const texts = yield* Export.use((exporter) =>
      exporter.start({ caller, format, hasEntries: entries, hasSecrets: secrets })
    )
    return respond(texts, format === "opml" ? "text/x-opml; charset=utf-8" : lines)
  })
})

/** `x-accel-buffering` tells proxies to pass lines on at once. */
const respond = <E>(texts: Stream.Stream<string, E>, contentType: string) =>
  HttpServerResponse.stream(Stream.encodeText(Stream.filter(texts, (text) => text !== "")), {
    contentType,
    headers: { ...JsonReply.headers, "x-accel-buffering": "no" }
  })

export const transferRoutes: ReadonlyArray<StreamedRoute<Import | Export>> = [importRoute, exportRoute]
