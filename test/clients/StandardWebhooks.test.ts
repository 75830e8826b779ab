import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { createHash } from "node:crypto"
import { Webhook } from "standardwebhooks"
import { Deliverer, type Parcel } from "#domain/ports/Deliverer.ts"
import * as ConversationWorld from "#test/support/ConversationWorld.ts"
import { live } from "#test/support/Fetching.ts"
import { type Seen, serve } from "#test/support/Servers.ts"
import { makeStage } from "#test/support/WebSub.ts"

const secretOf = (seed: string, bytes = 32) =>
  `whsec_${createHash("sha512").update(seed).digest().subarray(0, bytes).toString("base64")}`

/** Throws unless the official package accepts the request with the secret. */
const verify = (secret: string, { body, headers }: Pick<Seen, "body" | "headers">): void => {
  const webhook = secret.startsWith("whsec_")
    ? new Webhook(secret)
    : new Webhook(new TextEncoder().encode(secret), { format: "raw" })
  webhook.verify(body, headers as Record<string, string>, { jsonParse: false })
}

const accepts = (secret: string, seen: Pick<Seen, "body" | "headers">): boolean => {
  try {
    verify(secret, seen)
    return true
  } catch {
    return false
  }
}

const parcelOf = (callback: string, number: number, more: Partial<Parcel>): Parcel => ({
  id: `${number}-7`,
  callback,
  contentType: "application/json; charset=utf-8",
  body: Buffer.from(JSON.stringify({ number, title: "Grüße \u{1f985}".repeat(number % 50) })),
  headers: [],
  ...more
})

describe("the standardwebhooks package", () => {
  live("verifies 1,000 notifications, each with a secret of its own", () =>
    Effect.gen(function*() {
      const secretNumbered = (number: number) =>
        number % 4 === 0 ? `pläin ${number}` : secretOf(`${number}`, 24 + number % 41)
      const callback = yield* serve((seen, response) => {
        const number = Number.parseInt(String(seen.headers["webhook-id"]), 10)
        const isAccepted = accepts(secretNumbered(number), seen) && !accepts(secretNumbered(number + 1), seen)
        response.writeHead(isAccepted ? 204 : 401).end()
      })
      const { post } = yield* Deliverer
      const statuses = yield* Effect.forEach(
        Array.from(
          { length: 1_000 },
          (_, number) => parcelOf(callback.url, number, { secret: secretNumbered(number) })
        ),
        (parcel) => Effect.map(post(parcel), ({ status }) => status),
        { concurrency: 16 }
      )
      assert.deepStrictEqual([statuses.length, new Set(statuses)], [1_000, new Set([204])])
    }))

  live("accepts the new and the previous secret during a rotation, and no third one", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => response.end())
      const [old, next] = [secretOf("old"), secretOf("next")]
      yield* Deliverer.use(({ post }) => post(parcelOf(callback.url, 1, { secret: next, previousSecret: old })))
      const [seen] = callback.seen
      if (seen === undefined) return assert.fail("nothing arrived")
      assert.strictEqual(String(seen.headers["webhook-signature"]).split(" ").length, 2)
      assert.deepStrictEqual([next, old, secretOf("third")].map((secret) => accepts(secret, seen)), [true, true, false])
    }))

  live("rejects a changed body, id or time", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => response.end())
      const secret = secretOf("one")
      yield* Deliverer.use(({ post }) => post(parcelOf(callback.url, 1, { secret })))
      const [seen] = callback.seen
      if (seen === undefined) return assert.fail("nothing arrived")
      const earlier = Number(seen.headers["webhook-timestamp"]) - 1
      const withHeader = (name: string, value: string): Seen => ({
        ...seen,
        headers: { ...seen.headers, [name]: value }
      })
      const changed = [
        seen,
        { ...seen, body: Buffer.concat([seen.body, Buffer.from(" ")]) },
        withHeader("webhook-id", "2-7"),
        withHeader("webhook-timestamp", String(earlier))
      ]
      assert.deepStrictEqual(changed.map((one) => accepts(secret, one)), [true, false, false, false])
    }))
})

layer(ConversationWorld.layer, { excludeTestServices: true })("a rotation of secrets", (it) => {
  it.effect("under load, lets receivers with the old secret and receivers with the new one accept everything", () =>
    Effect.gen(function*() {
      const stage = yield* makeStage
      const [old, next] = [secretOf("before"), secretOf("after")]
      const callbacks = Array.from({ length: 20 }, (_, number) => `/callback-${number}`)
      const subscribe = (more: Record<string, string>) =>
        Effect.forEach(
          callbacks,
          (path) =>
            stage.post(stage.subscription({ "hub.callback": stage.url + path, "hub.verify": "sync", ...more })).pipe(
              Effect.tap(({ status }) => Effect.sync(() => assert.strictEqual(status, 204)))
            ),
          { concurrency: 4 }
        )
      const notify = Effect.fnUntraced(function*(number: number) {
        yield* stage.update(`number ${number}`)
        yield* Effect.forEach(callbacks, (path) => stage.nth(path, "POST", number))
      })
      const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)
      const seen = (from: number) =>
        callbacks.flatMap((path) =>
          stage.calls(path, "POST").filter(({ body }) => Number(body.toString().slice(7)) >= from)
        )

      yield* subscribe({ "hub.secret": old })
      yield* Effect.forEach(numbers(1, 5), notify)
      const sending = yield* Effect.forkChild(Effect.forEach(numbers(6, 10), notify), { startImmediately: true })
      yield* subscribe({ "hub.secret": next, "hub.secret_grace": "600" })
      yield* Fiber.join(sending)
      yield* Effect.forEach(numbers(11, 15), notify)
      yield* subscribe({ "hub.secret": next }) // a renewal leaves the rotation as it is
      yield* Effect.forEach(numbers(16, 20), notify)
      assert.deepStrictEqual([seen(1).length, seen(1).filter((call) => !accepts(old, call)).length], [400, 0])
      assert.deepStrictEqual([seen(11).length, seen(11).filter((call) => !accepts(next, call)).length], [200, 0])

      yield* subscribe({ "hub.secret": secretOf("third"), "hub.secret_grace": "0" })
      yield* notify(21)
      const signatures = seen(21).map(({ headers }) => String(headers["webhook-signature"]).split(" ").length)
      assert.deepStrictEqual(signatures, callbacks.map(() => 1))
      assert.deepStrictEqual(seen(21).filter((call) => !accepts(secretOf("third"), call)), [])
    }))
})
