import { Effect } from "effect"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import { type DatabaseError, databaseError } from "#layers/postgres/DatabaseError.ts"
import { statements as schema } from "#layers/sql/migrations/0001-schema.ts"
import { describe } from "./Query.ts"

export interface Migration {
  /** Ascending. The number of the last one is the version of the schema. */
  readonly number: number
  readonly name: string
  readonly statements: ReadonlyArray<string>
}

/** All migrations in order. Append only: a released migration never changes. */
export const migrations: ReadonlyArray<Migration> = [
  { number: 1, name: "schema", statements: schema }
]

/** The table in which Effect's `Migrator` records migrations. */
const table = "windhover_migrations"

/** Key of the advisory lock that a migrating program holds: "windhove" in ASCII. */
const lockKey = 0x77696e64686f7665n

/**
 * Runs the missing migrations in one transaction, all or none, and returns their names, such as `0001_schema`.
 *
 * Runners that start together wait for each other by an advisory lock. Every runner after the first finds no missing migration.
 */
export const makeMigrate = (
  all: ReadonlyArray<Migration>
): Effect.Effect<ReadonlyArray<string>, DatabaseError, SqlClient.SqlClient> => {
  const version = Math.max(...all.map(({ number }) => number))
  const fail = (problem: string, cause: unknown) =>
    Effect.fail(
      databaseError(
        "Migration",
        `The database could not be brought to schema ${version}, and was left as it was: ${problem}.`,
        cause
      )
    )
  return Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    if ((yield* findNewest)?.id === version) return [] // the usual start: no lock needed
    return yield* sql.withTransaction(Effect.gen(function*() {
      yield* sql`set local statement_timeout = 0` // the lock and large indexes can take longer than 30 s
      yield* sql`select pg_advisory_xact_lock(${lockKey})`
      yield* refuseNewer(version)
      yield* requireTrigrams
      const done = yield* Migrator.make({})({ table, loader: Migrator.fromRecord(loadersOf(all)) })
      return done.map(([id, name]) => formatKey(id, name))
    }))
  }).pipe(
    Effect.catchTags({
      MigrationError: (error) => fail(`${error.message} (${describeCause(error.cause)})`, error),
      SqlError: (error) => fail(describeCause(error), error)
    }),
    Effect.withSpan("Migrations.migrate")
  )
}

/** Brings the database to the schema of this program. */
export const migrate = makeMigrate(migrations)

const describeCause = (cause: unknown): string => SqlError.isSqlError(cause) ? describe(cause) : String(cause)

const formatKey = (id: number, name: string) => `${String(id).padStart(4, "0")}_${name}`

/** The extended protocol takes one statement per call. */
const loadersOf = (all: ReadonlyArray<Migration>) =>
  Object.fromEntries(all.map(({ name, number, statements }) => [
    formatKey(number, name),
    SqlClient.SqlClient.use((sql) =>
      Effect.forEach(statements, (statement) => sql.unsafe(statement).unprepared, { discard: true })
    )
  ]))

/**
 * Table of one row in a database that no service may use: `note` is the sentence that refuses a start, and `is_moved` tells the old database
 * of a move from the new one that is being filled.
 */
export const moveTable = "windhover_move"

/** The newest migration of the database; undefined in an empty database. */
const findNewest = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [exists] = yield* sql<{ found: boolean; marked: boolean }>`
    select to_regclass(${table}) is not null as found, to_regclass(${moveTable}) is not null as marked`
  if (exists?.marked === true) yield* refuseMarked
  if (exists?.found !== true) return undefined
  const [newest] = yield* sql<{ id: number; name: string }>`
    select migration_id as id, name from ${sql(table)} order by migration_id desc limit 1`
  return newest
})

const refuseMarked = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [mark] = yield* sql<{ is_moved: boolean; note: string }>`select is_moved, note from ${sql(moveTable)}`
  if (mark !== undefined) return yield* databaseError(mark.is_moved ? "Moved" : "Loading", mark.note)
})

/** A newer program may have changed the meaning of a column, so that this program must not write. */
const refuseNewer = Effect.fnUntraced(function*(version: number) {
  const newest = yield* findNewest
  if (newest === undefined || newest.id <= version) return
  return yield* databaseError(
    "Newer",
    `A newer Windhover has migrated the database to ${formatKey(newest.id, newest.name)}; this one knows ${version}. `
      + "Start the newer version, or restore a backup that was made before it."
  )
})

/** PostgreSQL ships `pg_trgm`, but some packages leave it out, and some servers let only an administrator install it. */
const requireTrigrams = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [extension] = yield* sql<{ installed: string | null }>`
    select installed_version as installed from pg_available_extensions where name = 'pg_trgm'`
  if (extension === undefined) {
    return yield* databaseError(
      "NoTrigrams",
      "The PostgreSQL server has no pg_trgm extension, which searching subscriptions needs. "
        + "Install the server's contrib package (Debian ships it with the server, Alpine as postgresql-contrib)."
    )
  }
  if (extension.installed !== null) return
  yield* sql`create extension if not exists pg_trgm`.pipe(
    Effect.mapError((error) =>
      databaseError(
        "NoTrigrams",
        "The database user may not install the extension pg_trgm, which searching subscriptions needs. "
          + "Have an administrator run in this database: create extension pg_trgm",
        error
      )
    )
  )
})
