import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { awaitCondition } from "#test/support/AwaitCondition.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { httpServer } from "#test/support/HttpServer.ts"
import { outside, received, start } from "#test/support/Service.ts"

interface Span {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
}

/** A collector of OTLP in JSON. */
const makeCollector = Effect.gen(function*() {
  const spans: Array<Span> = []
  const metrics = new Set<string>()
  const logs: Array<string> = []
  const services = new Set<string>()
  const waiting = new Set<() => void>()
  const url = yield* httpServer(async (request, response) => {
    let text = ""
    for await (const chunk of request) text += String(chunk)
    const { resourceLogs = [], resourceMetrics = [], resourceSpans = [] } = JSON.parse(text)
    for (const { resource } of [...resourceLogs, ...resourceMetrics, ...resourceSpans]) {
      const attributes = resource.attributes as ReadonlyArray<{ key: string; value: { stringValue?: string } }>
      services.add(attributes.find(({ key }) => key === "service.name")?.value.stringValue ?? "")
    }
    for (const { scopeSpans } of resourceSpans) {
      spans.push(...scopeSpans.flatMap((scope: { spans: Array<Span> }) => scope.spans))
    }
    for (const { scopeMetrics } of resourceMetrics) {
      for (const { metrics: found } of scopeMetrics) for (const { name } of found) metrics.add(name)
    }
    for (const { scopeLogs } of resourceLogs) {
      for (const { logRecords } of scopeLogs) logs.push(...logRecords.map((record: unknown) => JSON.stringify(record)))
    }
    response.end("{}")
    for (const look of waiting) look()
  })
  return { url, spans, metrics, logs, services, until: awaitCondition(waiting) }
})

describe("a service with a collector of OpenTelemetry", () => {
  it.live("sends one trace from the poll to the accepted delivery, and metrics and logs", () =>
    Effect.gen(function*() {
      const collector = yield* makeCollector
      const world = yield* outside
      const service = yield* start({
        WINDHOVER_DATA_DIR: yield* temporaryDirectory,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
        WINDHOVER_LOG_LEVEL: "debug",
        OTEL_SERVICE_NAME: "push",
        OTEL_BSP_SCHEDULE_DELAY: "100",
        OTEL_METRIC_EXPORT_INTERVAL: "200"
      })
      const topic = { "hub.topic": `${world.url}/feed`, "hub.callback": `${world.url}/hook`, retrieve: "true" }
      assert.strictEqual((yield* service.call({ "hub.mode": "subscribe", ...topic })).status, 200)
      world.refuse = true
      world.publish("second")
      yield* service.call({ "hub.mode": "publish", "hub.url": `${world.url}/feed` })
      yield* world.until(() => world.posted.some(({ answer }) => answer === "refused"))
      world.refuse = false
      yield* world.until(() => received(world.posted, "/hook").ids.length === 1)
      yield* collector.until(() => collector.spans.length >= 3 && collector.metrics.has("windhover_polls_total"))
      yield* collector.until(() => collector.logs.some((log) => log.includes("A delivery was tried.")))
      const [poll, ...deliveries] = collector.spans.toSorted((a, b) => (b.name < a.name ? -1 : 1))
      assert.deepStrictEqual([poll?.name, ...deliveries.map(({ name }) => name)], ["poll", "deliver", "deliver"])
      assert.deepStrictEqual(deliveries.map(({ traceId }) => traceId), [poll?.traceId, poll?.traceId])
      assert.deepStrictEqual(deliveries.map(({ parentSpanId }) => parentSpanId), [poll?.spanId, poll?.spanId])
      assert.isTrue(collector.metrics.has("windhover_deliveries_total"))
      assert.deepStrictEqual([...collector.services], ["push"])
      assert.isEmpty(collector.logs.filter((log) => log.includes("hub.callback")))
    }))
})
