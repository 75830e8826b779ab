import { Effect, Option, Schema, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { request } from "undici"
import { toPrintableField } from "#domain/ControlCharacters.ts"
import { exportLost, openExport } from "./Export.ts"
import { addCounts, describeCounts, noCounts, sendList } from "./ImportRequest.ts"
import { print } from "./Output.ts"
import { makeProgress } from "./Progress.ts"
import { checkUrl, getAuthorization, ownServiceFlags, RemoteError, type RemoteService } from "./RemoteService.ts"

/** Subscriptions per page, as many as the original service lists. */
const pageSize = 500

/** Pages of an account, at most: a million subscriptions. */
const maxPages = 2_000

/** Maximum bytes of a page. */
const maxPageBytes = 32 * 1024 * 1024

/** Time for a page, in ms. */
const pageTimeoutMs = 60_000

/** Subscriptions that are here alone and are printed, at most. */
const maxPrinted = 20

const Item = Schema.Struct({
  subscription: Schema.Struct({
    endpoint: Schema.String,
    feed: Schema.Struct({
      url: Schema.optionalKey(Schema.NullOr(Schema.String)),
      status: Schema.optionalKey(Schema.Struct({ feed: Schema.optionalKey(Schema.String) }))
    })
  })
})

const decodePage = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Union([Schema.Array(Item), Schema.Struct({ subscriptions: Schema.Array(Item) })]))
)

const readPage = Effect.fnUntraced(function*(account: RemoteService, page: number | undefined) {
  const query = new URLSearchParams({
    "hub.mode": "list",
    by_page: String(pageSize),
    detailed: "true",
    ...(page !== undefined && { page: String(page) })
  })
  const url = new URL(account.url)
  const failed = (what: string) => new RemoteError({ message: `The list at ${url.origin} could not be read: ${what}` })
  const text = yield* Effect.tryPromise({
    try: async (signal) => {
      const { body, statusCode } = await request(`${url.origin}${url.pathname}?${query}`, {
        signal,
        headersTimeout: pageTimeoutMs,
        bodyTimeout: pageTimeoutMs,
        headers: { authorization: getAuthorization(account), accept: "application/json" }
      })
      const chunks: Array<Uint8Array> = []
      let bytes = 0
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        bytes += chunk.length
        if (bytes > maxPageBytes) throw new Error(`A page has more than ${maxPageBytes} bytes.`)
        chunks.push(chunk)
      }
      const text = Buffer.concat(chunks).toString()
      if (statusCode !== 200) throw new Error(`${statusCode}: ${text.slice(0, 200)}`)
      return text
    },
    catch: (error) => failed(error instanceof Error && error.message !== "" ? error.message : "no answer")
  })
  const decoded = Option.getOrUndefined(decodePage(text))
  if (decoded === undefined) return yield* failed("the answer is no list of subscriptions.")
  return { text, items: "subscriptions" in decoded ? decoded.subscriptions : decoded }
})

const nameOf = (topic: string, endpoint: string): string => `${topic} ${endpoint}`

/** The subscriptions of the other service. */
interface Listed {
  readonly names: Set<string>
  readonly endpoints: Set<string>
}

/**
 * Imports the list page by page: without a number, then 1, 2, 3 … until a page is empty.
 *
 * Services count pages from 0 or from 1. The request without a number has the first page in either case, and a repeated page changes nothing.
 */
const importPages = Effect.fnUntraced(
  function*(account: RemoteService, service: RemoteService, query: Record<string, string>, listed: Listed) {
    let counts = noCounts
    const progress = makeProgress(process.stderr, undefined)
    for (let page = 0; page <= maxPages; page++) {
      const { items, text } = yield* readPage(account, page === 0 ? undefined : page)
      if (items.length === 0) break
      const before = listed.names.size
      for (const { subscription: { endpoint, feed } } of items) {
        listed.names.add(nameOf(feed.url ?? feed.status?.feed ?? "", endpoint))
        listed.endpoints.add(endpoint)
      }
      if (page > 0 && listed.names.size === before) {
        if (page > 1) break // a service that ignores the number would answer for ever
        continue
      }
      const known = counts
      const onPage = yield* sendList(service, {
        query,
        secret: undefined,
        body: text,
        progress: { ...progress, show: (_, more) => progress.show(0, addCounts(known, more)) }
      })
      counts = addCounts(counts, onPage)
    }
    return counts
  }
)

const ExportLine = Schema.fromJsonString(
  Schema.Struct({
    type: Schema.String,
    topic: Schema.optionalKey(Schema.String),
    callback: Schema.optionalKey(Schema.String)
  })
)

const decodeExportLine = Schema.decodeOption(ExportLine)

/** Subscriptions with a callback of the list that the list does not have. */
const findOnlyHere = Effect.fnUntraced(function*(service: RemoteService, { endpoints, names }: Listed) {
  const body = yield* openExport(service, { format: "ndjson" })
  return yield* Stream.fromAsyncIterable(body as AsyncIterable<Uint8Array>, exportLost).pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.map((text) => Option.getOrUndefined(decodeExportLine(text))),
    Stream.filter((line) => line?.topic !== undefined && line.callback !== undefined && endpoints.has(line.callback)),
    Stream.map((line) => nameOf(line?.topic ?? "", line?.callback ?? "")),
    Stream.filter((name) => !names.has(name)),
    Stream.runCollect
  )
})

export const superfeedr = Command.make(
  "superfeedr",
  {
    url: Flag.String("url").pipe(
      Flag.withDescription("URL of the account's API (default: https://push.superfeedr.com/)"),
      checkUrl,
      Flag.withDefault("https://push.superfeedr.com/")
    ),
    login: Flag.String("login").pipe(Flag.withDescription("Login at Superfeedr")),
    token: Flag.String("token").pipe(Flag.withDescription("Token or password at Superfeedr, with the right list")),
    ...ownServiceFlags,
    jid: Flag.String("jid").pipe(
      Flag.withDescription("XMPP address of the account here, for subscriptions by XMPP"),
      Flag.optional
    ),
    label: Flag.String("label").pipe(Flag.withDescription("A label of every subscription"), Flag.optional)
  },
  Effect.fnUntraced(function*({ jid, label, login, toLogin, toToken, toUrl, token, url }) {
    const service = { url: toUrl, login: toLogin, token: toToken }
    const query = {
      ...(Option.isSome(jid) && { jid: jid.value }),
      ...(Option.isSome(label) && { label: label.value })
    }
    const listed: Listed = { names: new Set(), endpoints: new Set() }
    const counts = yield* importPages({ url, login, token }, service, query, listed)
    yield* print(`${listed.names.size} subscriptions are listed there. Here: ${describeCounts(counts)}.`)
    const onlyHere = yield* findOnlyHere(service, listed)
    if (onlyHere.length === 0) return yield* print("No subscription of these callbacks is here alone.")
    yield* print(`${onlyHere.length} subscriptions of these callbacks are here alone:`)
    for (const name of onlyHere.slice(0, maxPrinted)) yield* print(`  ${toPrintableField(name)}`)
  })
).pipe(
  Command.withDescription(
    "Import all subscriptions of a Superfeedr account, and report the differences. No old entry is delivered again"
  )
)
