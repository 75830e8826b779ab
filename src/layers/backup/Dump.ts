import { DateTime, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { version } from "#layers/outbound/Version.ts"
import { describe } from "#layers/sql/Query.ts"
import { type BackupError, backupError } from "./BackupError.ts"
import type { Header } from "./BackupFormat.ts"
import type { BackupWriter } from "./BackupWriter.ts"
import * as Catalog from "./Catalog.ts"
import { forEachPage } from "./RowPages.ts"

/** Hears of written rows, for a progress line. */
export type Progress = (rows: number, total: number) => void

/**
 * Writes all rows of a database as one backup, and returns the header.
 *
 * Runs in one repeatable-read transaction, so that all pages show the same state. Expects a client without time limits.
 */
export const dump = Effect.fn("Dump.dump")(
  function*(writer: BackupWriter, progress: Progress) {
    return yield* inSnapshot(Effect.gen(function*() {
      const tables = yield* Catalog.readTables
      const header = yield* readHeader(tables)
      const total = header.tables.reduce((sum, { rows }) => sum + rows, 0)
      let done = 0
      yield* writer.header(header)
      for (const table of tables) {
        yield* forEachPage(table, (page) =>
          Effect.andThen(
            writer.page(page),
            Effect.sync(() => {
              done += page.rows.length
              progress(done, total)
            })
          ))
      }
      return header
    }))
  },
  Effect.catchTag("SqlError", (error) => Effect.fail(explainSource(error)))
)

/** Runs an effect in a transaction that sees one state of the database. */
export const inSnapshot = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  SqlClient.SqlClient.use((sql) =>
    sql.withTransaction(Effect.andThen(sql`set transaction isolation level repeatable read read only`, effect))
  )

export const explainSource = (error: SqlError.SqlError): BackupError =>
  backupError(
    "Changed",
    `The database could not be read to its end: ${describe(error)}. Nothing was written; try again.`,
    error
  )

const readHeader = Effect.fnUntraced(function*(tables: ReadonlyArray<Catalog.Table>) {
  const schema = yield* Catalog.readSchemaVersion
  if (schema === undefined) {
    return yield* backupError(
      "Foreign",
      "The database holds no data of Windhover. 'windhover init' creates its tables."
    )
  }
  const counts = yield* Effect.forEach(tables, Catalog.countRows)
  return {
    schema,
    windhover: version,
    postgres: yield* Catalog.readPostgresVersion,
    createdAt: DateTime.formatIso(yield* DateTime.now),
    keys: yield* Catalog.readKeyIds,
    tables: tables.map(({ columns, name }, index) => ({
      name,
      columns: columns.map((column) => column.name),
      rows: counts[index] ?? 0
    })),
    sequences: yield* Catalog.readSequences
  } satisfies Header
})
