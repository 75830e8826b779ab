import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ResourceReports } from "#actors/operations/ResourceReports.ts"
import type { ListResources, NamedResource, ResourceReport } from "#actors/operations/ResourceReports.ts"
import { accounts, assertDescribed, basic, makeApi, makeManagementApi, management, writes } from "#test/support/Api.ts"

const report: ResourceReport = {
  resource: {
    id: 3,
    kind: "feed",
    nextFetch: 61_000,
    lastFetch: 1_000,
    period: 60,
    code: 503,
    http: "Fetched (ring) 503 60",
    velocity: 2.5,
    header: { title: { value: "A &amp; <b>B</b>", type: "html" } },
    generatedIds: false,
    entriesSinceMaintenance: 0
  },
  url: "https://a.example/feed",
  host: "a.example",
  partition: 0,
  failures: 2,
  inError: true,
  subscribers: 1,
  hub: { hub: "https://hub.example/", state: "active", isReliable: true },
  periodReason: "The last 2 fetches failed."
}

const shown = {
  id: 3,
  url: "https://a.example/feed",
  host: "a.example",
  kind: "feed",
  title: "A & B",
  state: "failing",
  code: 503,
  http: "Fetched (ring) 503 60",
  failures: 2,
  period: 60,
  periodReason: "The last 2 fetches failed.",
  lastFetch: "1970-01-01T00:00:01.000Z",
  nextFetch: "1970-01-01T00:01:01.000Z",
  velocity: 2.5,
  subscribers: 1,
  hub: { url: "https://hub.example/", state: "active", reliable: true }
}

const makeReportsApi = (reports: Partial<ResourceReports["Service"]>) =>
  makeManagementApi(Layer.merge(management, Layer.mock(ResourceReports, reports)))

const withoutCaller = <A extends NamedResource | ListResources>({ caller: _, ...request }: A) => request

describe("GET /api/resources", () => {
  it.effect("lists resources by search and cursor, of all accounts with the right admin alone", () =>
    Effect.gen(function*() {
      const seen: Array<object> = []
      const { lastFetch: _, ...unread } = report.resource
      const api = yield* makeReportsApi({
        list: (request) =>
          Effect.sync(() => {
            seen.push(withoutCaller(request))
            return { items: [report, { ...report, failures: 0 }, { ...report, resource: unread }], next: 3 }
          })
      })
      const first = yield* api("GET", "/api/resources", { search: "feed.failing:true kestrel", limit: "2" })
      assertDescribed("/api/resources", first)
      assert.deepStrictEqual(first.json.resources[0], shown)
      assert.deepStrictEqual(
        first.json.resources.map(({ state }: { readonly state: string }) => state),
        ["failing", "healthy", "new"]
      )
      yield* api("GET", "/api/resources", { cursor: first.json.next, all: "true" }, "operator")
      assert.deepStrictEqual(seen, [
        { ofAll: false, limit: 2, search: { ranks: [], feedFailing: true, feedInurl: "kestrel" } },
        { ofAll: true, limit: 20, after: 3 }
      ])
      const refused = yield* api("GET", "/api/resources", { search: "feed.colour:red" })
      assert.strictEqual(refused.status, 422)
      assert.match(refused.json.error.message, /^search has no key "feed\.colour"/)
      assert.strictEqual((yield* api("GET", "/api/resources", { all: "true" }, "list")).status, 403)
    }))

  it.effect("shows one resource with its fetches and versions", () =>
    Effect.gen(function*() {
      const seen: Array<object> = []
      const api = yield* makeReportsApi({
        show: (request) => Effect.sync(() => (seen.push(withoutCaller(request)), report)),
        fetches: () => Effect.succeed([{ at: 1_000, trigger: "ping", code: 503, news: 0, failures: 2 }]),
        versions: () => Effect.succeed([{ id: 9, at: 1_000, contentType: "text/html", bytes: 12 }])
      })
      const answer = yield* api("GET", "/api/resources/3")
      assert.deepStrictEqual(answer.json, {
        ...shown,
        fetches: [{ time: "1970-01-01T00:00:01.000Z", trigger: "ping", code: 503, news: 0, failures: 2 }],
        versions: [{ version: 9, time: "1970-01-01T00:00:01.000Z", contentType: "text/html", bytes: 12 }]
      })
      assert.deepStrictEqual(seen, [{ ofAll: false, id: 3 }])
      assert.strictEqual((yield* api("GET", "/api/resources/x")).status, 422)
    }))
})

describe("GET /api/versions", () => {
  it.effect("shows a version, and its difference from an older one", () =>
    Effect.gen(function*() {
      const api = yield* makeReportsApi({
        version: ({ version }) =>
          Effect.succeed({
            contentType: "text/plain; charset=utf-8",
            body: Buffer.from(`same\n\u001bline ${version}\n`)
          })
      })
      const alone = yield* api("GET", "/api/versions", { resource: "3", version: "9" })
      assertDescribed("/api/versions", alone)
      assert.deepStrictEqual(alone.json, { contentType: "text/plain; charset=utf-8", text: "same\nline 9\n" })
      const both = yield* api("GET", "/api/versions", { resource: "3", version: "9", since: "8" })
      assertDescribed("/api/versions", both)
      assert.deepStrictEqual(
        both.json.difference.filter(({ kind }: { readonly kind: string }) => kind !== "same"),
        [{ kind: "removed", text: "line 8" }, { kind: "added", text: "line 9" }]
      )
      assert.strictEqual((yield* api("GET", "/api/versions", { resource: "3", version: "9" }, "list")).status, 403)
    }))
})

describe("POST /api/fetch", () => {
  it.effect("fetches a resource, and tells whether the fetch has ended", () =>
    Effect.gen(function*() {
      const seen: Array<object> = []
      const api = yield* makeReportsApi({
        fetchNow: (request) => Effect.sync(() => (seen.push(withoutCaller(request)), { report, isDone: false }))
      })
      const answer = yield* api("POST", "/api/fetch", { resource: 3 })
      assertDescribed("/api/fetch", answer)
      assert.deepStrictEqual(answer.json, { ...shown, done: false })
      assert.deepStrictEqual(seen, [{ ofAll: false, id: 3 }])
      assert.strictEqual((yield* api("POST", "/api/fetch", { resource: 3 }, "list")).status, 403)
      assert.strictEqual((yield* api("POST", "/api/fetch", { resource: 3, all: true }, "publish")).status, 403)
    }))
})

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
