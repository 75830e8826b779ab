import { describe, layer } from "@effect/vitest"
import { Layer } from "effect"
import { storesSuite } from "#test/suites/Stores.ts"
import { engines } from "#test/support/Databases.ts"
import { storesSql } from "#test/support/StoresSql.ts"

for (const engine of engines) {
  describe.skipIf(!engine.available)(`stores over SQL, ${engine.name}`, () => {
    layer(Layer.provide(storesSql, engine.layer), { excludeTestServices: true })(storesSuite)
  })
}
