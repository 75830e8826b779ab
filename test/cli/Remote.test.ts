import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { Command } from "effect/cli"
import { TestConsole } from "effect/testing"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { list, subscribe, unsubscribe } from "#main/cli/Remote.ts"

interface Asked {
  readonly line: string
  readonly authorization: string | undefined
  readonly body: string
}

/** A service that answers everything alike, and what it was asked. */
const service = Effect.fnUntraced(function*(status: number, answer: string) {
  const asked: Array<Asked> = []
  const server = yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((request, response) => {
        let body = ""
        request.setEncoding("utf8").on("data", (chunk: string) => body += chunk).on("end", () => {
          asked.push({ line: `${request.method} ${request.url}`, authorization: request.headers.authorization, body })
          response.writeHead(status).end(answer)
        })
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close().closeAllConnections())
  )
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
})

const flags = { version: "0" }
const asList = Command.runWith(list, flags)
const asSubscribe = Command.runWith(subscribe, flags)
const asUnsubscribe = Command.runWith(unsubscribe, flags)

/** What a command prints. */
const printed = <E>(command: Effect.Effect<void, E, NodeServices.NodeServices>) =>
  command.pipe(
    Effect.andThen(Effect.map(TestConsole.logLines, (lines) => lines.join("\n"))),
    Effect.provide(NodeServices.layer)
  )

const listed = (deliveries: { readonly waiting: number; readonly dropped: number }) => ({
  subscription: {
    format: "atom",
    endpoint: "http://b.example/hook",
    secret: null,
    feed: { title: "A feed", url: "http://a.example/feed", status: {} },
    deliveries
  }
})

describe("the command line over the API", () => {
  it.effect("lists subscriptions, and which deliveries wait or were given up", () =>
    Effect.gen(function*() {
      const { asked, url } = yield* service(
        200,
        JSON.stringify({ subscriptions: [listed({ waiting: 0, dropped: 0 }), listed({ waiting: 2, dropped: 1 })] })
      )
      const text = yield* printed(asList(["--url", `${url}/`, "--login", "ann", "--token", "t", "--page", "3"]))
      assert.strictEqual(
        text,
        [
          "http://a.example/feed",
          "  -> http://b.example/hook (atom) A feed",
          "http://a.example/feed",
          "  -> http://b.example/hook (atom) A feed",
          "     deliveries: 2 waiting, 1 dropped"
        ].join("\n")
      )
      assert.deepStrictEqual(asked, [{
        line: "GET /?hub.mode=list&page=3&by_page=100&detailed=true",
        authorization: `Basic ${btoa("ann:t")}`,
        body: ""
      }])
    }))

  it.effect("passes on what the service says against it", () =>
    Effect.gen(function*() {
      const { asked, url } = yield* service(422, "hub.topic is wrong.")
      const exit = yield* Effect.exit(
        printed(
          asSubscribe(["--url", url, "--token", "t", "--secret", "s", "--format", "json", "x", "http://b.example/"])
        )
      )
      assert.include(String(Exit.isFailure(exit) && exit.cause), "422: hub.topic is wrong.")
      assert.deepStrictEqual(asked.map(({ body, line }) => [line, body]), [[
        "POST /",
        "hub.mode=subscribe&hub.topic=x&hub.callback=http%3A%2F%2Fb.example%2F&format=json&hub.secret=s"
      ]])
    }))

  it.effect("knows another service by its answer, and that there is none", () =>
    Effect.gen(function*() {
      const { url } = yield* service(200, "<html>")
      const problem = (url: string) =>
        Effect.map(
          Effect.exit(printed(asList(["--url", url, "--token", "t"]))),
          (exit) => String(Exit.isFailure(exit) && exit.cause)
        )
      assert.include(yield* problem(url), "does --url name another service?")
      assert.include(yield* problem("http://127.0.0.1:1"), "does not answer at http://127.0.0.1:1/. Is it running?")
    }))

  it.effect("ends a subscription", () =>
    Effect.gen(function*() {
      const { asked, url } = yield* service(204, "")
      const text = yield* printed(asUnsubscribe(["--url", url, "--token", "t", "http://a.example/"]))
      assert.strictEqual(text, "The subscription to http://a.example/ is ended.")
      assert.deepStrictEqual(asked.map(({ body }) => body), [
        "hub.mode=unsubscribe&hub.topic=http%3A%2F%2Fa.example%2F"
      ])
    }))
})
