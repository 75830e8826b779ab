import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { anonymous } from "#domain/Account.ts"
import { hashBytes } from "#domain/Fingerprint.ts"
import { readFeed } from "#domain/normalize/ReadFeed.ts"
import { recordReading } from "#domain/poll/PollDocument.ts"
import type { PollContext } from "#domain/poll/PollStep.ts"
import { resourceProfileOf } from "#domain/poll/Resource.ts"
import { renderDetailedList } from "#http/api/ListResponse.ts"
import { initialState } from "#test/support/Resources.ts"

const at: PollContext = { now: 1_000_000, trigger: "ring", jitter: 0, minPeriod: 60, maxPeriod: 900 }

/** The resource of a feed whose title has so many characters. */
const resourceWithTitle = (length: number) => {
  const text = `<rss version="2.0"><channel><title>${"\u00e9".repeat(length)}</title>`
    + "<link>https://site.example/</link><item><guid>a</guid><title>t</title></item></channel></rss>"
  const body = new TextEncoder().encode(text)
  const answer = { status: 200, headers: {}, body, signature: hashBytes(body), finalUrl: "http://feeds.example/" }
  const step = recordReading(initialState(), answer, readFeed(body), at)
  return step._tag === "Changed" ? step.change.state : assert.fail(step._tag)
}

/** The header of a feed is stored, listed for each subscription, and sent with each notification. */
describe("large fields", () => {
  it("a title of 3.5 million characters is stored in 64 KiB, and the link stays", () => {
    const { header } = resourceWithTitle(3_500_000)
    assert.isAtMost(Buffer.byteLength(JSON.stringify(header)), 65_536)
    assert.deepStrictEqual(header?.links?.map(({ href }) => href), ["https://site.example/"])
    assert.match(header?.title?.value ?? "", /^\u00e9{2000,}$/)
  })

  it.effect("a list of 500 subscriptions to the longest title has at most 16 MiB", () =>
    Effect.gen(function*() {
      const resource = resourceProfileOf(resourceWithTitle(32_000))
      assert.isAbove(resource.header?.title?.value.length ?? 0, 30_000)
      const subscription = {
        id: 1,
        accountId: 1,
        resourceId: resource.id,
        topic: "https://feeds.example/",
        channel: "webhook" as const,
        endpoint: "https://callback.example/",
        host: "callback.example",
        face: "api" as const,
        state: "active" as const,
        createdAt: 0
      }
      const items = Array.from({ length: 500 }, () => ({ subscription, resource }))
      const meta = { total: 500, page: 1, byPage: 500, search: {} }
      const response = renderDetailedList(
        items,
        meta,
        { ifNoneMatch: undefined, jsonp: undefined, caller: anonymous } as never
      )
      const { length } = new Uint8Array(yield* Effect.promise(() => HttpServerResponse.toWeb(response).arrayBuffer()))
      assert.isAbove(length, 500 * 4_096)
      assert.isAtMost(length, 16 * 1024 * 1024)
    }))
})
