import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Option } from "effect"
import { AccountPrecedence } from "#domain/limits/AccountPrecedence.ts"
import { Precedence } from "#domain/ports/Precedence.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { engines } from "#test/support/Databases.ts"
import { entry, newSubscription, record, subscribe, unchanged, wantedBy } from "#test/support/StoreFixture.ts"
import { storesSql } from "#test/support/StoresSql.ts"

const precedence = new AccountPrecedence()
const stores = storesSql.pipe(Layer.provide(Layer.succeed(Precedence, precedence)))

/** Entries of more than a statement, so that they are written in pieces. */
const largeEntries = Array.from(
  { length: 10 },
  (_, n) => entry(`${n}`, { title: { type: "text", value: `${n}`.repeat(500_000) } })
)

for (const engine of engines) {
  describe.skipIf(!engine.available)(`statements of strangers, ${engine.name}`, () => {
    layer(Layer.provideMerge(stores, engine.layer), { excludeTestServices: true })((it) => {
      it.effect("wait for accounts, and accounts do not wait for strangers", () =>
        Effect.gen(function*() {
          const { resource: own } = yield* newSubscription()
          const { resource } = yield* subscribe(wantedBy(0, { face: "hub" }))
          const strangers = Option.getOrThrow(yield* ResourceStore.use((store) => store.load(resource.id)))
          precedence.begin()
          const waiting = yield* Effect.forkChild(record({ ...unchanged(strangers), entries: largeEntries }), {
            startImmediately: true
          })
          yield* record({ ...unchanged(own), entries: [entry("1")] })
          assert.isUndefined(waiting.pollUnsafe())
          precedence.end()
          assert.deepStrictEqual(yield* Fiber.join(waiting), [])
        }))

      it.effect("go on while accounts never rest", () =>
        Effect.gen(function*() {
          const { resource } = yield* subscribe(wantedBy(0, { face: "hub" }))
          const strangers = Option.getOrThrow(yield* ResourceStore.use((store) => store.load(resource.id)))
          yield* precedence.withPrecedence(record({ ...unchanged(strangers), entries: [entry("1")] }))
        }))
    })
  })
}
