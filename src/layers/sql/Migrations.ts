import { Effect } from "effect"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import { DatabaseError } from "#layers/postgres/DatabaseError.ts"
import { statements as schema } from "#layers/sql/migrations/0001-schema.ts"
import { statements as hub } from "#layers/sql/migrations/0002-hub.ts"
import { statements as searchAndPings } from "#layers/sql/migrations/0004-search-and-pings.ts"
import { statements as sequences } from "#layers/sql/migrations/0005-notification-sequences.ts"
import { statements as legacyItemNamespace } from "#layers/sql/migrations/0006-legacy-item-namespace.ts"
import { statements as retention } from "#layers/sql/migrations/0007-retention.ts"
import { statements as deliveryLog } from "#layers/sql/migrations/0008-delivery-log.ts"
import { statements as fetching } from "#layers/sql/migrations/0009-fetching.ts"
import { statements as questionsInOrder } from "#layers/sql/migrations/0010-questions-in-order.ts"
import { statements as deliveriesThatWentWell } from "#layers/sql/migrations/0011-deliveries-that-went-well.ts"
import { statements as replaysApart } from "#layers/sql/migrations/0012-replays-apart.ts"
import { statements as bounces } from "#layers/sql/migrations/0013-bounces.ts"
import { statements as upstreams } from "#layers/sql/migrations/0014-upstreams.ts"
import { statements as hubsThatAreLeft } from "#layers/sql/migrations/0015-hubs-that-are-left.ts"
import { statements as trials } from "#layers/sql/migrations/0016-trials.ts"
import { statements as trialsThatAreSent } from "#layers/sql/migrations/0017-trials-that-are-sent.ts"
import { statements as hostPauses } from "#layers/sql/migrations/0018-host-pauses.ts"
import { describe } from "./Query.ts"

interface Migration {
  /** Ascending; the last one is the schema's version. */
  readonly number: number
  readonly name: string
  readonly statements: ReadonlyArray<string>
}

/** All migrations, in order. Append only: a released one is never edited. */
const migrations: ReadonlyArray<Migration> = [
  { number: 1, name: "schema", statements: schema },
  { number: 2, name: "hub", statements: hub },
  { number: 4, name: "search_and_pings", statements: searchAndPings },
  { number: 5, name: "notification_sequences", statements: sequences },
  { number: 6, name: "legacy_item_namespace", statements: legacyItemNamespace },
  { number: 7, name: "retention", statements: retention },
  { number: 8, name: "delivery_log", statements: deliveryLog },
  { number: 9, name: "fetching", statements: fetching },
  { number: 10, name: "questions_in_order", statements: questionsInOrder },
  { number: 11, name: "deliveries_that_went_well", statements: deliveriesThatWentWell },
  { number: 12, name: "replays_apart", statements: replaysApart },
  { number: 13, name: "bounces", statements: bounces },
  { number: 14, name: "upstreams", statements: upstreams },
  { number: 15, name: "hubs_that_are_left", statements: hubsThatAreLeft },
  { number: 16, name: "trials", statements: trials },
  { number: 17, name: "trials_that_are_sent", statements: trialsThatAreSent },
  { number: 18, name: "host_pauses", statements: hostPauses }
]

/** The version of the schema that this program works with. */
export const version = Math.max(...migrations.map(({ number }) => number))

const table = "windhover_migrations"

/** Key of the advisory lock that a migrating program holds: "windhove" in ASCII. */
const lock = 0x77696e64686f7665n

/**
 * Brings the database to `version`: all missing migrations in one transaction, or none of them.
 *
 * Several runners may start at once: they take turns by an advisory lock, and all but the first find nothing left to do.
 * Returns the names of those that ran, as `0001_schema`.
 */
export const migrate: Effect.Effect<ReadonlyArray<string>, DatabaseError, SqlClient.SqlClient> = Effect.gen(
  function*() {
    const sql = yield* SqlClient.SqlClient
    if ((yield* newest)?.id === version) return [] // as at nearly every start, which then waits for no lock
    return yield* sql.withTransaction(Effect.gen(function*() {
      yield* sql`set local statement_timeout = 0` // waiting for the lock and building an index take what they take
      yield* sql`select pg_advisory_xact_lock(${lock})`
      yield* refuseNewer
      yield* needTrigrams
      const done = yield* Migrator.make({})({ table, loader: Migrator.fromRecord(records) })
      return done.map(([id, name]) => key(id, name))
    }))
  }
).pipe(
  Effect.catchTags({
    MigrationError: (error) => Effect.fail(failed(`${error.message} (${explain(error.cause)})`, error)),
    SqlError: (error) => Effect.fail(failed(explain(error), error))
  }),
  Effect.withSpan("Migrations.migrate")
)

const failed = (what: string, cause: unknown) =>
  new DatabaseError({
    reason: "migration",
    message: `The database could not be brought to schema ${version}, and was left as it was: ${what}.`,
    cause
  })

const explain = (cause: unknown): string => SqlError.isSqlError(cause) ? describe(cause) : String(cause)

const key = (id: number, name: string) => `${String(id).padStart(4, "0")}_${name}`

/** One statement a call: the extended protocol takes no more. */
const records = Object.fromEntries(migrations.map(({ name, number, statements }) => [
  key(number, name),
  SqlClient.SqlClient.use((sql) =>
    Effect.forEach(statements, (statement) => sql.unsafe(statement).unprepared, { discard: true })
  )
]))

/** The last migration that the database has; none where there is no schema yet. */
const newest = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [exists] = yield* sql<{ found: boolean }>`select to_regclass(${table}) is not null as found`
  if (exists?.found !== true) return undefined
  const [found] = yield* sql<{ id: number; name: string }>`
    select migration_id as id, name from ${sql(table)} order by migration_id desc limit 1`
  return found
})

/** A newer program may have changed what this one relies on: it must not write there. */
const refuseNewer = Effect.gen(function*() {
  const found = yield* newest
  if (found === undefined || found.id <= version) return
  return yield* new DatabaseError({
    reason: "newer",
    message: `A newer Windhover has migrated the database to ${key(found.id, found.name)}; this one knows ${version}. `
      + "Start the newer version, or restore a backup that was made before it."
  })
})

/** `pg_trgm` ships with PostgreSQL, but some packages leave it out, and some servers let only an administrator install it. */
const needTrigrams = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [extension] = yield* sql<{ installed: string | null }>`
    select installed_version as installed from pg_available_extensions where name = 'pg_trgm'`
  if (extension === undefined) {
    return yield* new DatabaseError({
      reason: "no-trigrams",
      message: "The PostgreSQL server has no pg_trgm extension, which searching subscriptions needs. "
        + "Install the server's contrib package (Debian ships it with the server, Alpine as postgresql-contrib)."
    })
  }
  if (extension.installed !== null) return
  yield* sql`create extension if not exists pg_trgm`.pipe(Effect.mapError((error) =>
    new DatabaseError({
      reason: "no-trigrams",
      message: "The database user may not install the extension pg_trgm, which searching subscriptions needs. "
        + "Have an administrator run in this database: create extension pg_trgm",
      cause: error
    })
  ))
})
