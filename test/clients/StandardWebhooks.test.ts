import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { Webhook } from "standardwebhooks"
import { Deliverer, type Parcel } from "#domain/ports/Deliverer.ts"
import { live } from "#test/support/Fetching.ts"
import { type Seen, serve } from "#test/support/Servers.ts"

const secretOf = (seed: string, bytes = 32) =>
  `whsec_${createHash("sha512").update(seed).digest().subarray(0, bytes).toString("base64")}`

/** Throws unless the official package accepts the request with the secret. */
const verify = (secret: string, { body, headers }: Seen): void => {
  const webhook = secret.startsWith("whsec_")
    ? new Webhook(secret)
    : new Webhook(new TextEncoder().encode(secret), { format: "raw" })
  webhook.verify(body, headers as Record<string, string>, { jsonParse: false })
}

const accepts = (secret: string, seen: Seen): boolean => {
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
