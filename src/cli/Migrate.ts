import { Console, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import * as Database from "#layers/postgres/Database.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import * as Settings from "#layers/Settings.ts"

/** `windhover migrate`: what the service does at its start, alone. */
export const migrateAlone = Command.make(
  "migrate",
  {},
  Effect.fnUntraced(function*() {
    const done = yield* migrate
    yield* Console.log(done.length === 0 ? "The database is up to date." : `Done: ${done.join(", ")}`)
  })
).pipe(
  Command.withDescription("Bring the database to this version; the service does it at its start as well"),
  Command.provide(Database.layerUnmigrated.pipe(Layer.provide(Settings.layer)))
)
