import { Effect, Layer } from "effect"
import { hostname } from "node:os"
import { performance } from "node:perf_hooks"
import { ProcessLoad } from "#domain/ports/ProcessLoad.ts"

/** The totals that Node keeps anyway: no timer measures, so that an idle process stays idle. */
export const layer = Layer.succeed(ProcessLoad, {
  machine: hostname(),
  startedAt: Math.round(performance.timeOrigin),
  read: Effect.sync(() => {
    const { system, user } = process.cpuUsage()
    const { active, idle } = performance.eventLoopUtilization()
    return { cpuMs: (system + user) / 1_000, activeMs: active, idleMs: idle, memory: process.memoryUsage.rss() }
  })
})
