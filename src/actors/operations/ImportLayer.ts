import { Effect, Layer, Stream } from "effect"
import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"
import { refuseThrottled } from "#domain/Refusal.ts"
import type { ListLine } from "#domain/transfer/ListLine.ts"
import { makeFetchList } from "./FetchList.ts"
import { Import, type ImportCounts, type ImportEvent, type ImportRequest, type LineResult } from "./Import.ts"
import { makeImportBatch } from "./ImportBatch.ts"

/** Imports that run at once: of all accounts, and of one account. */
const maxImports = 4
const maxImportsPerAccount = 1

/** Lines of one transaction. */
const batchSize = 250

/** Time after which a batch is stored although more lines may follow: a slow sender sees its lines stored as well. */
const maxBatchWait = "500 millis"

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
      const { readLines } = yield* loadReaders
      const progress: Progress = { bytes: 0, counts: noCounts }
      const events = readLines(bytes, (length) => void (progress.bytes += length)).pipe(
        Stream.groupedWithin(batchSize, maxBatchWait),
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

/** The first import loads the readers: a start needs none of their forty modules. */
const loadReaders = Effect.promise(() => import("#actors/operations/ReadLines.ts"))

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
