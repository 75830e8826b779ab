import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type Inspection, Inspector } from "#actors/operations/Inspector.ts"
import { assertDescribed, makeManagementApi, management } from "#test/support/Api.ts"

describe("GET /api/inspect", () => {
  it.effect("shows a page with its feeds, its places and the selected text", () =>
    Effect.gen(function*() {
      const seen: Array<object> = []
      const inspection: Inspection = {
        url: "https://a.example/",
        finalUrl: "https://a.example/",
        code: 200,
        contentType: "text/html",
        bytes: 10,
        kind: "html",
        feeds: [
          { url: "https://a.example/feed", title: "A", entries: 1, newest: { title: "new", published: 1_000 } },
          { url: "https://a.example/odd", newest: { title: "odd", published: 1e300 } },
          { url: "https://a.example/gone", problem: "Gone." }
        ],
        outline: { lines: [{ depth: 1, label: "p", text: "Text", path: "p", isSelected: true }], isCut: false },
        selected: { matches: 1, contentType: "text/html", text: "Text", isCut: false },
        body: "<p>Text",
        isBodyCut: false
      }
      const api = yield* makeManagementApi(Layer.merge(
        management,
        Layer.mock(Inspector, {
          inspect: ({ caller: _, ...request }) => Effect.sync(() => (seen.push(request), inspection))
        })
      ))
      const answer = yield* api("GET", "/api/inspect", { url: "https://a.example/", path: "p" })
      assertDescribed("/api/inspect", answer)
      assert.deepStrictEqual(answer.json.feeds, [
        {
          url: "https://a.example/feed",
          title: "A",
          entries: 1,
          newest: { title: "new", published: "1970-01-01T00:00:01.000Z" }
        },
        { url: "https://a.example/odd", newest: { title: "odd" } },
        { url: "https://a.example/gone", problem: "Gone." }
      ])
      assert.deepStrictEqual(answer.json.outline, inspection.outline)
      assert.deepStrictEqual(seen, [{ url: "https://a.example/", path: "p" }])
      assert.strictEqual((yield* api("GET", "/api/inspect", {})).status, 422)
      assert.strictEqual((yield* api("GET", "/api/inspect", { url: "https://a.example/" }, "list")).status, 403)
    }))
})
