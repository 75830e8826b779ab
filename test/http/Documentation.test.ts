import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeApi } from "#test/support/Api.ts"

describe("Documentation", () => {
  for (const [url, type, maxBytes] of [["/openapi.json", "application/json", 20_000]] as const) {
    it.effect(`${url} is compressed, and revalidated by its ETag`, () =>
      Effect.gen(function*() {
        const api = yield* makeApi({})
        const plain = yield* api(url)
        const compressed = yield* api(url, { headers: { "accept-encoding": "br;q=0, GZIP" } })
        assert.isTrue(plain.headers.get("content-type")?.startsWith(type))
        assert.deepStrictEqual(
          [plain, compressed].map(({ headers }) => headers.get("content-encoding")),
          [null, "gzip"]
        )
        assert.isBelow(Number(compressed.headers.get("content-length")), maxBytes)
        assert.isAbove(Number(plain.headers.get("content-length")), maxBytes)
        const tags = [plain, compressed].map(({ headers }) => headers.get("etag") ?? "")
        assert.notStrictEqual(tags[0], tags[1])
        for (const [i, encoding] of ["identity", "gzip"].entries()) {
          const again = yield* api(url, { headers: { "accept-encoding": encoding, "if-none-match": tags[i] ?? "" } })
          assert.deepStrictEqual([again.status, again.body], [304, ""])
          assert.strictEqual(again.headers.get("cache-control"), "public, no-cache")
          assert.strictEqual(again.headers.get("vary"), "Accept-Encoding")
        }
      }))
  }
})
