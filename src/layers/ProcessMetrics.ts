import { Effect, Layer, Metric } from "effect"
import { monitorEventLoopDelay } from "node:perf_hooks"

/** Interval of the timer that measures the event loop, in ms. A shorter one would keep an idle process awake. */
const resolutionMs = 50

const memoryGauge = Metric.gauge("process_resident_memory_bytes", { description: "Resident memory of the process" })
const heapGauge = Metric.gauge("nodejs_heap_size_used_bytes", { description: "Used heap of the main thread" })
const cpuCounter = Metric.counter("process_cpu_seconds_total", { description: "CPU time of the process" })
const startGauge = Metric.gauge("process_start_time_seconds", { description: "Start of the process, Unix time" })

/** Percentiles of the delay of timers since the last scrape. The last one resets the measurement. */
const lagGauges = ([["p50", 50], ["p99", 99], ["max", 100]] as const).map(([name, percentile]) => ({
  percentile,
  gauge: Metric.gauge(`nodejs_eventloop_lag_${name}_seconds`, {
    description: `Delay of timers of the main thread since the last scrape, ${name}`
  })
}))

/** Reports memory, CPU time and event-loop lag of the process. The measurement of the lag begins with the first scrape. */
export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const context = yield* Effect.context<never>()
  const report = <S>(metric: Metric.Metric<number, S>, get: () => S) =>
    Effect.acquireRelease(
      Effect.sync(() => Metric.registerUnsafe(metric, context, { get, update: ignore, modify: ignore })),
      (registration) => Effect.sync(registration.remove)
    )
  yield* report(memoryGauge, () => ({ value: process.memoryUsage.rss() }))
  yield* report(heapGauge, () => ({ value: process.memoryUsage().heapUsed }))
  yield* report(startGauge, () => ({ value: Math.round(performance.timeOrigin) / 1000 }))
  yield* report(cpuCounter, () => {
    const { system, user } = process.cpuUsage()
    return { count: (system + user) / 1e6, incremental: true }
  })
  const delay = yield* Effect.acquireRelease(
    Effect.sync(() => monitorEventLoopDelay({ resolution: resolutionMs })),
    (histogram) => Effect.sync(() => histogram.disable())
  )
  for (const { gauge, percentile } of lagGauges) {
    yield* report(gauge, () => {
      delay.enable()
      const seconds = delay.count === 0 ? 0 : Math.max(delay.percentile(percentile) / 1e9 - resolutionMs / 1e3, 0)
      if (percentile === 100) delay.reset()
      return { value: seconds }
    })
  }
}))

const ignore = () => {}
