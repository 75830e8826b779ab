import { Effect, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as path from "node:path"
import * as DataDirectory from "#layers/postgres/DataDirectory.ts"
import type { DatabaseError } from "#layers/postgres/DatabaseError.ts"
import { syncDirectory } from "#layers/postgres/SyncDirectory.ts"
import { type BackupError, backupError, explainFile } from "./BackupError.ts"
import type { Header } from "./BackupFormat.ts"
import * as BackupReader from "./BackupReader.ts"
import type { Progress } from "./Dump.ts"
import * as Load from "./Load.ts"
import * as Source from "./Source.ts"

/**
 * Restores a backup into an empty data directory or an empty database of a server, and returns its header.
 *
 * The whole file is verified before anything is changed. A failure leaves the target empty.
 */
export const restore = Effect.fn("Restore.restore")(
  function*(
    file: string,
    place: Source.Place,
    progress: Progress
  ): Effect.fn.Return<Header, BackupError | DatabaseError, Scope.Scope> {
    const header = yield* BackupReader.verify(file)
    yield* Load.checkSchema(file, header)
    const load = Effect.scoped(Effect.flatMap(BackupReader.open(file), (reader) => Load.restore(reader, progress)))
    if (place._tag === "Server") {
      yield* Effect.provide(
        Effect.andThen(Load.requireEmpty("WINDHOVER_DATABASE_URL"), load),
        Source.layerServer(place.url)
      )
    } else yield* intoDirectory(place.dataDir, load, Effect.void)
    return header
  }
)

/** Name of the cluster in a data directory, and of one that is not complete yet. */
const clusterName = "database"
const draftName = "database.loading"

/** Locks a data directory without a database until the scope closes, and returns its path. */
const openEmpty = Effect.fn("Restore.openEmpty")(
  function*(dataDir: string): Effect.fn.Return<string, BackupError | DatabaseError, Scope.Scope> {
    const cluster = yield* DataDirectory.open(dataDir)
    if (!fs.existsSync(cluster)) return path.dirname(cluster)
    return yield* backupError(
      "NotEmpty",
      `${
        path.dirname(cluster)
      } holds a database already, and nothing was changed. Set WINDHOVER_DATA_DIR to another directory, or move ${cluster} away.`
    )
  }
)

/**
 * Runs `load` on a new cluster without a schema, then `prepare`. The cluster takes its place in the data directory only after both have
 * succeeded, and a failure leaves no cluster.
 */
export const intoDirectory = Effect.fn("Restore.intoDirectory")(
  function*<A, E, R, E2>(
    dataDir: string,
    load: Effect.Effect<A, E, R | SqlClient.SqlClient>,
    prepare: Effect.Effect<void, E2>
  ) {
    const directory = yield* openEmpty(dataDir)
    const draft = path.join(directory, draftName)
    const remove = Effect.sync(() => fs.rmSync(draft, { recursive: true, force: true }))
    yield* Effect.acquireRelease(remove, () => remove)
    const result = yield* Effect.provide(
      clearSchema.pipe(Effect.andThen(load), Effect.tap(finish)),
      Source.layerCluster(draft)
    )
    yield* prepare
    const cluster = path.join(directory, clusterName)
    yield* Effect.try({ try: () => publish(draft, cluster), catch: (cause) => explainFile(cluster, cause) })
    return result
  }
)

/** The template of new clusters has the present schema, and a backup can have an older one. */
const clearSchema = SqlClient.SqlClient.use((sql) =>
  Effect.andThen(sql`drop schema public cascade`, sql`create schema public`)
).pipe(Effect.mapError(Load.explainTarget))

/** Writes all pages to the disk. */
const finish = SqlClient.SqlClient.use((sql) => sql`checkpoint`).pipe(Effect.mapError(Load.explainTarget))

/** Gives a complete cluster its name, for good. A cluster whose new name may not last gets its old name back. */
const publish = (draft: string, cluster: string): void => {
  fs.renameSync(draft, cluster)
  try {
    syncDirectory(path.dirname(cluster))
  } catch (error) {
    fs.renameSync(cluster, draft)
    throw error
  }
}
