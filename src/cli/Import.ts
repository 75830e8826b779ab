import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import type { Readable } from "node:stream"
import { retries } from "#domain/delivery/Retry.ts"
import { describeCounts, sendList } from "./ImportRequest.ts"
import { print } from "./Output.ts"
import { makeProgress } from "./Progress.ts"
import { givenFlags, RemoteError, serviceFlags } from "./RemoteService.ts"
import { superfeedr } from "./SuperfeedrImport.ts"

/** Settings of the lines that name none. */
export const defaultFlags = {
  callback: Flag.String("callback").pipe(
    Flag.withDescription("URL that gets the notifications of lines without a callback of their own"),
    Flag.optional
  ),
  jid: Flag.String("jid").pipe(
    Flag.withDescription("XMPP address of the account, instead of a callback"),
    Flag.optional
  ),
  null: Flag.Boolean("null").pipe(
    Flag.withDescription("Deliver nothing (the null device): for streams and long polls"),
    Flag.withDefault(false)
  ),
  format: Flag.Literals("format", ["atom", "json"]).pipe(
    Flag.withDescription("Format of the notifications"),
    Flag.optional
  ),
  retry: Flag.Literals("retry", retries).pipe(Flag.withDescription("Retries of failed notifications"), Flag.optional),
  label: Flag.String("label").pipe(Flag.withDescription("A further label of every subscription"), Flag.optional)
}

export const secretFlag = Flag.String("secret").pipe(
  Flag.withDescription("Secret that signs the notifications of lines without a secret"),
  Flag.optional
)

interface DefaultFlags {
  readonly callback: Option.Option<string>
  readonly jid: Option.Option<string>
  readonly null: boolean
  readonly format: Option.Option<string>
  readonly retry: Option.Option<string>
  readonly label: Option.Option<string>
}

/** The given flags as the query of `POST /api/import`. */
export const toQuery = (
  { callback, format, jid, label, null: isNull, retry }: DefaultFlags
): Record<string, string> => ({
  ...givenFlags({ callback, format, jid, label, retry }) as Record<string, string>,
  ...(isNull && { null: "true" })
})

interface Source {
  readonly query: Record<string, string>
  readonly body: Readable | undefined
  readonly bytes: number | undefined
}

const openSource = (source: string): Effect.Effect<Source, RemoteError> => {
  if (source === "-") return Effect.succeed({ query: {}, body: process.stdin, bytes: undefined })
  if (/^https?:\/\//i.test(source)) return Effect.succeed({ query: { url: source }, body: undefined, bytes: undefined })
  return Effect.tryPromise({
    try: async () => {
      const found = await stat(source)
      if (found.isDirectory()) throw new Error("It is a directory.")
      return { query: {}, body: createReadStream(source), bytes: found.size }
    },
    catch: (error) =>
      new RemoteError({
        message: `The list ${JSON.stringify(source)} cannot be read: ${
          error instanceof Error ? error.message : "unknown"
        }`
      })
  })
}

export const importList = Command.make(
  "import",
  {
    ...serviceFlags,
    ...defaultFlags,
    secret: secretFlag,
    source: Argument.String("source").pipe(
      Argument.withDescription(
        "File or URL of the list, or - for standard input: OPML, URLs, CSV with a header row, JSON lines of an export, " +
          "a JSON list of a hub, or of Miniflux"
      )
    )
  },
  Effect.fnUntraced(function*({ secret, source, ...flags }) {
    const { body, bytes, query } = yield* openSource(source)
    const counts = yield* sendList(flags, {
      query: { ...toQuery(flags), ...query },
      secret: Option.getOrUndefined(secret),
      body,
      progress: makeProgress(process.stderr, bytes)
    })
    yield* print(`${describeCounts(counts)}.`)
    if (counts.subscribed + counts.existing + counts.refused === 0) yield* print("The list names no feed.")
  })
).pipe(
  Command.withDescription(
    "Subscribe to the feeds of a list. Folders become labels, a reason is printed for each refused line, and a repetition adds nothing"
  ),
  Command.withSubcommands([superfeedr])
)
