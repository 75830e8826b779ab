import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer } from "effect"
import { Command } from "effect/cli"
import { TestConsole } from "effect/testing"
import { readFeed } from "#domain/normalize/ReadFeed.ts"
import { Fetcher } from "#domain/ports/Fetcher.ts"
import { toPlainText } from "#domain/render/PlainText.ts"
import { excerptOf } from "#layers/outbound/CallbackRequest.ts"
import { inspect } from "#main/cli/Inspect.ts"
import { print, printError } from "#main/cli/Output.ts"
import { list } from "#main/cli/Subscriptions.ts"
import { renderTable } from "#main/cli/Table.ts"
import { tail } from "#main/cli/Tail.ts"
import { serve } from "#test/support/Servers.ts"

/** Clears the screen, moves the cursor, rings, starts an 8-bit sequence, and reverses the rest of the line. */
const hostile = "\u001b[2J\u009b1;1H\u0007\u202eevil\u2066"
/** Forges a line. */
const forged = `${hostile}\nhttp://bank.example/`
const controls = /(?![\t\n])[\p{Cc}\u202a-\u202e\u2066-\u2069]/u

const printed = <E>(command: Effect.Effect<void, E, NodeServices.NodeServices | Fetcher>) =>
  command.pipe(
    Effect.exit,
    Effect.andThen(Effect.all([TestConsole.logLines, TestConsole.errorLines])),
    Effect.map((lines) => lines.flat().map(String)),
    Effect.provide([NodeServices.layer, TestConsole.layer, Layer.mock(Fetcher, {})])
  )

/** Texts of strangers reach no terminal as commands to it. */
describe("control characters", () => {
  it.effect("are replaced in tables, of deliveries, pings and hubs", () =>
    Effect.sync(() => {
      const table = renderTable([["ANSWER", "TOPIC"], [forged, "http://a.example/"]])
      assert.notMatch(table, controls)
      assert.strictEqual(table.split("\n").length, 2)
    }))

  it.live("are replaced in lists of subscriptions", () =>
    Effect.gen(function*() {
      const { url } = yield* serve((_, response) =>
        response.end(JSON.stringify({
          subscriptions: [{
            subscription: {
              format: "atom",
              endpoint: "http://b.example/hook",
              feed: { title: forged, url: "http://a.example/", status: { code: 0, http: forged } },
              deliveries: { waiting: 0, dropped: 0 }
            }
          }]
        }))
      )
      const lines = (yield* printed(Command.runWith(list, { version: "0" })(["--url", url, "--token", "t"]))).join("\n")
      assert.include(lines, "evil")
      assert.notMatch(lines, controls)
      assert.strictEqual(lines.split("\n").length, 3)
    }).pipe(Effect.scoped))

  it.live("are replaced in the entries and documents of a stream", () =>
    Effect.gen(function*() {
      const item = { id: "1", title: forged, permalinkUrl: null, published: null }
      const events = [{ status: {}, items: [item] }, { status: { http: forged } }, `"${hostile}"`]
      let streams = 0
      const { url } = yield* serve(({ method }, response) => {
        if (method === "POST") return response.writeHead(204).end()
        if (streams++ > 0) return response.writeHead(404).end(forged)
        const data = events.map((event) => typeof event === "string" ? event : JSON.stringify(event))
        response.writeHead(200, { "content-type": "text/event-stream" })
        return response.end(data.map((text) => `event: notification\ndata: ${text}\n\n`).join(""))
      })
      const lines = yield* printed(
        Command.runWith(tail, { version: "0" })(["--url", url, "--token", "t", "http://a.example/"])
      )
      assert.strictEqual(lines.length, 3)
      for (const line of lines) assert.include(line, "evil")
      assert.notMatch(lines.join("\n"), controls)
      assert.notInclude(lines[0] ?? "", "\n")
    }).pipe(Effect.scoped))

  it.effect("are replaced or escaped in a report, and in each of its formats", () =>
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const file = yield* files.makeTempFileScoped()
      yield* files.writeFileString(
        file,
        JSON.stringify({
          version: "https://jsonfeed.org/version/1.1",
          title: forged,
          items: [{ id: "1", title: forged }]
        })
      )
      const run = Command.runWith(inspect, { version: "0" })
      let seen = 0
      for (const format of ["report", "json", "atom", "model"]) {
        const lines = yield* printed(run([file, "--format", format]))
        const text = lines.slice(seen).join("\n")
        seen = lines.length
        assert.include(text, "evil")
        assert.notMatch(text, controls)
        if (format === "model" || format === "json") assert.doesNotThrow(() => JSON.parse(text))
      }
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)))

  it.effect("are replaced in errors and in all other output", () =>
    Effect.gen(function*() {
      const lines = yield* printed(Effect.andThen(print(hostile), printError(hostile)))
      assert.deepStrictEqual(lines, Array.from({ length: 2 }, () => "\ufffd[2J\ufffd1;1H\ufffd\ufffdevil\ufffd"))
    }))

  it.effect("are not stored with the header of a feed, nor with the answer of a callback", () =>
    Effect.sync(() => {
      const json = {
        version: "https://jsonfeed.org/version/1.1",
        title: hostile,
        authors: [{ name: hostile }],
        items: []
      }
      const feeds = [
        JSON.stringify(json),
        `<rss version="2.0"><channel><title>&#27;[2J&#x9b;1;1H&#7;&#x202e;evil&#x2066;</title></channel></rss>`
      ]
      for (const feed of feeds) {
        const result = readFeed(Buffer.from(feed))
        const header = result._tag === "Feed" ? result.feed.header : undefined
        assert.include(header?.title?.value ?? "", "evil")
        assert.notMatch(JSON.parse(JSON.stringify(header?.title?.value)), controls)
        for (const { name } of header?.authors ?? []) assert.notMatch(name ?? "", controls)
      }
      assert.strictEqual(toPlainText({ type: "html", value: "&#27;[2J<b>evil</b>&#x202e;" }), "[2Jevil")
      assert.notMatch(excerptOf(Buffer.from(forged), 100), controls)
    }))
})
