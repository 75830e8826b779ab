import { describe, layer } from "@effect/vitest"
import { Layer } from "effect"
import * as AccountStoreSql from "#layers/AccountStoreSql.ts"
import * as EntryStoreSql from "#layers/EntryStoreSql.ts"
import * as OutboxSql from "#layers/OutboxSql.ts"
import * as Passwords from "#layers/Passwords.ts"
import * as ResourceStoreSql from "#layers/ResourceStoreSql.ts"
import * as StoresMemory from "#layers/StoresMemory.ts"
import * as SubscriptionStoreSql from "#layers/SubscriptionStoreSql.ts"
import { entryStoreSuite } from "#test/suites/EntryStore.ts"
import { outboxSuite } from "#test/suites/Outbox.ts"
import { resourceStoreSuite } from "#test/suites/ResourceStore.ts"
import { suite } from "#test/suites/Stores.ts"
import { engines } from "#test/support/Databases.ts"

const stores = Layer.mergeAll(
  ResourceStoreSql.layer,
  EntryStoreSql.layer,
  SubscriptionStoreSql.layer,
  OutboxSql.layer,
  AccountStoreSql.layerWith(Passwords.cheap)
)

suite("stores in memory", StoresMemory.layer)

for (const engine of engines) {
  describe.skipIf(!engine.available)(`stores over SQL, ${engine.name}`, () => {
    suite(engine.name, stores.pipe(Layer.provide(engine.layer)))
    layer(stores.pipe(Layer.provide(engine.layer)), { timeout: "60 seconds", excludeTestServices: true })(
      engine.name,
      (it) => {
        resourceStoreSuite(it)
        entryStoreSuite(it)
        outboxSuite(it)
      }
    )
  })
}
