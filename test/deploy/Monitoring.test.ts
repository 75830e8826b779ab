import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { outside, start } from "#test/support/Service.ts"
import { hasPromtool, promtool } from "./Promtool.ts"

const deploy = `${import.meta.dirname}/../../deploy`

const metricNames = (text: string): ReadonlyArray<string> =>
  [...new Set(text.match(/\b(?:windhover|process|nodejs)_[a-z0-9_]+/g) ?? [])].map((name) =>
    name.replace(/_(bucket|count|sum)$/, "")
  )

describe("the files for Prometheus and Grafana", () => {
  it.live("name metrics that a running service exports, in a form that promtool accepts", () =>
    Effect.gen(function*() {
      const world = yield* outside
      const service = yield* start({ WINDHOVER_DATA_DIR: yield* temporaryDirectory })
      const [topic = ""] = world.feeds
      yield* service.call({
        "hub.mode": "subscribe",
        "hub.topic": topic,
        "hub.callback": `${world.url}/hook`,
        retrieve: "true"
      })
      world.publish("news")
      yield* service.call({ "hub.mode": "publish", "hub.url": topic })
      yield* world.until(() => world.posted.length === 1)
      const text = yield* Effect.promise(async () => (await fetch(`${service.url}/metrics`)).text())
      const exported = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
      const named = ["prometheus/windhover.rules.yml", "prometheus/windhover.rules.test.yml", "grafana/windhover.json"]
        .flatMap((file) => metricNames(readFileSync(`${deploy}/${file}`, "utf8")))
      assert.deepStrictEqual(named.filter((name) => !exported.has(name)), [])
      assert.match(text, /^windhover_resources\{state="working"\} 1$/m)
      assert.match(text, /^windhover_entries_total [1-9]/m)
      assert.match(text, /^windhover_fetch_duration_seconds_count [1-9]/m)
      assert.match(text, /^windhover_delivery_lag_seconds_count 1$/m)
      if (hasPromtool) assert.strictEqual(promtool(["check", "metrics"], text), "")
    }), 60_000)

  it.runIf(hasPromtool)("fire when a host stalls, when deliveries lag and when the database is silent", () => {
    assert.match(promtool(["test", "rules", `${deploy}/prometheus/windhover.rules.test.yml`]), /SUCCESS/)
  })
})
