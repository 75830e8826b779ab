import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { NotificationLog } from "#domain/ports/NotificationLog.ts"
import { type PollWrite, ResourceStore } from "#domain/ports/ResourceStore.ts"
import { entry, found, newSubscription, record, type Stores, unchanged } from "#test/support/StoreFixture.ts"

/** What every `NotificationLog` keeps of its promises. */
export const notificationLogSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("NotificationLog", () => {
    reading(it)
    numbering(it)
  })
}

const after = (resourceId: number, sequence: number, limit = 100) =>
  NotificationLog.use((log) => log.readAfter(resourceId, sequence, limit))

const headOf = (resourceId: number) =>
  Effect.map(NotificationLog.use((log) => log.heads([resourceId])), ([head]) => head)

/** Each as `sequence:ids`. */
const told = (resourceId: number, sequence = 0, limit = 100) =>
  Effect.map(
    after(resourceId, sequence, limit),
    (all) =>
      all.map(({ notification: { news }, sequence }) =>
        `${sequence}:${news._tag === "Entries" ? news.entries.map(({ id }) => id).join() : news._tag}`
      )
  )

const reading = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("gives what was told behind a sequence, oldest first, up to the limit", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      for (const id of ["a", "b", "c"]) yield* record(found(resource, [entry(id)]))
      assert.deepStrictEqual(yield* told(resource.id), ["1:a", "2:b", "3:c"])
      assert.deepStrictEqual(yield* told(resource.id, 1), ["2:b", "3:c"])
      assert.deepStrictEqual(yield* told(resource.id, 0, 2), ["1:a", "2:b"])
      assert.deepStrictEqual(yield* told(resource.id, 3), [])
      assert.strictEqual(yield* headOf(resource.id), 3)
    }))

  it.effect("ends a read after four MiB, and says so", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const value = "x".repeat(1_500_000)
      for (const id of ["a", "b", "c", "d"]) {
        yield* record(found(resource, [entry(id, { summary: { value, type: "text" } })]))
      }
      const document = { contentType: "text/plain", body: new Uint8Array(5_000_000) }
      yield* record({ ...unchanged({ ...resource, signature: 2n }), announce: { _tag: "Document", document } })
      assert.deepStrictEqual(yield* told(resource.id), ["1:a", "2:b", "3:c"])
      assert.deepStrictEqual((yield* after(resource.id, 0)).map(({ isCut }) => isCut), [undefined, undefined, true])
      assert.deepStrictEqual(yield* told(resource.id, 3), ["4:d", "5:Document"])
      assert.deepStrictEqual((yield* after(resource.id, 4)).map(({ isCut }) => isCut), [true])
    }))

  it.effect("gives notifications as subscriptions get them, those of documents and failures too", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const document = { contentType: "application/json", body: Uint8Array.of(0, 255) }
      const header = { title: { value: "Feed \u0000", type: "text" } }
      const changes: ReadonlyArray<PollWrite> = [
        found({ ...resource, header }, [entry("a", { published: 9 }), entry("b"), entry("c")]),
        { ...unchanged({ ...resource, signature: 2n }), announce: { _tag: "Document", document } },
        { ...unchanged({ ...resource, inError: true, code: 500 }), announce: { _tag: "Failure" } }
      ]
      const deliveries = (yield* Effect.forEach(changes, record)).flat()
      assert.deepStrictEqual(
        yield* after(resource.id, 0),
        deliveries.map(({ notification }, i) => ({ sequence: i + 1, notification }))
      )
      assert.deepStrictEqual(yield* told(resource.id), ["1:c,b,a", "2:Document", "3:Failure"])
    }))

  it.effect("has nothing of a resource that nobody told of, nor of one that is not stored", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      yield* record(unchanged(resource))
      assert.deepStrictEqual(yield* NotificationLog.use((log) => log.heads([resource.id, 987_654_321])), [0, 0])
      assert.deepStrictEqual([yield* told(resource.id), yield* told(987_654_321)], [[], []])
    }))

  it.effect("answers many at once, each its own, and those who ask alike the same", () =>
    Effect.gen(function*() {
      const made = yield* Effect.forEach(Array.from({ length: 4 }), () => newSubscription())
      for (const { resource } of made) {
        for (const id of ["a", "b", "c"]) yield* record(found(resource, [entry(`${id}${resource.id}`)]))
      }
      const questions = made.flatMap(({ resource: { id } }) => [0, 1, 2, 3, 1].map((sequence) => ({ id, sequence })))
      const answers = yield* Effect.forEach(questions, ({ id, sequence }) => told(id, sequence), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        answers,
        questions.map(({ id, sequence }) => ["1:a", "2:b", "3:c"].slice(sequence).map((one) => `${one}${id}`))
      )
      const heads = yield* NotificationLog.use((log) => log.heads(made.map(({ resource }) => resource.id)))
      assert.deepStrictEqual(heads, [3, 3, 3, 3])
    }))
}

const numbering = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("counts what is told, not what is written", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const change = found(resource, [entry("a")])
      yield* record(change)
      yield* record(change)
      yield* record(unchanged(resource))
      yield* record(found(resource, [entry("b")]))
      assert.deepStrictEqual(yield* told(resource.id), ["1:a", "2:b"])
      assert.strictEqual(yield* headOf(resource.id), 2)
    }))

  it.effect("leaves no gap to a reader who follows while several write", () =>
    Effect.gen(function*() {
      const store = yield* ResourceStore
      const made = yield* Effect.forEach(Array.from({ length: 3 }), () => newSubscription())
      const count = 60
      const writer = yield* Effect.forkChild(Effect.forEach(
        Array.from({ length: count * made.length }, (_, i) => i),
        (i) => {
          const { resource } = made[i % made.length] ?? assert.fail()
          return Effect.delay(store.record(found(resource, [entry(`e${i}`)])), `${i % 40} millis`)
        },
        { concurrency: 20, discard: true }
      ))
      const seen = yield* Effect.forEach(made, ({ resource }) =>
        Effect.gen(function*() {
          const sequences: Array<number> = []
          const ids = new Set<string>()
          while (sequences.length < count) {
            for (const { notification: { news }, sequence } of yield* after(resource.id, sequences.length, 7)) {
              sequences.push(sequence)
              if (news._tag === "Entries") news.entries.forEach(({ id }) => ids.add(id))
            }
          }
          return { sequences, ids }
        }), { concurrency: "unbounded" })
      yield* Effect.asVoid(Effect.yieldNow)
      for (const { ids, sequences } of seen) {
        assert.deepStrictEqual(sequences, Array.from({ length: count }, (_, i) => i + 1))
        assert.strictEqual(ids.size, count)
      }
      writer.interruptUnsafe()
    }))
}
