import { Clock, Context, Effect, Fiber, Metric, Option, Redacted } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { PrometheusMetrics } from "effect/observability"
import { registerAll, reportGauge } from "#actors/runtime/Metrics.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { ProductVersion } from "#domain/ports/ProductVersion.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { StreamRegistry } from "#http/stream/StreamRegistry.ts"
import { isLocal } from "./ClientAddress.ts"
import * as Reply from "./Reply.ts"
import { isEqualTo } from "./SecretComparison.ts"

export const metricsPath = "/metrics"

/** Time that a scrape waits for the database. A later answer shows in the next scrape. */
const queryTimeout = "1 second"

/** Age up to which a scrape repeats the last count of the outbox, in ms. */
const maxAgeMs = 5_000

const waitingGauge = Metric.gauge("windhover_outbox_waiting", {
  description: "Deliveries that wait, of all runners; counted up to 200,000"
})
const oldestGauge = Metric.gauge("windhover_outbox_oldest_seconds", {
  description: "Age of the oldest waiting delivery, of all runners; 0 without one"
})
const databaseGauge = Metric.gauge("windhover_database_query_seconds", {
  description: "Time of the last count of the outbox in the database; 1 or more while the database does not answer"
})
const streamGauge = Metric.gauge("windhover_streams", { description: "Open streams and long polls of this runner" })
const buildGauge = Metric.gauge("windhover_build_info", { description: "1, with the version as a label" })

/**
 * `/metrics` in the text format of Prometheus.
 *
 * Without a token, only this machine may read. The numbers name no topic, host or account, but tell how busy the service is.
 */
export const makeMetricsEndpoint = Effect.gen(function*() {
  const { metricsToken, trustedProxies } = yield* Settings
  const isToken = metricsToken === undefined ? undefined : isEqualTo(`Bearer ${Redacted.value(metricsToken)}`)
  const { refresh } = yield* makeRefresh
  yield* registerAll

  const isAllowed = (request: HttpServerRequest): boolean =>
    isToken?.(request.headers["authorization"] ?? "") === true || (trustedProxies.length === 0 && isLocal(request))

  return Reply.onlyGet((request) =>
    isAllowed(request)
      ? Effect.map(Effect.andThen(refresh, format), (text) =>
        HttpServerResponse.text(text, {
          contentType: "text/plain; version=0.0.4; charset=utf-8",
          headers: { "cache-control": "no-store", "x-content-type-options": "nosniff" }
        }))
      : Effect.succeed(isToken !== undefined ? wrongToken : trustedProxies.length > 0 ? behindProxy : notLocal)
  )
})

/** Names of Windhover's metrics, and of its process. Libraries register metrics of their own, which may change with their version. */
const exportedNames = /^(windhover|process|nodejs)_/

/** The metrics of Windhover and of its process. */
const format = Effect.contextWith((context: Context.Context<never>) => {
  const all = Context.get(context, Metric.MetricRegistry)
  const exported = new Map([...all].filter(([, { id }]) => exportedNames.test(id)))
  return Effect.sync(() => PrometheusMetrics.formatUnsafe(Context.make(Metric.MetricRegistry, exported)))
})

const notLocal = Reply.text(
  403,
  "Metrics are for clients on this machine, without a proxy between. Set WINDHOVER_METRICS_TOKEN, and send it as a bearer token from elsewhere."
)

const behindProxy = Reply.text(
  403,
  "With WINDHOVER_TRUSTED_PROXIES, metrics need a token, because a client on this machine may be a proxy. Set WINDHOVER_METRICS_TOKEN, and send it as a bearer token."
)

const wrongToken = Reply.text(401, "Send the value of WINDHOVER_METRICS_TOKEN as a bearer token.", {
  "www-authenticate": "Bearer realm=\"metrics\""
})

/** Reports the gauges that a scrape reads, and returns the effect that counts the outbox before a scrape. */
const makeRefresh = Effect.gen(function*() {
  const outbox = yield* Outbox
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  const streams = yield* StreamRegistry
  const scope = yield* Effect.scope
  let counted: { readonly waiting: number; readonly oldestAt: number | undefined } = { waiting: 0, oldestAt: undefined }
  let countedAt = -Infinity
  let querySeconds = 0
  const count = Effect.gen(function*() {
    const startedAt = clock.currentTimeMillisUnsafe()
    counted = yield* outbox.measure
    countedAt = clock.currentTimeMillisUnsafe()
    querySeconds = (countedAt - startedAt) / 1000
  }).pipe(Effect.catchTag("StoreError", () => Effect.sync(() => querySeconds = 1)))
  // One count at a time: while the database is silent, further scrapes wait for the same answer.
  let running: Fiber.Fiber<unknown> | undefined
  const recount = Effect.gen(function*() {
    const fiber = running ??
      (yield* Effect.forkIn(Effect.ensuring(count, Effect.sync(() => running = undefined)), scope))
    running = fiber
    const answer = yield* Effect.timeoutOption(Fiber.await(fiber), queryTimeout)
    if (Option.isNone(answer)) querySeconds = Math.max(querySeconds, 1)
  })

  const isOld = () => clock.currentTimeMillisUnsafe() - countedAt >= maxAgeMs
  // An export of OpenTelemetry reads the gauges without a wait. Its count shows in the next export.
  yield* reportGauge(waitingGauge, () => {
    if (isOld()) Effect.runForkWith(context)(recount)
    return counted.waiting
  })
  yield* reportGauge(oldestGauge, () => {
    const { oldestAt } = counted
    return oldestAt === undefined ? 0 : Math.max(clock.currentTimeMillisUnsafe() - oldestAt, 0) / 1000
  })
  yield* reportGauge(databaseGauge, () => querySeconds)
  yield* reportGauge(streamGauge, streams.count)
  yield* reportGauge(Metric.withAttributes(buildGauge, { version: yield* ProductVersion }), () => 1)
  return {
    refresh: Effect.suspend(() => isOld() ? recount : Effect.void)
  }
})
