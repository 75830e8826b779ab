import { Console, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import * as Database from "#layers/postgres/Database.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import * as Settings from "#layers/Settings.ts"

/** `windhover migrate`: migrates the database without a start of the service. */
export const migrateDatabase = Command.make(
  "migrate",
  {},
  Effect.fnUntraced(function*() {
    const applied = yield* migrate
    yield* Console.log(applied.length === 0 ? "The database is up to date." : `Done: ${applied.join(", ")}`)
  })
).pipe(
  Command.withDescription("Migrate the database to this version. The service also migrates it at each start"),
  Command.provide(Database.layerUnmigrated.pipe(Layer.provide(Settings.layer)))
)
