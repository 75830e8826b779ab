import { assert, describe, it } from "@effect/vitest"
import { Tracer } from "effect"
import { makeNotificationTracer, maxOpenTraces } from "#layers/telemetry/NotificationTracesOtlp.ts"

/** A tracer that keeps its spans, with a decision for each poll in turn. */
const makeTraces = (sampledShare: number, draws: ReadonlyArray<number> = []) => {
  const spans: Array<Tracer.NativeSpan> = []
  let next = 0
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  return { spans, traces: makeNotificationTracer({ tracer, sampledShare, random: () => draws[next++] ?? 0 }) }
}

const poll = (notification: number) => ({ notification, resource: 7, startedAt: 1_000, endedAt: 1_250 })
const attempt = (notification: number, more = {}) => ({
  notification,
  subscription: 3,
  channel: "webhook",
  sequence: 1,
  attempt: 1,
  outcome: "delivered",
  isFailure: false,
  code: 204,
  startedAt: 1_300,
  endedAt: 1_400,
  ...more
})

describe("traces of notifications", () => {
  it("are one from the poll to each attempt, with their times and results", () => {
    const { spans, traces } = makeTraces(1)
    traces.recordPoll(poll(1))
    traces.recordAttempt(attempt(1, { outcome: "failed", isFailure: true, code: 500 }))
    traces.recordAttempt(attempt(1, { attempt: 2 }))
    const [root, failed, accepted] = spans
    assert.deepStrictEqual(spans.map(({ name }) => name), ["poll", "deliver", "deliver"])
    assert.deepStrictEqual(new Set(spans.map(({ traceId }) => traceId)).size, 1)
    for (const span of [failed, accepted]) {
      assert.strictEqual(span?.parent._tag === "Some" ? span.parent.value.spanId : "", root?.spanId)
    }
    const ended = spans.map(({ status }) =>
      status._tag === "Ended" ? [status.startTime, status.endTime, status.exit._tag] : []
    )
    assert.deepStrictEqual(ended, [
      [1_000_000_000n, 1_250_000_000n, "Success"],
      [1_300_000_000n, 1_400_000_000n, "Failure"],
      [1_300_000_000n, 1_400_000_000n, "Success"]
    ])
    assert.deepStrictEqual(Object.fromEntries(accepted?.attributes ?? []), {
      "windhover.notification": 1,
      "windhover.subscription": 3,
      "windhover.channel": "webhook",
      "windhover.sequence": 1,
      "windhover.attempt": 2,
      "windhover.outcome": "delivered",
      "http.response.status_code": 204
    })
  })

  it("are exported wholly or not at all, by the share of the sampler", () => {
    const { spans, traces } = makeTraces(0.5, [0.9, 0.1])
    for (const notification of [1, 2]) traces.recordPoll(poll(notification))
    for (const notification of [1, 2, 1, 2]) traces.recordAttempt(attempt(notification))
    assert.deepStrictEqual(spans.map(({ name }) => name), ["poll", "deliver", "deliver"])
  })

  it("begin with the attempt when the poll is unknown, after a restart for example", () => {
    const { spans, traces } = makeTraces(1)
    traces.recordAttempt(attempt(9))
    assert.deepStrictEqual(spans.map(({ name, parent }) => [name, parent._tag]), [["deliver", "None"]])
  })

  it("keep the newest polls only", () => {
    const { spans, traces } = makeTraces(1)
    for (let notification = 0; notification <= maxOpenTraces; notification++) traces.recordPoll(poll(notification))
    traces.recordAttempt(attempt(0))
    traces.recordAttempt(attempt(1))
    assert.deepStrictEqual(spans.slice(-2).map(({ parent }) => parent._tag), ["None", "Some"])
  })
})
