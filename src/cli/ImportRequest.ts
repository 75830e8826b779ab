import { Effect, Schema, Stream } from "effect"
import type { Readable } from "node:stream"
import { request } from "undici"
import { toPrintableField } from "#domain/ControlCharacters.ts"
import { print } from "./Output.ts"
import {
  errorTextOf,
  getAuthorization,
  getBaseUrl,
  otherService,
  RemoteError,
  type RemoteService
} from "./RemoteService.ts"

const Counts = Schema.Struct({
  subscribed: Schema.Int,
  existing: Schema.Int,
  refused: Schema.Int,
  skipped: Schema.Int
})

export type ImportCounts = typeof Counts.Type

const LineResult = Schema.Struct({
  line: Schema.Int,
  topic: Schema.optionalKey(Schema.String),
  result: Schema.String,
  reason: Schema.optionalKey(Schema.String),
  differs: Schema.optionalKey(Schema.Array(Schema.String))
})

const ImportLine = Schema.fromJsonString(Schema.Union([
  LineResult,
  Schema.Struct({ progress: Schema.Struct({ ...Counts.fields, bytes: Schema.Int }) }),
  Schema.Struct({ done: Counts }),
  Schema.Struct({
    error: Schema.Struct({ message: Schema.String, line: Schema.optionalKey(Schema.Int) }),
    counts: Schema.optionalKey(Counts)
  })
]))

const decodeLine = Schema.decodeEffect(ImportLine)

export const noCounts: ImportCounts = { subscribed: 0, existing: 0, refused: 0, skipped: 0 }

export const addCounts = (a: ImportCounts, b: ImportCounts): ImportCounts => ({
  subscribed: a.subscribed + b.subscribed,
  existing: a.existing + b.existing,
  refused: a.refused + b.refused,
  skipped: a.skipped + b.skipped
})

/** `12 subscribed, 3 existed, 1 refused`. */
export const describeCounts = ({ existing, refused, skipped, subscribed }: ImportCounts): string =>
  [
    `${subscribed} subscribed`,
    `${existing} existed`,
    `${refused} refused`,
    ...(skipped > 0 ? [`${skipped} skipped`] : [])
  ].join(", ")

/** A list for `POST /api/import`. */
export interface ListUpload {
  readonly query: Readonly<Record<string, string>>
  readonly secret: string | undefined
  /** Undefined for a list that the service fetches itself. */
  readonly body: Readable | string | undefined
  readonly progress: ProgressDisplay
}

/** Display of the progress. `clear` makes room for a line. */
export interface ProgressDisplay {
  readonly show: (bytes: number, counts: ImportCounts) => Effect.Effect<void>
  readonly clear: Effect.Effect<void>
}

const lost = (): RemoteError =>
  new RemoteError({
    message: "The connection to Windhover was lost. Imported lines stay: run the command again to complete the import."
  })

/** Sends a list, prints refused and differing lines, and returns the counts of all lines. */
export const sendList = Effect.fnUntraced(function*(service: RemoteService, upload: ListUpload) {
  const base = getBaseUrl(service)
  const { body, statusCode } = yield* Effect.tryPromise({
    try: (signal) =>
      request(`${base}/api/import?${new URLSearchParams(upload.query)}`, {
        method: "POST",
        signal,
        // an import takes as long as its list
        headersTimeout: 0,
        bodyTimeout: 0,
        headers: {
          authorization: getAuthorization(service),
          "content-type": "application/octet-stream",
          ...(upload.secret !== undefined && { "x-windhover-secret": upload.secret })
        },
        ...(upload.body !== undefined && { body: upload.body })
      }),
    catch: () => new RemoteError({ message: `Windhover does not answer at ${base}/. Is it running? --url says where.` })
  })
  if (statusCode !== 200) {
    const text = yield* Effect.tryPromise({ try: () => body.text(), catch: lost })
    return yield* new RemoteError({ message: `${statusCode}: ${errorTextOf(text)}` })
  }
  let counts: ImportCounts | undefined
  yield* Stream.fromAsyncIterable(body as AsyncIterable<Uint8Array>, lost).pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.runForEach((text) =>
      Effect.flatMap(Effect.mapError(decodeLine(text), otherService), (line) => {
        if ("progress" in line) return upload.progress.show(line.progress.bytes, line.progress)
        if ("done" in line) return Effect.sync(() => void (counts = line.done))
        if ("error" in line) return Effect.fail(new RemoteError({ message: describeError(line) }))
        return printResult(line, upload.progress.clear)
      })
    ),
    Effect.ensuring(upload.progress.clear)
  )
  return counts ?? (yield* lost())
})

const describeError = (
  { counts, error }: {
    readonly counts?: ImportCounts
    readonly error: { readonly message: string; readonly line?: number }
  }
): string =>
  `${error.line === undefined ? "" : `Line ${error.line}: `}${error.message}${
    counts === undefined ? "" : ` So far: ${describeCounts(counts)}.`
  }`

const printResult = (
  { differs, line, reason, result, topic }: typeof LineResult.Type,
  clear: Effect.Effect<void>
) => {
  const place = toPrintableField(`line ${line}: ${result}${topic === undefined ? "" : ` ${topic}`}`)
  const text = result === "refused"
    ? toPrintableField(reason ?? "")
    : differs === undefined
    ? undefined
    : `keeps its own ${differs.join(" and ")}, which the list names otherwise`
  return text === undefined ? Effect.void : Effect.andThen(clear, print(`${place}: ${text}`))
}
