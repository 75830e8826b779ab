import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Runners } from "#actors/cluster/Runners.ts"
import { ResourceReports } from "#actors/operations/ResourceReports.ts"
import { TrafficHistory } from "#actors/runtime/TrafficHistory.ts"
import { StoreError } from "#domain/ports/StoreError.ts"
import { assertDescribed, makeManagementApi, management } from "#test/support/Api.ts"

describe("OverviewRoutes", () => {
  it.effect("list failing hosts, of all accounts with the right admin alone", () =>
    Effect.gen(function*() {
      const scopes: Array<boolean | undefined> = []
      const api = yield* makeManagementApi(Layer.merge(
        management,
        Layer.mock(ResourceReports, {
          failingHosts: ({ ofAll }) =>
            Effect.sync(() => {
              scopes.push(ofAll)
              return { resources: [{ host: "a.example", count: 3 }], callbacks: [{ host: "b.example", count: 1 }] }
            })
        })
      ))
      const answer = yield* api("GET", "/api/failing-hosts")
      assertDescribed("/api/failing-hosts", answer)
      assert.deepStrictEqual(answer.json, {
        resources: [{ host: "a.example", count: 3 }],
        callbacks: [{ host: "b.example", count: 1 }]
      })
      assert.strictEqual((yield* api("GET", "/api/failing-hosts", { all: "true" }, "operator")).status, 200)
      assert.strictEqual((yield* api("GET", "/api/failing-hosts", { all: "true" }, "list")).status, 403)
      assert.strictEqual((yield* api("GET", "/api/failing-hosts", {}, "retrieve")).status, 403)
      assert.deepStrictEqual(scopes, [false, true])
    }))

  it.effect("show the traffic per minute", () =>
    Effect.gen(function*() {
      const minute = { entries: 1, delivered: 2, failedDeliveries: 3, polls: 4, failedPolls: 5 }
      const api = yield* makeManagementApi(Layer.merge(
        management,
        Layer.mock(TrafficHistory, {
          minutes: Effect.succeed([{ at: 60_000, ...minute, deliveryLag: 0.25 }, { at: 120_000, ...minute }])
        })
      ))
      const answer = yield* api("GET", "/api/traffic", {}, "operator")
      assertDescribed("/api/traffic", answer)
      assert.deepStrictEqual(answer.json.minutes, [
        { time: "1970-01-01T00:01:00.000Z", ...minute, deliveryLag: 0.25 },
        { time: "1970-01-01T00:02:00.000Z", ...minute }
      ])
      assert.strictEqual((yield* api("GET", "/api/traffic", {}, "list")).status, 403)
    }))

  it.effect("list the runners, and tell of a silent database", () =>
    Effect.gen(function*() {
      const load = { partitions: 128, healthy: 7, failing: 2, late: 1, cpu: 0.25, eventLoop: 0.125, memory: 5_000 }
      const runner = { name: "a.example:1", version: "1.2.3", ...load }
      let isDown = false
      const api = yield* makeManagementApi(Layer.merge(
        management,
        Layer.mock(Runners, {
          list: Effect.suspend(() =>
            isDown
              ? Effect.fail(new StoreError({ reason: { _tag: "Unavailable", message: "down" } }))
              : Effect.succeed([
                { ...runner, startedAt: 0, seenAt: 1_000, isThis: true, isSilent: false },
                {
                  ...runner,
                  startedAt: 0,
                  seenAt: 1_000,
                  isThis: false,
                  isSilent: true,
                  traffic: { polls: 6, delivered: 3, failedDeliveries: 1 }
                }
              ])
          )
        })
      ))
      const answer = yield* api("GET", "/api/runners", {}, "operator")
      assertDescribed("/api/runners", answer)
      const common = { ...runner, started: "1970-01-01T00:00:00.000Z", seen: "1970-01-01T00:00:01.000Z" }
      assert.deepStrictEqual(answer.json.runners, [
        { ...common, silent: false, self: true },
        { ...common, polls: 6, delivered: 3, failedDeliveries: 1, silent: true, self: false }
      ])
      assert.strictEqual((yield* api("GET", "/api/runners", {}, "list")).status, 403)
      isDown = true
      assert.strictEqual((yield* api("GET", "/api/runners", {}, "operator")).status, 503)
    }))
})
