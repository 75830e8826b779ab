import { Effect, Result } from "effect"
import type { SqlClient } from "effect/sql"
import { run } from "./Query.ts"
import { type Box, keyIdOf } from "./SecretBox.ts"
import { hubSecretPurpose } from "./HubSubscriptionStoreSql.ts"
import { faces, secretPurpose } from "./SubscriptionRows.ts"
import { requestPurpose } from "./VerificationClaims.ts"

/** Rows of one transaction. */
const batchSize = 200

/** A table with sealed columns. `owner` selects the columns from which the purpose follows. */
interface SealedTable {
  readonly table: string
  readonly id: string
  readonly columns: ReadonlyArray<string>
  readonly owner: string
  readonly purposeOf: (column: string, row: SealedRow) => string
}

/** A row with its sealed columns. */
interface SealedRow {
  readonly id: number
  readonly account: number
  readonly face: number
  readonly endpoint: string
  readonly key: Uint8Array
  readonly [column: string]: unknown
}

const tables: ReadonlyArray<SealedTable> = [
  {
    table: "subscriptions",
    id: "id",
    columns: ["secret", "previous_secret", "headers"],
    owner: "account_id as account, face, endpoint",
    purposeOf: (column, { account, endpoint, face }) =>
      secretPurpose(column as Parameters<typeof secretPurpose>[0], {
        accountId: account,
        endpoint,
        face: faces[face] ?? "api"
      })
  },
  {
    table: "hub_subscriptions",
    id: "resource_id",
    columns: ["secret"],
    owner: "resource_id",
    purposeOf: (_, { id }) => hubSecretPurpose(id)
  },
  {
    table: "verifications",
    id: "id",
    columns: ["request"],
    owner: "key",
    purposeOf: (_, { key }) => requestPurpose(key)
  }
]

/**
 * Encrypts all secrets of older keys with the first key, then removes the older keys from the list of the database.
 *
 * Returns the number of values that no key opens, which stay as they are.
 */
export const reencrypt = Effect.fn("Reencryption.reencrypt")(function*(sql: SqlClient.SqlClient, box: Box) {
  let unreadable = 0
  for (const table of tables) {
    for (let last: number | undefined = -1; last !== undefined;) {
      const batch: Batch = yield* run(sql.withTransaction(reencryptBatch(sql, box, table, last)))
      last = batch.last
      unreadable += batch.unreadable
    }
  }
  yield* run(sql`delete from encryption_keys where id <> ${box.keyId}`)
  return unreadable
})

interface Batch {
  /** Undefined at the end of the table. */
  readonly last: number | undefined
  readonly unreadable: number
}

const reencryptBatch = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, box: Box, { columns, id, owner, purposeOf, table }: SealedTable, after: number) {
    const isOld = columns.map((column) => `${keyIdOf(column)} <> $1::bytea`).join(" or ")
    const rows = yield* sql.unsafe<SealedRow>(
      `select ${id}::float8 as id, ${owner}, ${columns.join(", ")} from ${table}
      where ${id} > $2::int8 and (${isOld}) order by ${table}.${id} limit ${batchSize} for update`,
      [box.keyId, BigInt(after)]
    )
    let unreadable = 0
    for (const row of rows) {
      for (const column of columns) {
        const sealed = row[column]
        if (!(sealed instanceof Uint8Array)) continue
        const purpose = purposeOf(column, row)
        const opened = box.open(sealed, purpose)
        if (Result.isFailure(opened)) unreadable++
        else {
          yield* sql.unsafe(`update ${table} set ${column} = $2::bytea where ${id} = $1::int8`, [
            BigInt(row.id),
            box.seal(opened.success, purpose)
          ])
        }
      }
    }
    return { last: rows.length < batchSize ? undefined : rows.at(-1)?.id, unreadable } satisfies Batch
  }
)
