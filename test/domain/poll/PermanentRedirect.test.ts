import { assert, describe, it } from "@effect/vitest"
import { nextRedirect, type PermanentRedirect, type RedirectObservation } from "#domain/poll/PermanentRedirect.ts"

const DAY = 86_400_000
const topic = "http://old.example/feed"
const to = "http://new.example/feed"

const after = (known: PermanentRedirect | undefined, witness: Partial<RedirectObservation>) =>
  nextRedirect(known, { topic, requestedUrl: topic, permanentUrl: to, outcome: "success", now: 4 * DAY, ...witness })

const settled: PermanentRedirect = { to, since: DAY, settled: true }

describe("a topic that has moved", () => {
  it("is believed to have after three days of permanent redirects to the same place", () => {
    const first = after(undefined, { now: DAY })
    assert.deepStrictEqual(first, { to, since: DAY })
    assert.strictEqual(after(first, { now: 4 * DAY - 1 }), first)
    assert.deepStrictEqual(after(first, { now: 4 * DAY }), settled)
    assert.strictEqual(after(settled, {}), settled)
    assert.strictEqual(after(settled, { requestedUrl: to, permanentUrl: undefined }), settled)
  })

  it("begins again with another place, and is forgotten when one fetch is not redirected", () => {
    for (const known of [{ to, since: DAY }, settled]) {
      assert.deepStrictEqual(after(known, { permanentUrl: "http://third.example/" }), {
        to: "http://third.example/",
        since: 4 * DAY
      })
      assert.isUndefined(after(known, { permanentUrl: undefined }))
    }
  })

  it("is asked itself again when the new place fails, but not when that is only overloaded", () => {
    assert.isUndefined(after(settled, { requestedUrl: to, permanentUrl: undefined, outcome: "failure" }))
    assert.strictEqual(after(settled, { requestedUrl: to, permanentUrl: undefined, outcome: "overload" }), settled)
    const silent = after(settled, { permanentUrl: undefined, outcome: "failure" })
    assert.deepStrictEqual(silent, { ...settled, topicFailedAt: 4 * DAY })
  })

  it("has not moved to itself, to http from https, or beyond the length of a topic", () => {
    assert.isUndefined(after(undefined, { permanentUrl: topic }))
    assert.isUndefined(after(undefined, { topic: "https://old.example/feed" }))
    assert.isUndefined(after(undefined, { permanentUrl: `http://new.example/${"a".repeat(2048)}` }))
    assert.isDefined(after(undefined, { permanentUrl: "https://old.example/feed" }))
  })
})
