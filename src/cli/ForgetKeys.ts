import { countOf } from "#domain/Count.ts"
import { Console, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import * as Database from "#layers/postgres/Database.ts"
import { forget } from "#layers/sql/EncryptionKeys.ts"
import * as Settings from "#layers/Settings.ts"

/** `windhover forget-keys`: lets the service start after the loss of its encryption key. */
export const forgetKeys = Command.make(
  "forget-keys",
  {},
  Effect.fnUntraced(function*() {
    const count = yield* forget
    yield* Console.log(
      count === 0
        ? "The database knows no encryption key."
        : `The database has forgotten ${countOf(count, "encryption key")}. `
          + "The next start takes any key. Subscriptions with older secrets fail until they are made again."
    )
  })
).pipe(
  Command.withDescription(
    "Forget a lost encryption key. Subscriptions with secrets then fail until they are made again"
  ),
  Command.provide(Database.layerExisting.pipe(Layer.provide(Settings.layer)))
)
