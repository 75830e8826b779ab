import { layer } from "@effect/vitest"
import * as MemoryStores from "./MemoryStores.ts"
import { storesSuite } from "#test/suites/Stores.ts"

// The suites run on real time for all implementations; that this one follows `TestClock`, its users' tests show.
layer(MemoryStores.layer, { excludeTestServices: true })("stores in memory", storesSuite)
