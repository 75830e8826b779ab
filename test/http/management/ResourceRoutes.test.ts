import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ResourceReports } from "#actors/operations/ResourceReports.ts"
import { accounts, basic, makeApi, management, writes } from "#test/support/Api.ts"

describe("GET /api/entries", () => {
  it.effect("accepts its own cursor behind an entry with a long id", () =>
    Effect.gen(function*() {
      const id = `tag:a.example,2026:${"x".repeat(2_000)}`
      const seen: Array<string | undefined> = []
      const reports = Layer.mock(ResourceReports, {
        entries: ({ before }) =>
          Effect.sync(() => (seen.push(before), [{ resourceId: 1, entry: { id }, firstSeen: 0 }]))
      })
      const api = yield* makeApi({}, accounts, {}, writes, Layer.merge(management, reports))
      const first = yield* api("/api/entries?resource=1&limit=1", { headers: basic() })
      const { next } = JSON.parse(first.body)
      const second = yield* api(`/api/entries?resource=1&limit=1&cursor=${next}`, { headers: basic() })
      assert.deepStrictEqual([second.status, seen], [200, [undefined, id]])
    }))
})
