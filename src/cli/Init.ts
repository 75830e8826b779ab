import { Console, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { Settings } from "#domain/ports/Settings.ts"
import * as Database from "#layers/postgres/Database.ts"
import * as SettingsLayer from "#layers/Settings.ts"
import * as AccountStoreSql from "#layers/sql/AccountStoreSql.ts"
import * as FirstAccount from "./FirstAccount.ts"

/** `windhover init`: creates the database and the first account without a start of the service. */
export const init = Command.make(
  "init",
  {},
  Effect.fnUntraced(function*() {
    const { databaseUrl, dataDir } = yield* Settings
    const isCreated = yield* FirstAccount.create
    const place = databaseUrl === undefined ? `in ${dataDir}` : "at WINDHOVER_DATABASE_URL"
    yield* Console.log(
      isCreated ? `The database ${place} is ready.` : `The database ${place} is ready, and has accounts already.`
    )
  })
).pipe(
  Command.withDescription(
    "Create the database and the first account. The service also creates them at its first start"
  ),
  Command.provide(
    AccountStoreSql.layer.pipe(Layer.provide(Database.layer), Layer.provideMerge(SettingsLayer.layer))
  )
)
