import { Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Redelivery } from "#domain/ports/Redelivery.ts"
import { selectUndelivered } from "./UndeliveredRows.ts"

export const layer = Layer.effect(
  Redelivery,
  SqlClient.SqlClient.useSync((sql) => Redelivery.of({ undelivered: selectUndelivered(sql) }))
)
