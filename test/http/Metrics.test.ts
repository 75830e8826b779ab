import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric, Redacted } from "effect"
import { makeApi } from "#test/support/Api.ts"

const valueOf = (text: string, series: string): string | undefined =>
  text.split("\n").find((line) => line.startsWith(`${series} `))?.slice(series.length + 1)

const local = "127.0.0.1"

describe("/metrics", () => {
  it.effect("reports every series from the start, and the outbox at the scrape", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const { body, headers, status } = yield* api("/metrics", {}, local)
      assert.deepStrictEqual([status, headers.get("content-type")], [200, "text/plain; version=0.0.4; charset=utf-8"])
      assert.strictEqual(valueOf(body, "windhover_outbox_waiting"), "3")
      assert.strictEqual(valueOf(body, "windhover_streams"), "0")
      assert.strictEqual(valueOf(body, "windhover_build_info{version=\"0.0.0\"}"), "1")
      for (
        const series of [
          "windhover_deliveries_total{outcome=\"failed\"}",
          "windhover_polls_total{outcome=\"changed\"}",
          "windhover_entries_total",
          "windhover_hub_missed_total",
          "windhover_poll_lateness_seconds_count",
          "windhover_fetch_duration_seconds_bucket{le=\"+Inf\"}",
          "windhover_delivery_lag_seconds_sum",
          "windhover_xmpp_connected"
        ]
      ) assert.isDefined(valueOf(body, series), series)
      assert.notMatch(body, /^effect_/m)
    }).pipe(Effect.scoped))

  it.effect("has the count of the last export, which reads without a wait", () =>
    Effect.gen(function*() {
      yield* makeApi({})
      const read = Effect.map(
        Metric.snapshot,
        (metrics) => metrics.find(({ id }) => id === "windhover_outbox_waiting")?.state
      )
      assert.deepStrictEqual(yield* read, { value: 0 })
      const next = Effect.andThen(Effect.yieldNow, read)
      yield* Effect.repeat(next, { until: (state) => JSON.stringify(state) !== `{"value":0}`, times: 100 })
      assert.deepStrictEqual(yield* read, { value: 3 })
    }).pipe(Effect.scoped))

  it.effect("is for this machine only without a token", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const statuses = yield* Effect.forEach([
        api("/metrics", {}, "192.0.2.1"),
        api("/metrics", { headers: { "x-forwarded-for": "192.0.2.1" } }, local),
        api("/metrics", { headers: { authorization: "Bearer undefined" } }, "192.0.2.1"),
        api("/metrics", {}, "::1")
      ], (answer) => Effect.map(answer, ({ status }) => status))
      assert.deepStrictEqual(statuses, [403, 403, 403, 200])
    }).pipe(Effect.scoped))

  it.effect("takes its token from elsewhere, and no other credential", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({}, undefined, { metricsToken: Redacted.make("a-token-for-metrics") })
      const read = (authorization: string) =>
        Effect.map(api("/metrics", { headers: { authorization } }, "192.0.2.1"), ({ status }) => status)
      assert.deepStrictEqual(
        yield* Effect.forEach(
          ["Bearer a-token-for-metrics", "Bearer a-token-for-metric", "Basic YWxpY2U6d29uZGVy"],
          read
        ),
        [200, 401, 401]
      )
    }).pipe(Effect.scoped))

  it.effect("trusts no loopback address behind a trusted proxy", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({}, undefined, { trustedProxies: ["10.0.0.0/8"] })
      const { body, status } = yield* api("/metrics", {}, local)
      assert.strictEqual(status, 403)
      assert.match(body, /^With WINDHOVER_TRUSTED_PROXIES, metrics need a token/)
      assert.match((yield* (yield* makeApi({}))("/metrics", {})).body, /^Metrics are for clients on this machine/)
    }).pipe(Effect.scoped))

  it.effect("is read only", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const { headers, status } = yield* api("/metrics", { method: "POST" }, local)
      assert.deepStrictEqual([status, headers.get("allow")], [405, "GET, HEAD"])
    }).pipe(Effect.scoped))

  it.effect("is elsewhere when it has a port of its own", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({}, undefined, { metricsPort: 9 })
      assert.strictEqual((yield* api("/metrics", {}, local)).status, 404)
    }).pipe(Effect.scoped))
})
