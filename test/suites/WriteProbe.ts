import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { WriteProbe } from "#domain/ports/WriteProbe.ts"
import type { Stores } from "#test/support/StoreFixture.ts"

/** What every `Writing` keeps of its promises. */
export const writingSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("Writing", () => {
    it.effect("is tried by many at once, and again", () =>
      Effect.gen(function*() {
        const { attempt } = yield* WriteProbe
        const tried = yield* Effect.forEach([1, 2, 3], () => Effect.exit(attempt), { concurrency: 3 })
        assert.deepStrictEqual(tried.map(({ _tag }) => _tag), ["Success", "Success", "Success"])
        yield* attempt
      }))
  })
}
