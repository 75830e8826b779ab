import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import zlib from "node:zlib"
import { failureOf, fetch, live } from "#test/support/Fetching.ts"
import { serve } from "#test/support/Servers.ts"

const zeros = Buffer.alloc(64 * 1024 * 1024)
const quick = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }

/** Each expands to 64 MiB; the maximum is 32 MiB. */
const bombs: Readonly<Record<string, Buffer>> = {
  "gzip": zlib.gzipSync(zeros),
  "deflate": zlib.deflateSync(zeros),
  "br": zlib.brotliCompressSync(zeros, quick),
  "zstd": zlib.zstdCompressSync(zeros),
  "gzip, gzip": zlib.gzipSync(zlib.gzipSync(zeros)),
  "gzip, br, zstd": zlib.zstdCompressSync(zlib.brotliCompressSync(zlib.gzipSync(zeros)))
}

/** Small responses that expand to very large ones. */
describe("decompression bombs", () => {
  for (const [encoding, bomb] of Object.entries(bombs)) {
    live(`${encoding}: ${bomb.length} bytes for 64 MiB`, () =>
      Effect.gen(function*() {
        const origin = yield* serve((_, response) => response.setHeader("Content-Encoding", encoding).end(bomb))
        assert.strictEqual(
          yield* failureOf(origin.url),
          "TooLarge: 127.0.0.1: larger than 33554432 bytes after decompression"
        )
      }))
  }

  live(
    "strangers' documents have 8 MiB, compressed or not, and accounts' documents more",
    () =>
      Effect.gen(function*() {
        const most = Buffer.alloc(8 * 1024 * 1024)
        const more = Buffer.alloc(most.length + 1)
        const origin = yield* serve(({ path }, response) => {
          const body = path.includes("most") ? most : more
          if (!path.includes("gzip")) return response.end(body)
          response.setHeader("Content-Encoding", "gzip").end(zlib.gzipSync(body))
        })
        const ofStrangers = (path: string) => ({ url: `${origin.url}/${path}`, strangersOnly: true })
        for (const path of ["most", "most/gzip"]) {
          assert.strictEqual((yield* fetch(ofStrangers(path))).body.length, most.length)
        }
        assert.deepStrictEqual(yield* Effect.forEach(["more", "more/gzip"], (path) => failureOf(ofStrangers(path))), [
          "TooLarge: 127.0.0.1: larger than 8388608 bytes",
          "TooLarge: 127.0.0.1: larger than 8388608 bytes after decompression"
        ])
        assert.strictEqual((yield* fetch(`${origin.url}/more/gzip`)).body.length, more.length)
      })
  )

  live("gzip without a header", () =>
    Effect.gen(function*() {
      const origin = yield* serve((_, response) => response.setHeader("Content-Type", "text/xml").end(bombs["gzip"]))
      assert.match(yield* failureOf(origin.url), /^TooLarge: /)
    }))

  live("a hundred layers", () =>
    Effect.gen(function*() {
      let nested = Buffer.from("<rss/>")
      for (let layer = 0; layer < 100; layer++) nested = zlib.gzipSync(nested)
      const origin = yield* serve(({ path }, response) => {
        response.setHeader("Content-Encoding", path === "/named" ? Array.from({ length: 100 }, () => "gzip") : "gzip")
        response.setHeader("Content-Type", "text/xml").end(nested)
      })
      assert.match(yield* failureOf(`${origin.url}/named`), /^Encoding: 127\.0\.0\.1: compressed 100 times; at most 3/)
      const unnamed = yield* fetch(origin.url)
      assert.strictEqual(unnamed.body[0], 0x1f, "three layers are removed, the rest is the document")
    }))

  live("other fetches continue while a bomb expands", () =>
    Effect.gen(function*() {
      const origin = yield* serve(({ path }, response) => {
        if (path === "/bomb") response.setHeader("Content-Encoding", "gzip").end(bombs["gzip"])
        else response.end("x")
      })
      let served = 0
      const other = Effect.forever(Effect.map(fetch(origin.url), () => served++))
      yield* Effect.raceFirst(failureOf(`${origin.url}/bomb`), other)
      assert.isAtLeast(served, 3)
    }))
})
