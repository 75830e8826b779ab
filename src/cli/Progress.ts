import { Clock, Effect } from "effect"
import { describeCounts, type ImportCounts, type ProgressDisplay } from "./ImportRequest.ts"
import { printError } from "./Output.ts"

/** Interval of progress lines where no terminal shows a bar, in ms. */
const lineIntervalMs = 5_000

/** Cells of the bar. */
const barLength = 24

/** Where the progress is shown: a terminal, or lines. */
export interface ProgressOutput {
  readonly isTTY?: boolean
  readonly write: (text: string) => unknown
}

/**
 * Makes the display of an import: a bar that is drawn in place on a terminal, else a line at most every 5 s.
 *
 * Without `totalBytes`, the bar has no length, and the counts stand alone.
 */
export const makeProgress = (output: ProgressOutput, totalBytes: number | undefined): ProgressDisplay => {
  let lastLineAt: number | undefined
  const describe = (bytes: number, counts: ImportCounts): string =>
    totalBytes === undefined || totalBytes === 0
      ? describeCounts(counts)
      : `${renderBar(Math.min(1, bytes / totalBytes))} ${describeCounts(counts)}`

  const show = Effect.fnUntraced(function*(bytes: number, counts: ImportCounts) {
    if (output.isTTY === true) return void output.write(`\r\u001b[K${describe(bytes, counts)}`)
    const now = yield* Clock.currentTimeMillis
    lastLineAt ??= now
    if (now - lastLineAt < lineIntervalMs) return
    lastLineAt = now
    yield* printError(describe(bytes, counts))
  })

  /** Removes the bar, so that the next line begins in an empty one. */
  const clear = Effect.sync(() => void (output.isTTY === true && output.write("\r\u001b[K")))
  return { clear, show }
}

const renderBar = (share: number): string => {
  const full = Math.round(share * barLength)
  return `[${"#".repeat(full)}${".".repeat(barLength - full)}] ${String(Math.floor(share * 100)).padStart(3)} %`
}
