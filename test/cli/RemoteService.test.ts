import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { Command } from "effect/cli"
import { TestConsole } from "effect/testing"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { list, rotateSecret, subscribe, unsubscribe } from "#main/cli/Subscriptions.ts"
import { tail } from "#main/cli/Tail.ts"

interface Asked {
  readonly line: string
  readonly authorization: string | undefined
  readonly body: string
}

/** A service with one answer to every request; records the requests. */
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
const asRotateSecret = Command.runWith(rotateSecret, flags)
const asUnsubscribe = Command.runWith(unsubscribe, flags)

/** Output of a command. */
const printed = <E>(command: Effect.Effect<void, E, NodeServices.NodeServices>) =>
  command.pipe(
    Effect.andThen(Effect.map(TestConsole.logLines, (lines) => lines.join("\n"))),
    Effect.provide(NodeServices.layer)
  )

const listed = (
  deliveries: { readonly waiting: number; readonly dropped: number },
  status: { readonly code?: number; readonly http?: string } = {},
  delivery?: { readonly state: string; readonly failing_since?: number }
) => ({
  subscription: {
    format: "atom",
    endpoint: "http://b.example/hook",
    secret: null,
    feed: { title: "A feed", url: "http://a.example/feed", status },
    deliveries,
    ...(delivery !== undefined && { id: 7, delivery })
  }
})

/** A service whose streams break after the events of each connection, one list of events per connection. Later connections get a 404. */
const streaming = Effect.fnUntraced(function*(connections: ReadonlyArray<string>) {
  const asked: Array<string> = []
  const posted: Array<URLSearchParams> = []
  let streams = 0
  const server = yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((request, response) => {
        if (request.method === "POST") {
          let body = ""
          request.setEncoding("utf8").on("data", (chunk: string) => body += chunk).on("end", () => {
            posted.push(new URLSearchParams(body))
            response.writeHead(204).end()
          })
          return
        }
        asked.push(`${request.url} ${request.headers["last-event-id"] ?? "from the start"}`)
        const events = connections[streams++]
        if (events === undefined) return void response.writeHead(404).end("You are not subscribed.")
        response.writeHead(200, { "content-type": "text/event-stream" }).write(events)
        setImmediate(() => response.destroy())
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close().closeAllConnections())
  )
  return { asked, posted, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
})

const told = (id: string, data: object, event = "notification") =>
  `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`

describe("the command line over the API", () => {
  it.effect("lists subscriptions, which of them fail, and which deliveries wait or were given up", () =>
    Effect.gen(function*() {
      const { asked, url } = yield* service(
        200,
        JSON.stringify({
          subscriptions: [
            listed({ waiting: 0, dropped: 0 }, { code: 304, http: "Fetched (ring) 304 60" }),
            listed({ waiting: 2, dropped: 1 }, {
              code: 0,
              http: "Fetched (ring) 0 60: a.example: there is no such name"
            })
          ]
        })
      )
      const text = yield* printed(asList(["--url", `${url}/`, "--login", "ann", "--token", "t", "--page", "3"]))
      assert.strictEqual(
        text,
        [
          "http://a.example/feed",
          "  -> http://b.example/hook (atom) A feed",
          "http://a.example/feed",
          "  -> http://b.example/hook (atom) A feed",
          "     the last fetch failed: Fetched (ring) 0 60: a.example: there is no such name",
          "     deliveries: 2 waiting, 1 dropped"
        ].join("\n")
      )
      assert.deepStrictEqual(asked, [{
        line: "GET /?hub.mode=list&page=3&by_page=100&detailed=true",
        authorization: `Basic ${btoa("ann:t")}`,
        body: ""
      }])
    }))

  it.effect("lists the id of a subscription, and says when its callback fails or is paused", () =>
    Effect.gen(function*() {
      const none = { waiting: 0, dropped: 0 }
      const { url } = yield* service(
        200,
        JSON.stringify({
          subscriptions: [
            listed(none, {}, { state: "active" }),
            listed(none, {}, { state: "paused", failing_since: 1_795_956_250 })
          ]
        })
      )
      assert.strictEqual(
        yield* printed(asList(["--url", url, "--token", "t"])),
        [
          "http://a.example/feed (subscription 7)",
          "  -> http://b.example/hook (atom) A feed",
          "http://a.example/feed (subscription 7)",
          "  -> http://b.example/hook (atom) A feed",
          "     paused: windhover resume --subscription 7",
          "     failing since 2026-11-29T12:44:10: windhover undelivered --subscription 7"
        ].join("\n")
      )
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

  it.effect("refuses a --url that is none", () =>
    Effect.gen(function*() {
      yield* Effect.exit(printed(asList(["--url", "localhost:8080", "--token", "t"])))
      assert.include(
        (yield* TestConsole.errorLines).join("\n"),
        "Invalid value for flag --url: \"localhost:8080\". Expected: an http(s) URL, such as http://localhost:8080"
      )
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

  it.live("follows a topic, and goes on behind the last event when the stream breaks", () =>
    Effect.gen(function*() {
      const item = (id: string) => ({ id, title: `Entry ${id}`, published: 1_700_000_000 })
      const { asked, posted, url } = yield* streaming([
        `${told("3", { status: {}, items: [item("b"), item("a")] })}:\n\n${
          told("4", { status: {}, items: [item("c")] })
        }`,
        told("6", { missed: 2 }, "gap") + told("7", { status: { http: "Gone" } }) + told("8", { price: 1 })
      ])
      const exit = yield* Effect.exit(
        Command.runWith(tail, flags)(["--url", url, "--token", "t", "http://a.example/"]).pipe(
          Effect.provide(NodeServices.layer)
        )
      )
      assert.include(String(Exit.isFailure(exit) && exit.cause), "404: You are not subscribed.")
      const query = "/stream?hub.mode=retrieve&hub.topic=http%3A%2F%2Fa.example%2F&format=json&count=5"
      assert.deepStrictEqual(asked, [`${query} from the start`, `${query} 4`, `${query} 8`])
      // the lease ends without renewals
      assert.deepStrictEqual(posted.map((form) => form.get("hub.mode")), [
        "subscribe",
        "subscribe",
        "subscribe",
        "unsubscribe"
      ])
      const callbacks = [...new Set(posted.map((form) => form.get("hub.callback")))]
      assert.strictEqual(callbacks.length, 1)
      assert.match(callbacks[0] ?? "", /\/dev\/null\?tail=[-0-9a-f]{36}&lease=3600$/)
      assert.deepStrictEqual(yield* TestConsole.logLines, [
        "2023-11-14T22:13:20.000Z  Entry a",
        "2023-11-14T22:13:20.000Z  Entry b",
        "2023-11-14T22:13:20.000Z  Entry c",
        "The resource fails: Gone",
        "{\"price\":1}"
      ])
      assert.deepStrictEqual(yield* TestConsole.errorLines, [
        "Some notifications were published while this command was disconnected, and are no longer stored."
      ])
    }).pipe(Effect.provide(TestConsole.layer)))

  it.effect("rotates a secret, and prints a generated one with the end of the grace", () =>
    Effect.gen(function*() {
      const answer = { subscription: 7, secret: "whsec_x", previousUntil: "2026-01-02T03:04:05.000Z" }
      const { asked, url } = yield* service(200, JSON.stringify(answer))
      const name = ["http://a.example/feed", "http://b.example/hook"]
      const output = yield* printed(asRotateSecret([...name, "--url", url, "--token", "t"]))
      assert.strictEqual(
        output,
        "New secret: whsec_x\nThe old secret signs beside the new one until 2026-01-02T03:04:05.000Z."
      )
      assert.deepStrictEqual(asked.map(({ body, line }) => [line, JSON.parse(body)]), [
        ["POST /api/rotate-secret", { topic: name[0], callback: name[1] }]
      ])
    }))

  it.effect("sends a given secret and grace, and prints the sentence of an error", () =>
    Effect.gen(function*() {
      const refusal = { error: { code: "not_found", message: "You are not subscribed." } }
      const { asked, url } = yield* service(404, JSON.stringify(refusal))
      const more = ["--secret", "s", "--grace", "0", "--url", url, "--token", "t"]
      const error = yield* Effect.flip(printed(asRotateSecret(["http://a.example/", "http://b.example/", ...more])))
      assert.include(String(error), "404: You are not subscribed.")
      assert.deepStrictEqual(JSON.parse(asked[0]?.body ?? ""), {
        topic: "http://a.example/",
        callback: "http://b.example/",
        secret: "s",
        grace: 0
      })
    }))
})
