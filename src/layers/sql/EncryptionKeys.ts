import { Effect, Layer, Redacted } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Settings } from "#domain/ports/Settings.ts"
import { settingsTable } from "#domain/SettingsTable.ts"
import { type DatabaseError, databaseError } from "#layers/postgres/DatabaseError.ts"
import * as KeyFile from "#layers/postgres/KeyFile.ts"
import { describe } from "./Query.ts"
import { reencrypt } from "./Reencryption.ts"
import { type Box, idOf, make, SecretBox } from "./SecretBox.ts"

const { variable } = settingsTable.encryptionKeys

/** A key that has sealed secrets of this database, with a sealed word that proves the key. */
interface RegisteredKey {
  readonly id: Uint8Array
  readonly proof: Uint8Array
}

const proof = "windhover"
const proofPurpose = "encryption_keys.proof"

/**
 * The box of the keys of this installation: those of `WINDHOVER_ENCRYPTION_KEY`, then the one of the key file.
 *
 * Without any key, the first start on a database makes the key file. The database lists the keys of its secrets, so that a start with other
 * keys fails at once, and not at the first delivery.
 */
export const layer: Layer.Layer<SecretBox, DatabaseError, Settings | SqlClient.SqlClient> = Layer.effect(
  SecretBox,
  Effect.gen(function*() {
    const { dataDir, encryptionKeys } = yield* Settings
    const sql = yield* SqlClient.SqlClient
    const registered = yield* selectKeys(sql).pipe(Effect.mapError(explainQuery))
    const stored = yield* KeyFile.read(dataDir)
    const known = [...encryptionKeys.map(Redacted.value), ...stored === undefined ? [] : [stored]]
    const keys = known.length > 0 || registered.length > 0 ? known : [yield* KeyFile.create(dataDir)]
    const box = make(keys)
    yield* register(sql, box, keys, KeyFile.pathIn(dataDir))
    if (keys.length > 1) yield* Effect.forkScoped(retireOldKeys(sql, box))
    return box
  })
)

/** Each start with several keys looks for secrets of older keys, because other runners may have written some meanwhile. */
const retireOldKeys = (sql: SqlClient.SqlClient, box: Box) =>
  reencrypt(sql, box).pipe(
    Effect.flatMap((unreadable) =>
      Effect.logInfo("All stored secrets are encrypted with the first key. No runner of it needs the other keys.").pipe(
        Effect.annotateLogs({ key: Buffer.from(box.keyId).toString("hex"), unreadable })
      )
    ),
    Effect.catch((error) =>
      Effect.logWarning("Stored secrets keep their old encryption key until the next start; keep the key.").pipe(
        Effect.annotateLogs({ reason: error.message })
      )
    )
  )

/** Forgets all keys, so that the next start takes another one. Returns the number of keys. */
export const forget = SqlClient.SqlClient.use((sql) =>
  Effect.map(sql`delete from encryption_keys returning 1`, (rows) => rows.length).pipe(Effect.mapError(explainQuery))
)

/** Checks the keys of the database, and adds the one that seals from now on. The lock orders runners that start together. */
const register = (sql: SqlClient.SqlClient, box: Box, keys: ReadonlyArray<Uint8Array>, file: string) =>
  sql.withTransaction(Effect.gen(function*() {
    yield* sql`lock table encryption_keys in share row exclusive mode`
    const registered = yield* selectKeys(sql)
    const missing = registered.filter(({ id }) => !keys.some((key) => idOf(key).equals(id)))
    if (missing.length > 0) return yield* explainMissing(missing, keys.length > 0, file)
    if (registered.some((key) => box.open(key.proof, proofPurpose)._tag === "Failure")) {
      return yield* databaseError(
        "Key",
        `The encryption keys do not fit the database: its check of a key is damaged. Restore a backup of the database.`
      )
    }
    if (registered.some(({ id }) => Buffer.from(id).equals(box.keyId))) return
    yield* sql`insert into encryption_keys (id, proof) values (${box.keyId}, ${box.seal(proof, proofPurpose)})`
  })).pipe(Effect.catchTag("SqlError", (error) => Effect.fail(explainQuery(error))))

const selectKeys = (sql: SqlClient.SqlClient) => sql<RegisteredKey>`select id, proof from encryption_keys`

const explainQuery = (error: SqlError.SqlError): DatabaseError =>
  databaseError("Key", `The encryption keys of the database could not be checked: ${describe(error)}.`, error)

const explainMissing = (missing: ReadonlyArray<RegisteredKey>, hasKeys: boolean, file: string): DatabaseError => {
  const ids = missing.map(({ id }) => Buffer.from(id).toString("hex")).join(", ")
  const found = hasKeys
    ? `${variable} and ${file} hold other keys`
    : `${variable} is not set, and ${file} does not exist`
  return databaseError(
    "Key",
    `Secrets in the database are encrypted with the key ${ids}, but ${found}. Set ${variable} to the key of the other runners, or restore ${file} from a backup. `
      + "If the key is lost, `windhover forget-keys` lets the service start: subscriptions with secrets then fail until they are made again."
  )
}
