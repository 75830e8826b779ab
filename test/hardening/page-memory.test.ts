import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { withContentRoom } from "#actors/limits/MemoryRoom.ts"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import { ContentRoom } from "#domain/ports/ContentRoom.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { engines } from "#test/support/Databases.ts"
import { entry, newSubscription, record, unchanged } from "#test/support/StoreFixture.ts"
import { storesSql } from "#test/support/StoresSql.ts"

const mebibyte = 1024 * 1024

const page = (resourceId: number, count: number) =>
  EntryStore.use((store) => store.page({ resourceIds: [resourceId], count }))

for (const engine of engines) {
  describe.skipIf(!engine.available)(`memory of stored pages, ${engine.name}`, () => {
    layer(Layer.provideMerge(storesSql, engine.layer), { excludeTestServices: true })((it) => {
      it.effect("a page above 1 MiB gets its room before it is read, and a smaller one asks for none", () =>
        Effect.gen(function*() {
          const { resource } = yield* newSubscription()
          const title = { type: "text" as const, value: "x".repeat(mebibyte) }
          yield* record({ ...unchanged(resource), entries: [entry("a", { title }), entry("b", { title }), entry("c")] })
          const asked: Array<number> = []
          const reading = page(resource.id, 10).pipe(
            Effect.provideService(ContentRoom, (bytes) => Effect.sync(() => void asked.push(bytes)))
          )
          const found = yield* reading
          assert.deepStrictEqual(found._tag === "Page" ? found.entries.map(({ entry }) => entry.id) : [], [
            "c",
            "b",
            "a"
          ])
          assert.deepStrictEqual(asked.map((bytes) => Math.floor(bytes / mebibyte)), [2])
          const small = yield* page(resource.id, 1).pipe(Effect.provideService(ContentRoom, () => Effect.die("asked")))
          assert.strictEqual(small._tag === "Page" ? small.entries.length : 0, 1)
        }))

      it.effect(
        "without room for three copies a large page is refused, and its bytes come back",
        () =>
          Effect.gen(function*() {
            const { resource } = yield* newSubscription()
            const title = { type: "text" as const, value: "x".repeat(2 * mebibyte) }
            yield* record({ ...unchanged(resource), entries: [entry("a", { title })] })
            const budget = new MemoryBudget({ maxBytes: 8 * mebibyte })
            const holders = [budget.reserve("held"), budget.reserve("exempt")]
            for (const holder of holders) holder.grow(5 * mebibyte, () => {})
            const read = withContentRoom(budget, "account 1", page(resource.id, 1))
            const { reason } = yield* Effect.flip(read)
            assert.strictEqual(reason._tag, "NoRoom")
            for (const holder of holders) holder.release()
            assert.strictEqual((yield* read)._tag, "Page")
            assert.strictEqual(budget.bytes, 0)
            assert.isTrue(Option.isNone(yield* EntryStore.use((store) => store.document(resource.id))))
          }),
        20_000
      )
    })
  })
}
