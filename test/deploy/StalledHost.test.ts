import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { type ResourceCounts, RunnerResources } from "#actors/cluster/Runner.ts"
import { FetchError } from "#domain/ports/Fetcher.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { started, subscribe } from "#test/support/HubCalls.ts"
import { documentOf, layerWith } from "#test/support/SimulatedWeb.ts"
import { hasPromtool, promtool } from "./Promtool.ts"

const rules = `${import.meta.dirname}/../../deploy/prometheus/windhover.rules.yml`

/** Feeds on the host that stalls, and on other hosts. */
const stalledFeeds = 60
const otherFeeds = 10

const timeout = Effect.andThen(
  Effect.sleep("30 seconds"),
  Effect.fail(new FetchError({ reason: { _tag: "Timeout", message: "No answer within 30 s." } }))
)

/** The counts at each minute while one host stalls from the fifth minute to the 25th. */
const counted = Effect.gen(function*() {
  const web = yield* started
  let isStalled = false
  for (let i = 0; i < stalledFeeds; i++) {
    const topic = `http://stalled.example/${i}`
    web.serve(topic, () => isStalled ? timeout : Effect.succeed(documentOf([])))
    yield* subscribe("good", { topic })
  }
  for (let i = 0; i < otherFeeds; i++) yield* subscribe("good", { topic: `http://host-${i}.example/` })
  const counts: Array<ResourceCounts> = []
  for (let minute = 0; minute <= 45; minute++) {
    if (minute === 5 || minute === 25) isStalled = !isStalled
    counts.push(yield* RunnerResources.use(({ count }) => count))
    yield* TestClock.adjust("1 minute")
  }
  return counts
}).pipe(Effect.provide(layerWith({ minPeriodSeconds: 60, maxPeriodSeconds: 60 })))

/** A test of the shipped rules, with the counts as the scrapes of a runner. */
const renderRuleTest = (counts: ReadonlyArray<ResourceCounts>, firesAt: number, endsAt: number) => {
  const series = (name: string, read: (one: ResourceCounts) => number) =>
    `      - series: '${name}'\n        values: "${counts.map(read).join(" ")}"\n`
  return `rule_files: [${rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
${series(`windhover_late_resources{job="windhover",instance="a"}`, ({ late }) => late)}${
    series(`windhover_resources{job="windhover",instance="a",state="working"}`, ({ healthy }) => healthy)
  }${series(`windhover_resources{job="windhover",instance="a",state="failing"}`, ({ failing }) => failing)}
    alert_rule_test:
      - { eval_time: 4m, alertname: WindhoverPollsLate }
      - eval_time: ${firesAt}m
        alertname: WindhoverPollsLate
        exp_alerts:
          - exp_labels: { severity: warning, job: windhover, instance: a }
            exp_annotations:
              summary: "${counts[firesAt]?.late} resources of a are polled more than a minute late."
              description: "A host hangs, or the machine is too small. Compare windhover_fetch_duration_seconds and process_cpu_seconds_total."
      - { eval_time: ${endsAt}m, alertname: WindhoverPollsLate }
`
}

describe("one host that stalls", () => {
  it.effect("raises the late resources, of its own alone, until it answers, and fires the shipped alert", () =>
    Effect.gen(function*() {
      const counts = yield* counted
      assert.deepStrictEqual(counts.slice(2, 5).map(({ late }) => late), [0, 0, 0])
      const stalled = counts.slice(15, 25).map(({ late }) => late)
      for (const late of stalled) {
        assert.isAbove(late, 10)
        assert.isAtMost(late, stalledFeeds)
      }
      assert.strictEqual(counts[45]?.late, 0)
      if (!hasPromtool) return
      const file = join(yield* temporaryDirectory, "stalled.test.yml")
      writeFileSync(file, renderRuleTest(counts, 20, 45))
      assert.match(promtool(["test", "rules", file]), /SUCCESS/)
    }).pipe(Effect.scoped))
})
