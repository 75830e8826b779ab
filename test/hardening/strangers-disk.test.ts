import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { DiskRoom } from "#domain/ports/DiskRoom.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import * as Settings from "#layers/Settings.ts"
import * as StrangersDiskSql from "#layers/sql/StrangersDiskSql.ts"
import { engines } from "#test/support/Databases.ts"
import { entry, newSubscription, record, subscribe, unchanged, wantedBy } from "#test/support/StoreFixture.ts"
import { storesSql } from "#test/support/StoresSql.ts"

const megabyte = 1024 * 1024

/** A budget of two MiB, counted 20 times a second. */
const room = StrangersDiskSql.layerWith({ interval: "50 millis", minAgeMs: 0 }).pipe(
  Layer.provide(Settings.layerValues({ strangersMegabytes: 2 }))
)

const hasRoom = DiskRoom.useSync(({ forStrangers }) => forStrangers())

const until = (expected: boolean): Effect.Effect<void> =>
  Effect.flatMap(
    hasRoom,
    (actual) => actual === expected ? Effect.void : Effect.andThen(Effect.sleep(20), until(expected))
  )

/** The resource of a new subscription of the hub face, as its owner loads it. */
const newStrangers = Effect.gen(function*() {
  const { resource } = yield* subscribe(wantedBy(0, { face: "hub" }))
  return Option.getOrThrow(yield* ResourceStore.use((store) => store.load(resource.id)))
})

const store = (resource: ResourceState, id: string) =>
  record({
    ...unchanged(resource),
    entries: [entry(id, { title: { type: "text", value: "x".repeat(megabyte) } })]
  })

for (const engine of engines) {
  describe.skipIf(!engine.available)(`disk of strangers, ${engine.name}`, () => {
    layer(Layer.provideMerge(Layer.provideMerge(storesSql, room), engine.layer), { excludeTestServices: true })(
      (it) => {
        it.effect("has one budget, which accounts do not use, and which survives a restart", () =>
          Effect.gen(function*() {
            const { resource: own } = yield* newSubscription()
            for (const id of ["1", "2", "3"]) yield* store(own, id)
            const [first, second] = [yield* newStrangers, yield* newStrangers]
            yield* store(first, "1")
            assert.isTrue(yield* hasRoom)
            yield* store(second, "1")
            assert.isFalse(yield* hasRoom)
            yield* Effect.sleep(300)
            yield* until(false).pipe(Effect.provide(Layer.fresh(room)))
            assert.isFalse(yield* hasRoom)

            const sql = yield* SqlClient.SqlClient
            yield* sql`delete from entries where resource_id = ${BigInt(first.id)}`
            yield* until(true)
            const [row] = yield* sql<{ bytes: number }>`select sum(bytes)::float8 as bytes from strangers_bytes`
            assert.closeTo(row?.bytes ?? 0, megabyte, 1000)

            yield* subscribe(wantedBy(yield* accountOf, { topic: topicOf(second) }))
            yield* store(first, "2")
            yield* store(first, "3")
            yield* until(false)
          }))
      }
    )
  })
}

const accountOf = Effect.map(newSubscription(), ({ account }) => account.id)

const topicOf = ({ host, url }: ResourceState) => ({ given: url, canonical: url, host })
