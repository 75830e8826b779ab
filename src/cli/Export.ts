import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { once } from "node:events"
import { request } from "undici"
import {
  errorTextOf,
  getAuthorization,
  getBaseUrl,
  RemoteError,
  type RemoteService,
  serviceFlags
} from "./RemoteService.ts"

/** Opens `GET /api/export`. */
export const openExport = Effect.fnUntraced(function*(service: RemoteService, query: Record<string, string>) {
  const base = getBaseUrl(service)
  const { body, statusCode } = yield* Effect.tryPromise({
    try: (signal) =>
      request(`${base}/api/export?${new URLSearchParams(query)}`, {
        signal,
        headersTimeout: 0,
        bodyTimeout: 0,
        headers: { authorization: getAuthorization(service) }
      }),
    catch: () => new RemoteError({ message: `Windhover does not answer at ${base}/. Is it running? --url says where.` })
  })
  if (statusCode === 200) return body
  const text = yield* Effect.tryPromise({ try: () => body.text(), catch: exportLost })
  return yield* new RemoteError({ message: `${statusCode}: ${errorTextOf(text)}` })
})

export const exportLost = (): RemoteError =>
  new RemoteError({ message: "The connection to Windhover was lost: the export is not complete." })

/** Copies a body to standard output as fast as its reader reads. */
const copyToOutput = (body: AsyncIterable<Uint8Array>) =>
  Effect.tryPromise({
    try: async () => {
      for await (const chunk of body) {
        if (!process.stdout.write(chunk)) await once(process.stdout, "drain")
      }
    },
    catch: exportLost
  })

export const exportAccount = Command.make(
  "export",
  {
    ...serviceFlags,
    format: Flag.Literals("format", ["ndjson", "opml"]).pipe(
      Flag.withDescription("ndjson: everything, for an import here (default); opml: feeds and labels, for any reader"),
      Flag.withDefault("ndjson")
    ),
    secrets: Flag.Boolean("secrets").pipe(
      Flag.withDescription("With secrets, headers and passwords of URLs. Keep the file as safe as the database"),
      Flag.withDefault(false)
    ),
    entries: Flag.Boolean("entries").pipe(Flag.withDescription("With the stored entries"), Flag.withDefault(false))
  },
  Effect.fnUntraced(function*({ entries, format, secrets, ...service }) {
    const body = yield* openExport(service, {
      format,
      ...(secrets && { secrets: "true" }),
      ...(entries && { entries: "true" })
    })
    yield* copyToOutput(body)
  })
).pipe(Command.withDescription("Print the subscriptions of the account, with their settings and labels"))
