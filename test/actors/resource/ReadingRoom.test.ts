import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { FifoSemaphore } from "#actors/limits/FifoSemaphore.ts"
import { inReadingRoom } from "#actors/resource/ReadingRoom.ts"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import { AccountPrecedence } from "#domain/limits/AccountPrecedence.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"

const [small, large] = [1000, 600_000]

/** Starts readings that do not end, and returns the names of those that have begun. */
const makeRoom = () => {
  const room = {
    precedence: new AccountPrecedence(),
    readingMemory: new MemoryBudget(),
    strangersDocuments: new FifoSemaphore(1)
  }
  const begun: Array<string> = []
  const read = (name: string, bytes: number, strangersOnly: boolean) =>
    Effect.gen(function*() {
      const end = yield* Deferred.make<void>()
      const resource = {
        id: 1,
        url: `http://${name}.example/`,
        host: `${name}.example`,
        ...(strangersOnly && { strangersOnly })
      }
      const reading = Effect.andThen(Effect.sync(() => begun.push(name)), Deferred.await(end))
      const fetched = { body: new Uint8Array(bytes) }
      yield* Effect.forkChild(
        inReadingRoom(room, resource as ResourceState, fetched as Fetched, false, reading),
        { startImmediately: true }
      )
      return { end: Deferred.succeed(end, undefined) }
    })
  return { begun, read }
}

describe("the room of large documents", () => {
  it.effect("has one document of strangers at a time, beside small ones and those of accounts", () =>
    Effect.gen(function*() {
      const { begun, read } = makeRoom()
      const { end: endFirst } = yield* read("first", large, true)
      yield* read("second", large, true)
      yield* read("small", small, true)
      yield* read("account", large, false)
      assert.deepStrictEqual(begun, ["first", "small", "account"])
      yield* endFirst
      yield* Effect.yieldNow
      assert.deepStrictEqual(begun, ["first", "small", "account", "second"])
    }))

  it.effect("goes to the next document when the reading is interrupted", () =>
    Effect.gen(function*() {
      const { begun, read } = makeRoom()
      const first = yield* Effect.forkChild(Effect.andThen(read("first", large, true), Effect.never), {
        startImmediately: true
      })
      yield* read("second", large, true)
      yield* Fiber.interrupt(first)
      yield* Effect.yieldNow
      assert.deepStrictEqual(begun, ["first", "second"])
    }))
})
