import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { deliveries } from "#main/cli/Deliveries.ts"
import { delivery, record } from "#main/cli/Delivery.ts"
import { answeringService, printed } from "./AnsweringService.ts"

const version = { version: "0" }
const asDeliveries = Command.runWith(deliveries, version)
const asDelivery = Command.runWith(delivery, version)
const asRecord = Command.runWith(record, version)

const failed = {
  id: "7-3-99",
  time: "2026-11-29T04:06:10.120Z",
  outcome: "failed",
  topic: "http://a.example/feed",
  callback: "http://b.example/hook",
  subscription: 7,
  sequence: 41,
  attempt: 2,
  notification: "96-7",
  code: 503,
  reason: "server-error",
  message: "The callback answered 503.",
  answer: "Be back soon.\u001b[2J",
  milliseconds: 12,
  bytes: 1456,
  nextTry: "2026-11-29T04:07:10.120Z"
}
const denied = {
  id: "98",
  time: "2026-11-29T04:06:09.000Z",
  outcome: "denied",
  topic: "http://a.example/feed",
  callback: "http://c.example/",
  reason: "refused-intent",
  message: "no"
}

describe("commands of the delivery log", () => {
  it.effect("deliveries with a URL asks the service for the attempts of an account, page by page", () =>
    Effect.gen(function*() {
      const { asked, flags } = yield* answeringService(
        [200, { deliveries: [], next: "c/1" }],
        [200, { deliveries: [failed, denied], next: "c2" }]
      )
      const filter = [
        "--outcome",
        "failed",
        "--code",
        "503",
        "--from",
        "2026-01-31",
        "--to",
        "2026-01-31T09:30:00+01:00"
      ]
      yield* asDeliveries(["ann", ...flags, ...filter, "--subscription", "7", "--limit", "2"])
      const query =
        "subscription=7&outcome=failed&code=503&from=2026-01-31T00%3A00%3A00.000Z&to=2026-01-31T08%3A30%3A00.000Z"
      assert.deepStrictEqual(asked, [
        `GET /api/deliveries?${query}&limit=2`,
        `GET /api/deliveries?${query}&limit=2&cursor=c%2F1`
      ])
      const lines = (yield* printed).split("\n").map((line) => line.replace(/ {2,}/g, " | "))
      assert.deepStrictEqual(lines, [
        "TIME | TRY | NEXT | CODE | REASON | TOOK | BYTES | ANSWER | NOTIFICATION | CALLBACK | TOPIC | ID",
        "2026-11-29T04:06:10 | 2 | 2026-11-29T04:07:10 | 503 | server-error | 12 ms | 1456 | " +
        "The callback answered 503: Be back soon.\ufffd[2J | 41 of subscription 7 | " +
        "http://b.example/hook | http://a.example/feed | 7-3-99",
        "2026-11-29T04:06:09 | denied | refused-intent | no | http://c.example/ | http://a.example/feed | 98",
        "Older ones: --after c2"
      ])
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("deliveries refuses days that do not exist", () =>
    Effect.gen(function*() {
      const { asked, flags } = yield* answeringService()
      for (const time of ["2026-02-30", "2026-02-30T00:00:00Z", "2026-01-01T25:00:00Z", "yesterday"]) {
        const error = yield* Effect.flip(asDeliveries([...flags, "--from", time]))
        assert.include(JSON.stringify(error), "a time such as 2026-01-31 or 2026-01-31T09:30:00Z")
      }
      assert.deepStrictEqual(asked, [])
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("delivery shows one attempt with its request", () =>
    Effect.gen(function*() {
      const request = {
        headers: [{ name: "X-A", value: "***" }, { name: "Content-Type", value: "text/plain" }],
        body: "one\ntwo\u001b",
        encoding: "utf-8",
        truncated: true
      }
      const { asked, flags } = yield* answeringService(
        [200, { ...failed, explanation: "Its log has the reason.", request }],
        [200, { ...denied, request: { ...request, body: "AAE=", encoding: "base64", truncated: false } }]
      )
      yield* asDelivery([...flags, "7-3-99"])
      yield* asDelivery([...flags, "--all", "../x"])
      assert.deepStrictEqual(asked, ["GET /api/deliveries/7-3-99", "GET /api/deliveries/..%2Fx?all=true"])
      const text = yield* printed
      assert.match(text, /^Time: +2026-11-29T04:06:10\.120Z\nOutcome: +failed\nNext try: +2026-11-29T04:07:10\.120Z\n/)
      assert.match(text, /\nExplanation: +Its log has the reason\.\n/)
      assert.match(
        text,
        /\nAnswer: +Be back soon\.\ufffd\[2J\n\nX-A: \*\*\*\nContent-Type: text\/plain\n\none\ntwo\ufffd\n\(The body is longer\.\)\n/
      )
      assert.match(text, /\n\nAAE=\n\(The body is no UTF-8 and shown in base64\.\)$/)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("record names the subscription, and the end of the recording", () =>
    Effect.gen(function*() {
      const { asked, flags } = yield* answeringService([200, { subscription: 7, until: "2026-11-29T05:00:00.000Z" }])
      yield* asRecord([...flags, "--subscription", "7", "--minutes", "5"])
      assert.deepStrictEqual(asked, [`POST /api/deliveries/record {"subscription":7,"minutes":5}`])
      assert.strictEqual(yield* printed, "All attempts of subscription 7 are recorded until 2026-11-29T05:00:00.")
    }).pipe(Effect.provide(NodeServices.layer)))
})
