import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import * as Senders from "#actors/subscription/Senders.ts"
import type { Delivery } from "#domain/delivery/Notification.ts"
import { Deliverer, type Parcel } from "#domain/ports/Deliverer.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import type { Subscription } from "#domain/Subscription.ts"
import * as Settings from "#layers/Settings.ts"
import { engines } from "#test/support/Databases.ts"
import { newAccount, subscribe, wantedBy } from "#test/support/StoreFixture.ts"
import { storesSql } from "#test/support/StoresSql.ts"

const delivery: Delivery = {
  id: 1,
  subscriptionId: 1,
  sequence: 1,
  attempt: 0,
  credits: 0,
  dueAt: 0,
  waitsSince: 0,
  notification: {
    id: 1,
    resourceId: 1,
    createdAt: 0,
    status: { code: 500, http: "failed", feed: "" },
    news: { _tag: "Failure" }
  }
} as unknown as Delivery

/** Sends to the subscriptions, and returns the verdicts and the parcels that left. */
const sendTo = (subscriptions: ReadonlyArray<Subscription>) => {
  const parcels: Array<Parcel> = []
  const deliverer = Layer.succeed(Deliverer, {
    post: (parcel) => Effect.sync(() => (parcels.push(parcel), { status: 200, latency: 1, excerpt: "" }))
  })
  return Effect.gen(function*() {
    const { webhook } = yield* Senders.Senders
    if (webhook === undefined) return assert.fail("no sender")
    const outcomes = yield* Effect.forEach(
      subscriptions,
      (subscription) => webhook(delivery, subscription, () => true, { speed: "unknown" })
    )
    return { outcomes, parcels }
  }).pipe(Effect.provide(Senders.layer.pipe(Layer.provide([deliverer, Settings.layerValues()]))))
}

for (const engine of engines) {
  describe.skipIf(!engine.available)(`secrets in the database, ${engine.name}`, () => {
    layer(Layer.provideMerge(storesSql, engine.layer), { excludeTestServices: true })((it) => {
      it.effect("no column shows a secret or a header", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const account = yield* newAccount
          const wanted = wantedBy(account.id, { secret: "needle-1", headers: [["X-A", "needle-2"]] })
          yield* subscribe(wanted)
          yield* subscribe({ ...wanted, secret: "needle-3", secretGraceSeconds: 60 })
          const [dump] = yield* sql<{ text: string; hex: string }>`
            select string_agg(u::text, '') as text,
              string_agg(encode(secret, 'hex') || encode(headers, 'hex') || encode(previous_secret, 'hex'), '') as hex
            from subscriptions u where account_id = ${account.id}`
          assert.include(dump?.text, "callback.example")
          assert.notInclude(dump?.text, "needle")
          assert.isAtLeast(dump?.hex.length ?? 0, 3 * 66)
          assert.notInclude(dump?.hex, Buffer.from("needle").toString("hex"))
        }))

      it.effect("a secret from another row, another column or of damaged bytes stops its subscription alone", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const account = yield* newAccount
          const make = (name: string) =>
            Effect.map(
              subscribe(
                wantedBy(account.id, { endpoint: `https://callback.example/${name}`, secret: `secret of ${name}` })
              ),
              ({ subscription }) => subscription.id
            )
          const good = yield* make("good")
          const moved = yield* make("moved")
          const damaged = yield* make("damaged")
          yield* sql`update subscriptions set secret = (select secret from subscriptions where id = ${good}) where id = ${moved}`
          yield* sql`update subscriptions set secret = set_byte(secret, 20, 255 - get_byte(secret, 20)) where id = ${damaged}`
          const lines: Array<string> = []
          const logger = Logger.make(({ message }) => void lines.push(String(message)))
          const { load } = yield* SubscriptionStore
          const loaded = yield* Effect.forEach([good, moved, damaged], load, { concurrency: 3 }).pipe(
            Effect.provide(Logger.layer([logger]))
          )
          const subscriptions = loaded.flatMap((one) => one._tag === "Some" ? [one.value] : [])
          const { outcomes, parcels } = yield* sendTo(subscriptions)
          assert.deepStrictEqual(outcomes.map(({ verdict }) => verdict), ["delivered", "failed", "failed"])
          assert.deepStrictEqual(parcels.map(({ secret }) => secret), ["secret of good"])
          const texts = JSON.stringify([outcomes, lines])
          assert.include(texts, "cannot be decrypted, so that nothing was sent. Its bytes in the database are damaged.")
          assert.notInclude(texts, "secret of")
          yield* subscribe(wantedBy(account.id, { endpoint: "https://callback.example/new", secret: "s" }))
        }))
    })
  })
}
