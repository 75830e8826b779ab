import type { Reading } from "./Probe.ts"

/** Units of work that each operation is charged for. */
export const units = ["statements", "messages", "writtenBytes", "requests", "timers", "allocatedBytes"] as const

/** Work of one operation, on average. */
export type Counts = Readonly<Record<typeof units[number], number>>

/** Work of several operations. */
export interface Measured extends Reading {
  readonly writtenBytes: number
  readonly requests: number
  readonly elapsedMs: number
  readonly operations: number
}

/** Accepted rise. */
const maxRise = 1.1

/** Rise that counts as noise of the background, for figures near zero. */
const noise: Counts = {
  statements: 0.15,
  messages: 0.15,
  writtenBytes: 256,
  requests: 0.05,
  timers: 0.5,
  allocatedBytes: 8_000
}

/** Margin of the background, whose pace depends on the load of the machine. */
const backgroundMargin = 1.5

/** A statement or timer that occurs so rarely belongs to no operation: each bench has more of them. */
const maxRare = 3

/** Divides the work among the operations. The work of the idle process does not count. */
export const countsOf = (measured: Measured, idle: Measured): Counts => {
  const { allocatedBytes, messages, operations, requests, statements, writtenBytes } = measured
  const ownStatements = sum(subtractIdle("statements", measured, idle))
  const total = {
    statements: ownStatements,
    messages: messages - sum(statements) + ownStatements,
    writtenBytes,
    requests,
    timers: sum(subtractIdle("timers", measured, idle)),
    allocatedBytes: Math.max(allocatedBytes - idle.allocatedBytes * measured.elapsedMs / idle.elapsedMs, 0)
  }
  const divide = (amount: number) => Math.round(amount / operations * 100) / 100
  return {
    statements: divide(total.statements),
    messages: divide(total.messages),
    writtenBytes: Math.round(divide(total.writtenBytes)),
    requests: divide(total.requests),
    timers: divide(total.timers),
    allocatedBytes: Math.round(divide(total.allocatedBytes))
  }
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((total, count) => total + count, 0)

/** Counts beyond those of the idle process, by text or time. */
export const subtractIdle = (
  unit: "statements" | "timers",
  measured: Measured,
  idle: Measured
): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(measured[unit]).map(([key, count]) => {
      const expected = (idle[unit][key] ?? 0) * backgroundMargin * measured.elapsedMs / idle.elapsedMs
      return [key, count - expected > maxRare ? count - expected : 0]
    })
  )

/** One sentence for each figure that has risen by more than 10 %. */
export const findRises = (
  recorded: Readonly<Record<string, Counts>>,
  counted: Readonly<Record<string, Counts>>
): ReadonlyArray<string> =>
  Object.entries(counted).flatMap(([operation, counts]) => {
    const before = recorded[operation]
    if (before === undefined) return [`${operation} is not in counts.json.`]
    return units.flatMap((unit) => {
      const limit = Math.max(before[unit] * maxRise, before[unit] + noise[unit])
      return counts[unit] <= limit
        ? []
        : [`${operation}: ${unit} rose from ${before[unit]} to ${counts[unit]} per operation.`]
    })
  })
