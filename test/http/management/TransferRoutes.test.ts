import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { Export, type ExportRequest } from "#actors/operations/Export.ts"
import { Import, type ImportDefaults, type ImportEvent } from "#actors/operations/Import.ts"
import { type Refusal, refuseThrottled, refuseUnavailable } from "#domain/Refusal.ts"
import { accounts, basic, makeApi, management, writes } from "#test/support/Api.ts"

const counts = { subscribed: 1, existing: 0, refused: 1, skipped: 0 }

/** An import that reads its source, and answers with events. */
const importing = (events: ReadonlyArray<ImportEvent>, fail = false) => {
  const seen: Array<{ readonly defaults: ImportDefaults; readonly source: string }> = []
  const layer = Layer.mock(Import, {
    start: <E>(
      { defaults, source }: {
        readonly defaults: ImportDefaults
        readonly source: string | Stream.Stream<Uint8Array, E>
      }
    ) => {
      if (typeof source === "string") {
        seen.push({ defaults, source })
        return Effect.succeed(Stream.fromIterable(events))
      }
      const text = Stream.mkString(Stream.decodeText(source))
      const read = Stream.fromEffect(Effect.map(text, (source) => void seen.push({ defaults, source })))
      const failing: Stream.Stream<never, Refusal> = fail
        ? Stream.fail(refuseUnavailable("The database is away.", 5))
        : Stream.empty
      return Effect.succeed(Stream.concat(Stream.flatMap(read, () => Stream.fromIterable(events)), failing))
    }
  })
  return { seen, layer }
}

const open = <S>(services: Layer.Layer<S>) => makeApi({}, accounts, {}, writes, Layer.merge(management, services))

const post = (body: string, headers: Record<string, string> = {}) => ({
  method: "POST",
  headers: { ...basic(), ...headers },
  body
})

describe("POST /api/import", () => {
  it.effect("passes the body and the parameters on, and answers with a line of JSON for each event", () =>
    Effect.gen(function*() {
      const { layer, seen } = importing([
        { _tag: "Line", line: 1, topic: "http://a/", result: "subscribed", subscription: 7 },
        { _tag: "Line", line: 2, result: "refused", reason: "No." },
        { _tag: "Progress", bytes: 9, counts },
        { _tag: "Done", counts }
      ])
      const api = yield* open(layer)
      const query = "callback=http://b/&format=json&retry=days&label=News"
      const answer = yield* api(`/api/import?${query}`, post("the list", { "x-windhover-secret": "s" }))
      assert.deepStrictEqual([answer.status, answer.headers.get("content-type")], [
        200,
        "application/x-ndjson; charset=utf-8"
      ])
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      assert.deepStrictEqual(answer.body.trimEnd().split("\n").map((line) => JSON.parse(line)), [
        { line: 1, topic: "http://a/", result: "subscribed", subscription: 7 },
        { line: 2, result: "refused", reason: "No." },
        { progress: { bytes: 9, ...counts } },
        { done: counts }
      ])
      assert.deepStrictEqual(seen, [{
        source: "the list",
        defaults: {
          callback: "http://b/",
          format: "json",
          retry: "days",
          secret: "s",
          nullDevice: false,
          labels: ["News"]
        }
      }])
    }))

  it.effect("takes a URL in place of a body", () =>
    Effect.gen(function*() {
      const { layer, seen } = importing([{ _tag: "Done", counts }])
      const api = yield* open(layer)
      yield* api("/api/import?null=true&url=http://lists.example/a", post(""))
      assert.deepStrictEqual(seen, [{ source: "http://lists.example/a", defaults: { nullDevice: true, labels: [] } }])
    }))

  it.effect("ends with an error line when the import fails later, and with a status when at once", () =>
    Effect.gen(function*() {
      const api = yield* open(importing([], true).layer)
      const late = yield* api("/api/import", post("x"))
      assert.deepStrictEqual([late.status, JSON.parse(late.body)], [
        200,
        { error: { code: "unavailable", message: "The database is away." } }
      ])
      const busy = yield* open(Layer.mock(Import, { start: () => Effect.fail(refuseThrottled("Wait.", 10)) }))
      const early = yield* busy("/api/import", post("x"))
      assert.deepStrictEqual([early.status, early.headers.get("retry-after")], [429, "10"])
      const broken = yield* open(Layer.mock(Import, { start: () => Effect.succeed(Stream.die(new Error("a secret"))) }))
      const internal = yield* broken("/api/import", post("x"))
      assert.strictEqual(JSON.parse(internal.body).error.code, "internal")
      assert.notInclude(internal.body, "secret")
    }))

  it.effect("refuses wrong requests before an import begins", () =>
    Effect.gen(function*() {
      const api = yield* open(Layer.mock(Import, {}))
      const status = (path: string, init: RequestInit) => Effect.map(api(path, init), ({ status }) => status)
      assert.strictEqual(yield* status("/api/import", { ...post("x"), headers: basic("list") }), 403)
      assert.strictEqual(yield* status("/api/import", { method: "POST", body: "x" }), 401)
      assert.strictEqual(yield* status("/api/import?callback=x&null=true", post("x")), 422)
      assert.strictEqual(yield* status("/api/import?secret=s", post("x")), 422)
      assert.strictEqual(yield* status("/api/import", post("x", { "content-encoding": "gzip" })), 415)
      assert.strictEqual(yield* status("/api/import", post("x", { "content-length": "67108865" })), 413)
      assert.strictEqual(yield* status("/api/import", post("x", { "x-windhover-secret": "s".repeat(201) })), 422)
      assert.strictEqual(yield* status("/api/import", { headers: basic() }), 405)
      const site = { origin: "https://evil.example", "sec-fetch-site": "cross-site" }
      assert.strictEqual(yield* status("/api/import", post("x", site)), 403)
    }))
})

describe("GET /api/export", () => {
  const exporting = () => {
    const seen: Array<Omit<ExportRequest, "caller">> = []
    const layer = Layer.mock(Export, {
      start: ({ caller: _, ...request }) => Effect.sync(() => (seen.push(request), Stream.make("a\n", "", "b\n")))
    })
    return { seen, layer }
  }

  it.effect("streams the text of the export", () =>
    Effect.gen(function*() {
      const { layer, seen } = exporting()
      const api = yield* open(layer)
      const lines = yield* api("/api/export", { headers: basic() })
      assert.deepStrictEqual([lines.status, lines.body, lines.headers.get("content-type")], [
        200,
        "a\nb\n",
        "application/x-ndjson; charset=utf-8"
      ])
      const opml = yield* api("/api/export?format=opml", { headers: basic() })
      assert.strictEqual(opml.headers.get("content-type"), "text/x-opml; charset=utf-8")
      yield* api("/api/export?secrets=true&entries=true", { headers: basic() })
      assert.deepStrictEqual(seen, [
        { format: "ndjson", hasEntries: false, hasSecrets: false },
        { format: "opml", hasEntries: false, hasSecrets: false },
        { format: "ndjson", hasEntries: true, hasSecrets: true }
      ])
    }))

  it.effect("needs the right list, and more for secrets and entries", () =>
    Effect.gen(function*() {
      const api = yield* open(exporting().layer)
      const status = (path: string, secret: string) =>
        Effect.map(api(path, { headers: basic(secret) }), ({ status }) => status)
      assert.strictEqual(yield* status("/api/export", "list"), 200)
      assert.strictEqual(yield* status("/api/export", "retrieve"), 403)
      assert.strictEqual(yield* status("/api/export?secrets=true", "list"), 403)
      assert.strictEqual(yield* status("/api/export?entries=true", "list"), 403)
      assert.strictEqual(yield* status("/api/export?format=opml&secrets=true", "wonder"), 422)
      assert.strictEqual(yield* status("/api/export?format=opml&entries=true", "wonder"), 422)
    }))
})
