import { RunnerBoard } from "#domain/ports/RunnerBoard.ts"
import { maxSilenceMs, type SeenRunner } from "#domain/RunnerReport.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): RunnerBoard["Service"] => {
  const reports = new Map<string, SeenRunner>()
  return RunnerBoard.of({
    report: (report) =>
      operation(state, (now) => {
        for (const { name, seenAt } of reports.values()) if (seenAt < now - maxSilenceMs) reports.delete(name)
        reports.set(report.name, { ...report, seenAt: now })
      }),
    remove: (name) => operation(state, () => void reports.delete(name)),
    list: (limit) =>
      operation(state, () => [...reports.values()].toSorted((a, b) => a.name < b.name ? -1 : 1).slice(0, limit))
  })
}
