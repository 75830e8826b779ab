import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { pause, recover, resend, test, undelivered } from "#main/cli/Recovery.ts"
import { answeringService as service, printed } from "./AnsweringService.ts"

const flags = { version: "0" }
const asUndelivered = Command.runWith(undelivered, flags)
const asRecover = Command.runWith(recover, flags)
const asResend = Command.runWith(resend, flags)
const asTest = Command.runWith(test, flags)
const asPause = Command.runWith(pause, flags)

const row = {
  subscription: 7,
  topic: "http://a.example/",
  callback: "http://b.example/",
  state: "dropped",
  attempts: 4
}

describe("commands of the management API", () => {
  it.effect("undelivered shows a next time for the first waiting notification alone", () =>
    Effect.gen(function*() {
      const waiting = { ...row, state: "waiting", attempts: 0, nextTry: "2026-11-29T12:45:48.000Z" }
      const { flags } = yield* service([200, {
        undelivered: [
          { ...row, sequence: 40 },
          { ...waiting, sequence: 41, attempts: 4 },
          { ...waiting, sequence: 42 },
          { ...waiting, subscription: 8, sequence: 1 }
        ]
      }])
      yield* asUndelivered(flags)
      const output = yield* printed
      assert.match(output, /7 +40 +dropped +4 +http/)
      assert.match(output, /7 +41 +waiting +4 +2026-11-29T12:45:48 +http/)
      assert.match(output, /7 +42 +waiting +0 +follows +http/)
      assert.match(output, /8 +1 +waiting +0 +2026-11-29T12:45:48 +http/)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("undelivered follows the pages up to its limit", () =>
    Effect.gen(function*() {
      const { asked, flags } = yield* service(
        [200, { undelivered: [{ ...row, sequence: 41, reason: "Busy.\u001b[2J" }], next: "abc" }],
        [200, { undelivered: [{ ...row, sequence: 42 }], next: "def" }]
      )
      yield* asUndelivered([...flags, "--subscription", "7", "--limit", "2"])
      assert.deepStrictEqual(asked, [
        "GET /api/undelivered?subscription=7&limit=2",
        "GET /api/undelivered?subscription=7&limit=1&cursor=abc"
      ])
      const output = yield* printed
      assert.match(output, /7 +41 +dropped +4 +Busy\..* +http:\/\/b\.example\/ +http:\/\/a\.example\//)
      assert.match(output, /7 +42 +dropped[^]*More notifications follow; --limit shows them\.$/)
      assert.notInclude(output, "\u001b")
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("recover names the subscription, and tells what is lost and paused", () =>
    Effect.gen(function*() {
      const answer = { subscription: 7, state: "paused", recovered: 3, lost: 1, more: true }
      const { asked, flags } = yield* service([200, answer], [200, {
        ...answer,
        recovered: 0,
        lost: 0,
        more: false,
        state: "active"
      }])
      yield* asRecover([...flags, "--topic", "http://a.example/", "--callback", "http://b.example/", "--since", "41"])
      yield* asRecover([...flags, "--subscription", "7", "--since", "2026-01-31T09:30:00Z"])
      assert.deepStrictEqual(asked, [
        `POST /api/recover {"topic":"http://a.example/","callback":"http://b.example/","since":41}`,
        `POST /api/recover {"subscription":7,"since":"2026-01-31T09:30:00Z"}`
      ])
      assert.strictEqual(
        yield* printed,
        "3 notifications of subscription 7 are sent again.\nNo longer stored: 1 notification.\n" +
          "More were dropped; repeat the command.\nThe subscription is paused: windhover resume --subscription 7\n" +
          "Subscription 7 has no dropped notifications to send. Waiting ones are tried at once."
      )
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("resend tells sequences from ids", () =>
    Effect.gen(function*() {
      const { asked, flags } = yield* service([200, { subscription: 7, resent: [41], missing: ["9-7"], note: "Gone." }])
      yield* asResend([...flags, "--subscription", "7", "41", "9-7"])
      assert.deepStrictEqual(asked, [`POST /api/resend {"subscription":7,"sequences":[41],"ids":["9-7"]}`])
      assert.strictEqual(yield* printed, "1 notification of subscription 7 is sent again.\nNot sent: 9-7. Gone.")
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("test shows the answer, and fails when the callback does not accept", () =>
    Effect.gen(function*() {
      const refused = { id: "test-1", accepted: false, message: "The callback answered 500.", answer: "KeyError" }
      const { asked, flags } = yield* service([200, { ...refused, milliseconds: 34 }], [200, {
        ...refused,
        accepted: true
      }])
      const error = yield* Effect.flip(asTest([...flags, "http://b.example/", "--secret", "s"]))
      assert.include(String(error), "The callback did not accept the test.")
      yield* asTest([...flags, "--subscription", "7"])
      assert.deepStrictEqual(asked, [
        `POST /api/test {"callback":"http://b.example/","secret":"s"}`,
        `POST /api/test {"subscription":7}`
      ])
      assert.strictEqual(
        yield* printed,
        "test-1: The callback answered 500. It took 34 ms.\nKeyError\ntest-1: The callback answered 500.\nKeyError"
      )
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("pause prints the state, and a refusal as its sentence", () =>
    Effect.gen(function*() {
      const { asked, flags } = yield* service(
        [200, { subscription: 7, state: "paused" }],
        [404, { error: { code: "not_found", message: "Your account has no subscription 8." } }],
        [200, { hello: "world" }]
      )
      yield* asPause([...flags, "--subscription", "7"])
      assert.strictEqual(yield* printed, "Subscription 7 is paused.")
      const refused = yield* Effect.flip(asPause([...flags, "--subscription", "8"]))
      assert.include(String(refused), "404: Your account has no subscription 8.")
      const other = yield* Effect.flip(asPause([...flags, "--subscription", "8"]))
      assert.include(String(other), "does --url name another service?")
      assert.deepStrictEqual(asked.map((line) => line.split(" ")[1]), ["/api/pause", "/api/pause", "/api/pause"])
    }).pipe(Effect.provide(NodeServices.layer)))
})
