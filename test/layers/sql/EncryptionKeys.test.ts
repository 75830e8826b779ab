import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted, Result, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as path from "node:path"
import { type BriefItem, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { VerificationQueue } from "#domain/ports/VerificationQueue.ts"
import * as Settings from "#layers/Settings.ts"
import * as AccountStoreSql from "#layers/sql/AccountStoreSql.ts"
import * as EncryptionKeys from "#layers/sql/EncryptionKeys.ts"
import * as Passwords from "#layers/sql/Passwords.ts"
import { idOf, SecretBox } from "#layers/sql/SecretBox.ts"
import * as SubscriptionStoreSql from "#layers/sql/SubscriptionStoreSql.ts"
import * as VerificationQueueSql from "#layers/sql/VerificationQueueSql.ts"
import { engines, temporaryDirectory } from "#test/support/Databases.ts"
import { newAccount, subscribe, wantedBy } from "#test/support/StoreFixture.ts"

const keyOf = (seed: number) => new Uint8Array(32).fill(seed)
const nameOf = (seed: number) => idOf(keyOf(seed)).toString("hex")

/** A start of the service with keys of the settings. */
const start = (dataDir: string, ...keys: ReadonlyArray<Uint8Array>) =>
  SecretBox.pipe(
    Effect.provide(Layer.fresh(EncryptionKeys.layer)),
    Effect.provide(Settings.layerValues({ dataDir, encryptionKeys: keys.map((key) => Redacted.make(key)) }))
  )

/** The sentence of a start that fails. */
const problemOf = (dataDir: string, ...keys: ReadonlyArray<Uint8Array>) =>
  Effect.map(Effect.flip(start(dataDir, ...keys)), ({ message, reason }) => `${reason._tag}: ${message}`)

/** The stores of a start, for as long as the test runs. */
const stores = (dataDir: string, ...keys: ReadonlyArray<Uint8Array>) =>
  Layer.build(Layer.fresh(
    Layer.mergeAll(AccountStoreSql.layerWith(Passwords.cheap), SubscriptionStoreSql.layer, VerificationQueueSql.layer)
      .pipe(
        Layer.provide(EncryptionKeys.layer),
        Layer.provide(Settings.layerValues({ dataDir, encryptionKeys: keys.map((key) => Redacted.make(key)) }))
      )
  ))

const fileIn = (dataDir: string) => path.join(dataDir, "encryption-key")

const forget = SqlClient.SqlClient.use((sql) => sql`delete from encryption_keys`)

const registered = SqlClient.SqlClient.use((sql) =>
  Effect.map(
    sql<{ id: Uint8Array }>`select id from encryption_keys order by created_at`,
    (rows) => rows.map(({ id }) => Buffer.from(id).toString("hex"))
  )
)

for (const engine of engines) {
  describe.skipIf(!engine.available)(`EncryptionKeys, ${engine.name}`, () => {
    layer(engine.layer, { excludeTestServices: true })((it) => {
      it.effect("makes a key file for its owner alone at the first start, and keeps the key", () =>
        Effect.gen(function*() {
          yield* forget
          const dataDir = path.join(yield* temporaryDirectory, "new", "data")
          const first = yield* start(dataDir)
          assert.strictEqual(fs.statSync(fileIn(dataDir)).mode & 0o777, 0o600)
          assert.match(fs.readFileSync(fileIn(dataDir), "utf8"), /^[A-Za-z0-9+/]{43}=\n$/)
          assert.deepStrictEqual(fs.readdirSync(dataDir), ["encryption-key"])
          const second = yield* start(dataDir)
          assert.deepStrictEqual(second.open(first.seal("kept", "p"), "p"), Result.succeed("kept"))
          assert.deepStrictEqual(yield* registered, [Buffer.from(first.keyId).toString("hex")])
        }))

      it.effect("rejects another key at the start, and names the missing one and both remedies", () =>
        Effect.gen(function*() {
          yield* forget
          const dataDir = yield* temporaryDirectory
          yield* start(dataDir, keyOf(1))
          assert.isFalse(fs.existsSync(fileIn(dataDir)))
          const rest =
            `Set WINDHOVER_ENCRYPTION_KEY to the key of the other runners, or restore ${
              fileIn(dataDir)
            } from a backup. `
            + "If the key is lost, `windhover forget-keys` lets the service start: subscriptions with secrets then fail until they are made again."
          const begin = `Key: Secrets in the database are encrypted with the key ${nameOf(1)}, but `
          assert.strictEqual(
            yield* problemOf(dataDir, keyOf(2)),
            `${begin}WINDHOVER_ENCRYPTION_KEY and ${fileIn(dataDir)} hold other keys. ${rest}`
          )
          assert.strictEqual(
            yield* problemOf(dataDir),
            `${begin}WINDHOVER_ENCRYPTION_KEY is not set, and ${fileIn(dataDir)} does not exist. ${rest}`
          )
          assert.isFalse(fs.existsSync(fileIn(dataDir)))
          assert.deepStrictEqual(yield* registered, [nameOf(1)])
        }))

      it.effect("takes a new key in front of the old one, and the key of the file behind the setting", () =>
        Effect.gen(function*() {
          yield* forget
          const dataDir = yield* temporaryDirectory
          const before = yield* start(dataDir)
          const during = yield* start(dataDir, keyOf(3))
          assert.deepStrictEqual(Buffer.from(during.keyId).toString("hex"), nameOf(3))
          assert.deepStrictEqual(during.open(before.seal("old", "p"), "p"), Result.succeed("old"))
          const after = yield* start(dataDir, keyOf(4), keyOf(3))
          assert.deepStrictEqual(after.open(during.seal("new", "p"), "p"), Result.succeed("new"))
          assert.deepStrictEqual(
            yield* registered,
            [before.keyId, keyOf(3), keyOf(4)].map((key) =>
              key.length === 4 ? Buffer.from(key).toString("hex") : idOf(key).toString("hex")
            )
          )
        }))

      it.effect("encrypts all secrets with the new key, after which the old one is needed no more", () =>
        Effect.gen(function*() {
          yield* forget
          const sql = yield* SqlClient.SqlClient
          const dataDir = yield* temporaryDirectory
          const oldStores = yield* stores(dataDir, keyOf(1))
          const headers = [["Authorization", "Bearer a"]] as const
          const { account, wanted } = yield* Effect.provideContext(
            Effect.gen(function*() {
              const account = yield* newAccount
              const wanted = wantedBy(account.id, { secret: "one", headers })
              const count = 450
              for (let number = 0; number < count; number++) {
                yield* subscribe({ ...wanted, endpoint: `${wanted.endpoint}/${number}` })
              }
              yield* subscribe({ ...wanted, endpoint: `${wanted.endpoint}/7`, secret: "two", secretGraceSeconds: 60 })
              yield* VerificationQueue.use((queue) =>
                queue.add(
                  { mode: "subscribe", subscription: wanted, leaseSeconds: 60 },
                  "api",
                  { asker: "a", network: "a", target: "a" }
                )
              )
              return { account, wanted }
            }),
            oldStores
          )
          yield* sql`update subscriptions set secret = '\\x00' where endpoint = ${`${wanted.endpoint}/9`}`
          yield* sql`update subscriptions set headers = '\\x00' where endpoint = ${`${wanted.endpoint}/10`}`
          const newStores = yield* stores(dataDir, keyOf(2), keyOf(1))
          yield* Effect.repeat(registered, {
            until: (names) => names.length === 1,
            schedule: Schedule.spaced("20 millis")
          })
          assert.deepStrictEqual(yield* registered, [nameOf(2)])
          const later = yield* stores(dataDir, keyOf(2))
          assert.isDefined(newStores)
          const { briefs, claimed, listed } = yield* Effect.provideContext(
            Effect.all({
              listed: SubscriptionStore.use((store) => store.list({ accountId: account.id, page: 1, byPage: 500 })),
              briefs: SubscriptionStore.use((store) =>
                store.listBriefly({ accountId: account.id, page: 1, byPage: 500 })
              ),
              claimed: VerificationQueue.use((queue) => queue.claim({ lane: "api", limit: 9, perMinute: undefined }))
            }),
            later
          )
          const items = listed.items.map(({ subscription }) => subscription)
          assert.strictEqual(items.length, 450)
          const unreadable = items.filter((item) => item.unreadable !== undefined)
          assert.deepStrictEqual(unreadable.map(({ endpoint, unreadable }) => [endpoint, unreadable]), [
            [`${wanted.endpoint}/9`, "Its bytes in the database are damaged."],
            [`${wanted.endpoint}/10`, "Its bytes in the database are damaged."]
          ])
          const secretsOf = (all: ReadonlyArray<BriefItem["subscription"]>) =>
            all.map(({ endpoint, secret }) => [endpoint, secret])
          assert.deepStrictEqual(secretsOf(briefs.map(({ subscription }) => subscription)), secretsOf(items))
          const readable = items.filter((item) => item.unreadable === undefined)
          assert.deepStrictEqual(
            new Set(readable.map((item) => JSON.stringify(item.headers))),
            new Set([JSON.stringify(headers)])
          )
          assert.strictEqual(readable.filter(({ secret }) => secret === "one").length, 447)
          const rotated = readable.find(({ secret }) => secret === "two")
          assert.strictEqual(rotated?.previousSecret, "one")
          assert.deepStrictEqual(claimed.map(({ verification }) => verification.subscription.secret), ["one"])
        }))

      it.effect("starts one of two runners with different keys on a new database", () =>
        Effect.gen(function*() {
          yield* forget
          const directories = yield* Effect.all([temporaryDirectory, temporaryDirectory])
          const starts = yield* Effect.forEach(directories, (directory) => Effect.result(start(directory)), {
            concurrency: 2
          })
          assert.strictEqual(starts.filter(Result.isSuccess).length, 1)
          assert.strictEqual((yield* registered).length, 1)
        }))

      it.effect("gives two runners with one new data directory the same key", () =>
        Effect.gen(function*() {
          yield* forget
          const dataDir = yield* temporaryDirectory
          const [one, other] = yield* Effect.all([start(dataDir), start(dataDir)], { concurrency: 2 })
          assert.deepStrictEqual(one.keyId, other.keyId)
        }))

      it.effect("names a damaged file, and a damaged proof in the database", () =>
        Effect.gen(function*() {
          yield* forget
          const dataDir = yield* temporaryDirectory
          fs.writeFileSync(fileIn(dataDir), "no key\n")
          assert.strictEqual(
            yield* problemOf(dataDir),
            `Key: ${fileIn(dataDir)} is damaged: it holds no key of 32 bytes in Base64. Restore the file from a backup.`
          )
          fs.rmSync(fileIn(dataDir))
          yield* start(dataDir, keyOf(1))
          yield* SqlClient.SqlClient.use((sql) => sql`update encryption_keys set proof = '\\x00'`)
          assert.match(yield* problemOf(dataDir, keyOf(1)), /^Key: .* its check of a key is damaged\./)
        }))
    })
  })
}
