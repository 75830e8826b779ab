import { assert, describe, it } from "@effect/vitest"
import { resourceEvents } from "#domain/poll/ResourceEvents.ts"
import { initialState } from "#test/support/Resources.ts"

const good = initialState({ id: 7, url: "https://a.example/feed", code: 200, http: "Fetched (ring) 200 60" })
const broken = { ...good, inError: true, failures: 2, code: 503, http: "Fetched (ring) 503 60" }
const gone = { ...broken, code: 410, http: "Fetched (ring) 410 60" }
const named = { resourceId: 7, topic: "https://a.example/feed" }

describe("resourceEvents", () => {
  it("reports the begin and the end of the error state, and nothing in between", () => {
    assert.deepStrictEqual(resourceEvents(good, broken), [
      { type: "resource.failing", ...named, code: 503, message: "Fetched (ring) 503 60" }
    ])
    assert.deepStrictEqual(resourceEvents(broken, { ...broken, failures: 3, code: 500 }), [])
    assert.deepStrictEqual(resourceEvents(broken, good), [{ type: "resource.recovered", ...named, code: 200 }])
    assert.deepStrictEqual(resourceEvents(good, good), [])
    assert.deepStrictEqual(resourceEvents(good, { ...good, failures: 1, code: 410 }), [])
  })

  it("reports once that a resource is gone, also within the error state", () => {
    const event = { type: "resource.gone" as const, ...named, code: 410, message: "Fetched (ring) 410 60" }
    assert.deepStrictEqual(resourceEvents(good, gone), [event])
    assert.deepStrictEqual(resourceEvents({ ...good, code: 410, failures: 1 }, gone), [event])
    assert.deepStrictEqual(resourceEvents(broken, gone), [event])
    assert.deepStrictEqual(resourceEvents(gone, { ...gone, code: 404 }), [])
    assert.deepStrictEqual(resourceEvents(gone, broken), [])
  })

  it("reports a permanent redirect when it has settled", () => {
    const redirect = (settled: boolean) => ({
      ...good,
      serverProfile: {
        permanentRedirect: { to: "https://b.example/feed", since: 0, ...(settled && { settled: true as const }) }
      }
    })
    assert.deepStrictEqual(resourceEvents(good, redirect(false)), [])
    const moved = { type: "resource.moved" as const, ...named, to: "https://b.example/feed" }
    assert.deepStrictEqual(resourceEvents(redirect(false), redirect(true)), [moved])
    assert.deepStrictEqual(resourceEvents({ ...broken, code: 404 }, redirect(true)), [
      { type: "resource.recovered", ...named, code: 200 },
      moved
    ])
    assert.deepStrictEqual(resourceEvents(redirect(true), redirect(true)), [])
  })
})
