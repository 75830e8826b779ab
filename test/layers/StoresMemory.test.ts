import { layer } from "@effect/vitest"
import * as StoresMemory from "#layers/StoresMemory.ts"
import { entryStoreSuite } from "#test/suites/EntryStore.ts"
import { outboxSuite } from "#test/suites/Outbox.ts"
import { resourceStoreSuite } from "#test/suites/ResourceStore.ts"

// The suites run on real time for all implementations; that this one follows `TestClock`, its users' tests show.
layer(StoresMemory.layer, { excludeTestServices: true })("StoresMemory", (it) => {
  resourceStoreSuite(it)
  entryStoreSuite(it)
  outboxSuite(it)
})
