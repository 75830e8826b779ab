import { Effect, Layer, Stream } from "effect"
import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"
import { refuseThrottled } from "#domain/Refusal.ts"
import { ListDocument } from "#domain/transfer/ListDocument.ts"
import type { ListLine } from "#domain/transfer/ListLine.ts"
import { makeFetchList } from "./FetchList.ts"
import {
  Import,
  type ImportCounts,
  type ImportEvent,
  type ImportRequest,
  type LineResult,
  maxListBytes,
  maxListLines
} from "./Import.ts"
import { makeImportBatch } from "./ImportBatch.ts"

/** Imports that run at once: of all accounts, and of one account. */
const maxImports = 4
const maxImportsPerAccount = 1

/** Lines of one transaction. */
const batchSize = 250

/** Bytes that are read at once. */
const pieceBytes = 64 * 1024

export const layer = Layer.effect(
  Import,
  Effect.gen(function*() {
    const runBatch = yield* makeImportBatch
    const fetchList = yield* makeFetchList
    const running = new KeyedCounter<number>({ maxTotal: maxImports, maxPerKey: maxImportsPerAccount })

    const start = Effect.fn("Import.start")(function*<E>(request: ImportRequest<E>) {
      const { caller, defaults, source } = request
      const key = caller.account.id
      yield* Effect.acquireRelease(
        Effect.suspend(() => running.tryAdd(key) ? Effect.void : Effect.fail(tooManyImports)),
        () => Effect.sync(() => running.remove(key))
      )
      const bytes = typeof source === "string" ? yield* fetchList(source) : source
      const progress: Progress = { bytes: 0, counts: noCounts }
      const events = readLines(bytes, (length) => void (progress.bytes += length)).pipe(
        Stream.grouped(batchSize),
        Stream.mapEffect((lines) =>
          Effect.map(runBatch(lines, caller, defaults), (results) => eventsOf(progress, lines, results))
        ),
        Stream.flattenIterable
      )
      return Stream.concat(events, Stream.suspend(() => Stream.fromIterable(endOf(progress))))
    })
    return Import.of({ start })
  })
)

const tooManyImports = refuseThrottled(
  "An import of your account, or several of others, are under way. Try again when they have ended.",
  10
)

const noCounts: ImportCounts = { subscribed: 0, existing: 0, refused: 0, skipped: 0 }

interface Progress {
  bytes: number
  counts: ImportCounts
  fault?: Extract<ListLine, { readonly _tag: "Fault" }>
}

/** The lines of a list up to its first fault. Each piece of bytes is read alone, so that other requests have their turns. */
const readLines = <E>(bytes: Stream.Stream<Uint8Array, E>, count: (length: number) => void) => {
  const document = new ListDocument()
  let read = 0
  let lines = 0
  const limitLines = (line: ListLine): ListLine =>
    ++lines > maxListLines ? { _tag: "Fault", line: line.line, reason: tooManyLines } : line
  const readPiece = (piece: Uint8Array): Iterable<ListLine> => {
    read += piece.length
    count(piece.length)
    return read > maxListBytes ? [{ _tag: "Fault", line: lines, reason: tooManyBytes }] : document.push(piece)
  }
  return Stream.concat(
    bytes.pipe(Stream.flatMap((chunk) => Stream.fromIterable(piecesOf(chunk))), Stream.map(readPiece)),
    Stream.suspend(() => Stream.succeed<Iterable<ListLine>>(document.end()))
  ).pipe(
    Stream.flattenIterable,
    Stream.map(limitLines),
    Stream.takeUntil(({ _tag }) => _tag === "Fault")
  )
}

const tooManyLines = `The list has more than ${maxListLines} lines. Those before are imported; split the list.`

const tooManyBytes = `The list has more than ${maxListBytes} bytes. The lines before are imported; split the list.`

const piecesOf = (chunk: Uint8Array): ReadonlyArray<Uint8Array> =>
  Array.from(
    { length: Math.ceil(chunk.length / pieceBytes) },
    (_, i) => chunk.subarray(i * pieceBytes, (i + 1) * pieceBytes)
  )

const countKeys = {
  subscribed: "subscribed",
  exists: "existing",
  refused: "refused",
  skipped: "skipped"
} as const satisfies { readonly [result in LineResult["result"]]: keyof ImportCounts }

/** The results of a batch, and the progress behind them. A fault is no result of a line. */
const eventsOf = (
  progress: Progress,
  lines: ReadonlyArray<ListLine>,
  results: ReadonlyArray<LineResult>
): ReadonlyArray<ImportEvent> => {
  const last = lines.at(-1)
  const counted = last?._tag === "Fault" ? results.slice(0, -1) : results
  if (last?._tag === "Fault") progress.fault = last
  const counts = { ...progress.counts }
  for (const { result } of counted) counts[countKeys[result]]++
  progress.counts = counts
  return [...counted, { _tag: "Progress", bytes: progress.bytes, counts }]
}

const endOf = ({ counts, fault }: Progress): ReadonlyArray<ImportEvent> => [
  fault === undefined
    ? { _tag: "Done", counts }
    : { _tag: "Broken", line: fault.line, reason: fault.reason, counts }
]
