import { Effect, Layer, type Path } from "effect"
import type { SocketError } from "effect/socket/Socket"
import { Settings } from "#domain/ports/Settings.ts"
import * as Database from "#layers/postgres/Database.ts"
import type { DatabaseError } from "#layers/postgres/DatabaseError.ts"
import * as SettingsLayer from "#layers/Settings.ts"
import * as AccountStoreSql from "#layers/sql/AccountStoreSql.ts"
import * as DeliveryLogSql from "#layers/sql/DeliveryLogSql.ts"
import * as HubSubscriptionStoreSql from "#layers/sql/HubSubscriptionStoreSql.ts"
import { make as makeSecretBox, SecretBox } from "#layers/sql/SecretBox.ts"
import * as PingsSql from "#layers/sql/PingsSql.ts"
import type { Administration } from "./Administration.ts"
import * as AdministrationLayer from "./AdministrationLayer.ts"
import * as AdministrationSocket from "./AdministrationSocket.ts"

/** Opens the database in this process. */
const layerDatabase = AdministrationLayer.layer.pipe(
  Layer.provide([AccountStoreSql.layer, DeliveryLogSql.layer, PingsSql.layer, HubSubscriptionStoreSql.layer]),
  Layer.provide(Layer.succeed(SecretBox, makeSecretBox([]))), // administration reads and writes no secrets
  Layer.provide(Database.layerExisting)
)

/** Uses the running service if the embedded database belongs to one; opens the database otherwise. */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const { databaseUrl, dataDir } = yield* Settings
  const isServed = databaseUrl === undefined && (yield* AdministrationSocket.isServed(dataDir))
  const access: Layer.Layer<Administration, DatabaseError | SocketError, Path.Path | Settings> = isServed
    ? AdministrationSocket.layer(dataDir)
    : layerDatabase
  return access
})).pipe(Layer.provide(SettingsLayer.layer))
