import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Deliverer } from "#domain/ports/Deliverer.ts"
import { live } from "#test/support/Fetching.ts"
import { serve } from "#test/support/Servers.ts"

const post = (callback: string) =>
  Deliverer.use((deliverer) =>
    deliverer.post({ id: "1-1", callback, contentType: "text/plain", body: Buffer.from("x"), headers: [] })
  )

/** Characters that a terminal or a log obeys. */
const controls = /[\p{Cc}\u202a-\u202e\u2066-\u2069\u2028\u2029]/u

/** Answers of receivers that reach the delivery log. */
describe("the answer of a callback in the delivery log", () => {
  live(
    "has no control characters: ANSI sequences, bidirectional overrides and forged lines",
    () =>
      Effect.gen(function*() {
        const answer = "\u001b[2J\u001b]0;pwned\u0007\u009b31m\u202eevil\u2066\r\n2026-01-01 delivered\u2028\u0000"
        const callback = yield* serve((_, response) => response.writeHead(500).end(answer))
        const { excerpt } = yield* post(callback.url)
        assert.include(excerpt, "evil")
        assert.notMatch(excerpt, controls)
      })
  )

  live("has at most 1,024 bytes of 10 MB, and no half of a character", () =>
    Effect.gen(function*() {
      const callback = yield* serve((_, response) => response.writeHead(500).end(Buffer.alloc(10_000_000, "\u20ac")))
      const { excerpt } = yield* post(callback.url)
      assert.strictEqual(excerpt, "\u20ac".repeat(341))
      yield* callback.quiet
    }))

  live("keeps HTML as text", () =>
    Effect.gen(function*() {
      const html = "<html>\n<script>alert(1)</script>\t</html>"
      const callback = yield* serve((_, response) => response.writeHead(502).end(html))
      assert.strictEqual((yield* post(callback.url)).excerpt, "<html> <script>alert(1)</script> </html>")
    }))
})
