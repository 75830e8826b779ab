import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { Command } from "effect/cli"
import { TestClock, TestConsole } from "effect/testing"
import { writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { importList } from "#main/cli/Import.ts"
import { makeProgress } from "#main/cli/Progress.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"

interface Asked {
  readonly line: string
  readonly secret: string | undefined
  readonly body: string
}

/** A server with an answer for each path. */
const serve = Effect.fnUntraced(function*(answer: (url: URL, asked: Asked) => readonly [status: number, text: string]) {
  const asked: Array<Asked> = []
  const server = yield* Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const server = createServer((request, response) => {
        let body = ""
        request.setEncoding("utf8").on("data", (chunk: string) => body += chunk).on("end", () => {
          const secret = request.headers["x-windhover-secret"]
          const one = { line: `${request.method} ${request.url}`, secret: secret?.toString(), body }
          asked.push(one)
          const [status, text] = answer(new URL(request.url ?? "", "http://x"), one)
          response.writeHead(status).end(text)
        })
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close().closeAllConnections())
  )
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
})

const run = (args: ReadonlyArray<string>) =>
  Command.runWith(importList, { version: "0" })(args).pipe(
    Effect.andThen(Effect.map(TestConsole.logLines, (lines) => lines.join("\n"))),
    Effect.provide(NodeServices.layer)
  )

const json = (...lines: ReadonlyArray<object>) => lines.map((line) => `${JSON.stringify(line)}\n`).join("")

const counts = { subscribed: 2, existing: 1, refused: 1, skipped: 0 }

const results = json(
  { line: 1, topic: "http://a/", result: "subscribed", subscription: 1 },
  { line: 2, topic: "http://b/\u001b[2J", result: "refused", reason: "No." },
  { line: 3, topic: "http://c/", result: "exists", differs: ["format", "secret"] },
  { progress: { bytes: 9, ...counts } },
  { done: counts }
)

describe("windhover import", () => {
  it.effect("sends a file with the settings of its flags, and prints what needs a look", () =>
    Effect.gen(function*() {
      const { asked, url } = yield* serve(() => [200, results])
      const file = join(yield* temporaryDirectory, "feeds.opml")
      writeFileSync(file, "<opml/>")
      const service = ["--url", url, "--token", "t"]
      const printed = yield* run([file, "--callback", "http://hook/", "--label", "News", "--secret", "s", ...service])
      assert.deepStrictEqual(asked, [
        { line: "POST /api/import?callback=http%3A%2F%2Fhook%2F&label=News", secret: "s", body: "<opml/>" }
      ])
      assert.strictEqual(
        printed,
        "line 2: refused http://b/\ufffd[2J: No.\n" +
          "line 3: exists http://c/: keeps its own format and secret, which the list names otherwise\n" +
          "2 subscribed, 1 existed, 1 refused."
      )
    }))

  it.effect("lets the service fetch a URL", () =>
    Effect.gen(function*() {
      const { asked, url } = yield* serve(
        () => [200, json({ done: { ...counts, subscribed: 0, existing: 0, refused: 0 } })]
      )
      const printed = yield* run(["https://lists.example/all", "--null", "--url", url, "--token", "t"])
      assert.deepStrictEqual(asked.map(({ line }) => line), [
        "POST /api/import?null=true&url=https%3A%2F%2Flists.example%2Fall"
      ])
      assert.strictEqual(printed, "0 subscribed, 0 existed, 0 refused.\nThe list names no feed.")
    }))

  it.effect("fails with the sentence of the service, of a fault in the list, or of a lost connection", () =>
    Effect.gen(function*() {
      let answer: readonly [number, string] = [403, json({ error: { code: "forbidden", message: "No right." } })]
      const { url } = yield* serve(() => answer)
      const failure = Effect.map(
        Effect.flip(run(["https://lists.example/all", "--null", "--url", url, "--token", "t"])),
        (error) => String((error as { readonly message: string }).message)
      )
      assert.strictEqual(yield* failure, "403: No right.")
      answer = [200, json({ error: { code: "malformed", message: "Cut.", line: 7 }, counts })]
      assert.strictEqual(yield* failure, "Line 7: Cut. So far: 2 subscribed, 1 existed, 1 refused.")
      answer = [200, json({ line: 1, topic: "http://a/", result: "subscribed" })]
      assert.strictEqual(
        yield* failure,
        "The connection to Windhover was lost. Imported lines stay: run the command again to complete the import."
      )
      const missing = yield* Effect.exit(run(["/no/such/file", "--null", "--url", url, "--token", "t"]))
      assert.isTrue(Exit.isFailure(missing))
    }))
})

describe("windhover import superfeedr", () => {
  const item = (name: string) => ({
    subscription: { endpoint: "http://hook/", format: null, secret: "s", feed: { url: `http://${name}/`, title: null } }
  })
  const pages = [["a", "b"], ["c"], []]

  it.each([["from 1, in detail", 1, true], ["from 0, as arrays", 0, false]] as const)(
    "reads all pages, counted %s, and reports what is here alone",
    (_, first, isDetailed) =>
      Effect.gen(function*() {
        const { asked, url } = yield* serve(({ pathname, searchParams }) => {
          if (pathname === "/api/import") return [200, json({ done: { ...counts, refused: 0 } })]
          if (pathname === "/api/export") {
            const line = { type: "subscription", callback: "http://hook/" }
            return [
              200,
              json({ ...line, topic: "http://a/" }, { ...line, topic: "http://only/" }, {
                ...line,
                callback: "http://other/",
                topic: "http://x/"
              })
            ]
          }
          const items = (pages[Number(searchParams.get("page") ?? first) - first] ?? []).map(item)
          return [200, JSON.stringify(isDetailed ? { subscriptions: items, meta: { total: 3 } } : items)]
        })
        const printed = yield* run([
          "superfeedr",
          "--url",
          `${url}/`,
          "--login",
          "l",
          "--token",
          "t",
          "--to-url",
          url,
          "--to-token",
          "w"
        ])
        const bodies = asked.filter(({ line }) => line.startsWith("POST /api/import")).map(({ body }) =>
          [...body.matchAll(/http:\/\/(\w)\//g)].map(([, name]) => name).join("")
        )
        assert.deepStrictEqual(bodies, ["ab", "c"])
        assert.strictEqual(
          printed,
          "3 subscriptions are listed there. Here: 4 subscribed, 2 existed, 0 refused.\n" +
            "1 subscriptions of these callbacks are here alone:\n  http://only/ http://hook/"
        )
      }).pipe(Effect.scoped, Effect.provide(TestConsole.layer), Effect.runPromise)
  )

  it.effect("tells why the list cannot be read", () =>
    Effect.gen(function*() {
      let answer: readonly [number, string] = [401, "Wrong token."]
      const { url } = yield* serve(() => answer)
      const failure = Effect.map(
        Effect.flip(
          run(["superfeedr", "--url", url, "--login", "l", "--token", "t", "--to-url", url, "--to-token", "w"])
        ),
        (error) => String((error as { readonly message: string }).message)
      )
      assert.strictEqual(yield* failure, `The list at ${url} could not be read: 401: Wrong token.`)
      answer = [200, "<html>"]
      assert.strictEqual(
        yield* failure,
        `The list at ${url} could not be read: the answer is no list of subscriptions.`
      )
    }))
})

describe("the progress of an import", () => {
  it.effect("is a bar in place on a terminal", () =>
    Effect.gen(function*() {
      const written: Array<string> = []
      const { clear, show } = makeProgress({ isTTY: true, write: (text) => written.push(text) }, 200)
      yield* show(50, counts)
      yield* show(400, counts)
      yield* clear
      assert.deepStrictEqual(written, [
        "\r\u001b[K[######..................]  25 % 2 subscribed, 1 existed, 1 refused",
        "\r\u001b[K[########################] 100 % 2 subscribed, 1 existed, 1 refused",
        "\r\u001b[K"
      ])
    }))

  it.effect("is a line every 5 s elsewhere", () =>
    Effect.gen(function*() {
      const { clear, show } = makeProgress({ write: () => assert.fail("nothing is drawn") }, undefined)
      for (let second = 0; second < 12; second++) {
        yield* show(second, counts)
        yield* TestClock.adjust("1 second")
      }
      yield* clear
      assert.deepStrictEqual(yield* TestConsole.errorLines, [
        "2 subscribed, 1 existed, 1 refused",
        "2 subscribed, 1 existed, 1 refused"
      ])
    }))
})
