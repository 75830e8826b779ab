import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Stream } from "effect"
import { Import, type ImportEvent, maxListBytes, maxListLines } from "#actors/operations/Import.ts"
import { readLines } from "#actors/operations/ReadLines.ts"
import { ListDocument } from "#domain/transfer/ListDocument.ts"
import type { ListLine } from "#domain/transfer/ListLine.ts"
import { hook, lines, started } from "#test/support/HubCalls.ts"
import { caller, documentOf, layer } from "#test/support/SimulatedWeb.ts"

const encode = (text: string) => new TextEncoder().encode(text)

const importing = (source: Stream.Stream<Uint8Array> | string) =>
  Effect.gen(function*() {
    const events = yield* (yield* Import).start({ caller, defaults: { callback: hook("all"), labels: [] }, source })
    return yield* Stream.runCollect(events)
  }).pipe(Effect.scoped)

const lastOf = (events: ReadonlyArray<ImportEvent>) => events.at(-1)

/** Reads pieces of a list, and returns its first lines and its end. */
const read = (pieces: Iterable<string>) => {
  const document = new ListDocument()
  const result: Array<ListLine> = []
  for (const piece of pieces) {
    const more = document.push(encode(piece))
    if (result.length < 10) result.push(...more.slice(0, 10))
    if (more.some(({ _tag }) => _tag === "Fault")) return [...result, ...more.slice(-1)]
  }
  return [...result, ...document.end()]
}

describe("hostile lists", () => {
  it("of entities that grow tenfold nine times stay as short as they are", () => {
    const entities = Array.from({ length: 9 }, (_, i) => `<!ENTITY lol${i + 1} "${`&lol${i};`.repeat(10)}">`).join("\n")
    const opml = `<?xml version="1.0"?>\n<!DOCTYPE opml [<!ENTITY lol0 "lol">\n${entities}\n` +
      `<!ENTITY file SYSTEM "file:///etc/passwd">]>\n<opml><body>` +
      `<outline text="&lol9;"><outline xmlUrl="http://a.example/&lol9;&file;"/></outline></body></opml>`
    assert.deepStrictEqual(read([opml]), [
      { _tag: "Item", line: 13, item: { topic: "http://a.example/&lol9;&file;", labels: ["&lol9;"] } }
    ])
  })

  it("of outlines in outlines end at a depth, in time", () => {
    const started = process.cpuUsage()
    const lines = read(["<opml><body>", ...Array.from({ length: 1_000 }, () => "<outline text=\"a\">".repeat(1_000))])
    assert.deepStrictEqual(lines.at(-1), {
      _tag: "Fault",
      line: 1,
      reason: "The document is nested deeper than 256 elements."
    })
    assert.isBelow(process.cpuUsage(started).user, 2_000_000)
  })

  it("of an attribute, a comment or a line without an end need the memory of their bytes alone", () => {
    const filler = Array.from({ length: 200 }, () => "x".repeat(65_536))
    for (
      const start of ["<opml><body><outline xmlUrl=\"http://a/", "<opml><!-- ", "http://a/", "[\"", "{\"topic\":\""]
    ) {
      const lines = read([start, ...filler])
      assert.isAtMost(lines.length, 2)
      for (const { _tag } of lines) assert.include(["Fault", "Refused"], _tag)
    }
  })

  it.effect("of ten million outlines end at the limit of lines, and are read no further", () =>
    Effect.gen(function*() {
      let pulled = 0
      const piece = encode("<outline xmlUrl=\"x\"/>".repeat(10_000))
      const pieces = Stream.map(Stream.rechunk(Stream.range(1, 1_000), 1), () => {
        pulled++
        return piece
      })
      const limits = { maxBytes: maxListBytes, maxLines: 100_000 }
      const all = Stream.concat(Stream.succeed(encode("<opml><body>")), pieces)
      const lines = yield* Stream.runCollect(readLines(all, () => {}, limits))
      assert.strictEqual(lines.length, 100_001)
      const last = lines.at(-1)
      assert.strictEqual(
        last?._tag === "Fault" && last.reason,
        "The list has more than 100000 lines. The lines before are imported; split the list."
      )
      assert.isBelow(pulled, 20)
      assert.deepStrictEqual([maxListLines, maxListBytes], [1_000_000, 67_108_864])
    }))

  it.effect("that arrive at once are read piece by piece, as their lines are taken", () =>
    Effect.gen(function*() {
      let counted = 0
      const whole = Stream.succeed(encode("http://a.example/\n".repeat(500_000)))
      const lines = yield* Stream.runCollect(Stream.take(readLines(whole, (length) => void (counted += length)), 10))
      assert.strictEqual(lines.length, 10)
      assert.strictEqual(counted, 65_536)
    }))

  it.effect("of more than 64 MiB end there", () =>
    Effect.gen(function*() {
      yield* started
      const comment = encode(`# ${"x".repeat(1_048_573)}\n`)
      const end = lastOf(yield* importing(Stream.map(Stream.range(1, 80), () => comment)))
      assert.strictEqual(end?._tag === "Broken" && end.reason.slice(0, 41), "The list has more than 67108864 bytes. Th")
    }).pipe(Effect.provide(layer)))

  it.effect("with credentials in URLs give away none, in results or in the log", () => {
    const logged: Array<string> = []
    const logger = Logger.layer([Logger.make(({ message }) => void logged.push(JSON.stringify(message)))])
    return Effect.gen(function*() {
      const web = yield* started
      const csv = "url,callback,label\n" +
        "https://ann:hunter2@feeds.example/a,,News\n" +
        "https://feeds.example/b,https://bob:hunter2@hook.example/,\n" +
        "\"https://hunter2@feeds.example/\u0007\",,\n" +
        "https://user:hunter2@,,\n" +
        "https://feeds.example/c,,\n"
      const events = yield* importing(Stream.succeed(encode(csv)))
      assert.deepStrictEqual(events.flatMap((event) => event._tag === "Line" ? [event.result] : []), [
        "refused",
        "refused",
        "refused",
        "refused",
        "subscribed"
      ])
      assert.notInclude(JSON.stringify([events, logged, web.log]), "hunter2")
      assert.include(JSON.stringify(events), "https://***@feeds.example/a")
    }).pipe(Effect.provide(layer), Effect.provide(logger))
  })

  it.effect("are fetched from no private address, and no secret of their URL is told", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.serve("http://metadata.internal/list", () => Effect.succeed(documentOf([])))
      for (const url of ["http://metadata.internal/list", "file:///etc/passwd", "http://ann:hunter2@lists.example/"]) {
        const refusal = yield* Effect.flip(importing(url))
        assert.strictEqual(refusal.reason._tag, "BadParameter")
        assert.notInclude(refusal.message, "hunter2")
      }
      assert.deepStrictEqual(lines(web, "poll"), [])
    }).pipe(Effect.provide(layer)))
})
