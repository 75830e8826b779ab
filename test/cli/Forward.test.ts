import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Cause, ConfigProvider, Deferred, Effect, Exit, Fiber, Schedule } from "effect"
import { Command } from "effect/cli"
import { TestConsole } from "effect/testing"
import { createHmac } from "node:crypto"
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { forward } from "#main/cli/Forward.ts"
import { freePort } from "#scripts/FreePort.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { serve } from "#test/support/Servers.ts"

const event = (id: number | string, data: string, name = "notification") =>
  `event: ${name}\nid: ${id}\ndata: ${data}\n\n`

/** A service whose streams break after the events of each connection. Later connections get a 404. */
const streaming = Effect.fnUntraced(function*(connections: ReadonlyArray<string>) {
  let streams = 0
  const service = yield* serve(({ method }, response) => {
    if (method === "POST") return response.writeHead(204).end()
    const events = connections[streams++]
    if (events === undefined) return response.writeHead(404).end("You are not subscribed.")
    return response.writeHead(200, { "content-type": "text/event-stream" }).end(events)
  })
  return {
    ...service,
    streams: () => service.seen.filter(({ method }) => method === "GET").map(({ headers }) => headers["last-event-id"]),
    forms: () =>
      service.seen.filter(({ method }) => method === "POST").map(({ body }) =>
        Object.fromEntries(new URLSearchParams(body.toString()))
      )
  }
})

/** A target that answers with the given statuses, then with 204. */
const target = Effect.fnUntraced(function*(statuses: ReadonlyArray<number> = []) {
  let count = 0
  const { seen, url } = yield* serve((_, response) => response.writeHead(statuses[count++] ?? 204).end("an answer"))
  return { seen, url: `${url}/hook`, sequences: () => seen.map(({ headers }) => headers["x-windhover-sequence"]) }
})

const run = (state: string, args: ReadonlyArray<string>) =>
  Command.runWith(forward, { version: "0" })(args).pipe(
    Effect.exit,
    Effect.map((exit) => Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "ended"),
    Effect.provide([
      NodeServices.layer,
      ConfigProvider.layer(ConfigProvider.fromUnknown({ XDG_STATE_HOME: state }))
    ])
  )

/** Output so far, without the times. */
const output = Effect.map(
  Effect.all([TestConsole.logLines, TestConsole.errorLines]),
  ([lines, errors]) => ({
    lines: lines.map((line) => String(line).replace(/^\S+ {2}/, "").replace(/\d+ ms/, "N ms")),
    errors: errors.map(String)
  })
)

const topic = "http://a.example/feed"
const unsubscribed = "RemoteError: 404: You are not subscribed."
const lost = "The connection to Windhover was lost; the command resumes after the last notification."

/** Services, a target and a state directory; `go` runs the command to its end, after the scripted connections. */
const open = Effect.fnUntraced(function*(connections: ReadonlyArray<string>, statuses?: ReadonlyArray<number>) {
  const service = yield* streaming(connections)
  const hook = yield* target(statuses)
  const state = yield* temporaryDirectory
  return {
    service,
    hook,
    state,
    go: (...args: ReadonlyArray<string>) => run(state, ["--url", service.url, "--token", "t", ...args, topic, hook.url])
  }
})

const stateFile = (state: string) => {
  const directory = join(state, "windhover/forward")
  const [name = ""] = readdirSync(directory)
  return join(directory, name)
}

describe("windhover forward", () => {
  it.live("forwards new notifications with the headers of a webhook, signed", () =>
    Effect.gen(function*() {
      const body = "{\"items\":[\"é\"]}"
      const { go, hook, service } = yield* open([event(4, "the past") + event(5, body) + event(6, "two\ndata: lines")])
      assert.strictEqual(yield* go("--secret", "a-secret"), unsubscribed)
      const [first, second] = hook.seen
      const subscription = /^5-(\d+)$/.exec(String(first?.headers["x-windhover-notification-id"]))?.[1] ?? ""
      assert.deepInclude(first?.headers, {
        "content-type": "application/json; charset=utf-8",
        "x-pubsubhubbub-topic": topic,
        "x-pubsubhubbub-callback": hook.url,
        "x-windhover-sequence": "5",
        link: `<${service.url}/hub>; rel="hub", <${topic}>; rel="self"`,
        "user-agent": `Windhover/1.0.0 (+${service.url})`,
        "x-hub-signature-256": `sha256=${createHmac("sha256", "a-secret").update(body).digest("hex")}`,
        "webhook-id": `5-${subscription}`
      })
      assert.notProperty(first?.headers, "x-service-credits")
      assert.strictEqual(second?.body.toString(), "two\nlines")
      assert.strictEqual(second?.headers["x-windhover-notification-id"], `6-${subscription}`)
      const { "hub.callback": callback, ...form } = service.forms()[0] ?? {}
      assert.match(callback ?? "", new RegExp(`^${service.url}/dev/null\\?forward=[0-9a-f-]{36}&lease=86400$`))
      assert.deepStrictEqual(form, { "hub.mode": "subscribe", "hub.topic": topic, format: "json", retrieve: "true" })
      // the subscription outlives the command
      assert.deepStrictEqual(new Set(service.forms().map((one) => one["hub.callback"])), new Set([callback]))
      assert.notInclude(service.forms().map((one) => one["hub.mode"]), "unsubscribe")
      assert.deepStrictEqual(yield* output, {
        lines: ["#5  204  N ms  16 bytes", "#6  204  N ms  9 bytes"],
        errors: [`Forwarding the notifications after #4 of ${topic} to ${hook.url}.`, lost]
      })
    }).pipe(Effect.provide(TestConsole.layer)))

  it.live("resumes a broken stream, and after a restart", () =>
    Effect.gen(function*() {
      const { go, hook, service, state } = yield* open([event(4, "past") + event(5, "a"), event(6, "b")])
      yield* go()
      assert.deepStrictEqual(service.streams(), [undefined, "5", "6"])
      assert.strictEqual(statSync(stateFile(state)).mode & 0o777, 0o600)
      const again = yield* streaming([event(7, "c")])
      const file = stateFile(state)
      yield* run(state, [
        "--url",
        service.url.replace(/\d+$/, new URL(again.url).port),
        "--token",
        "t",
        topic,
        hook.url
      ])
      // another service has a position of its own
      assert.deepStrictEqual(again.streams()[0], undefined)
      assert.strictEqual(readdirSync(join(state, "windhover/forward")).length, 2)
      assert.deepInclude(JSON.parse(readFileSync(file, "utf8")), { position: "6" })
      yield* go()
      assert.deepStrictEqual(service.streams(), [undefined, "5", "6", "6"])
      assert.strictEqual(service.forms().at(-1)?.["hub.callback"], service.forms()[0]?.["hub.callback"])
      assert.deepStrictEqual(hook.sequences(), ["5", "6"])
    }).pipe(Effect.provide(TestConsole.layer)))

  it.live("starts with new notifications, or at a number, on request", () =>
    Effect.gen(function*() {
      const { go, hook, service } = yield* open([event(4, "past"), event(5, "a"), event(9, "past") + event(10, "b")])
      assert.strictEqual(yield* go("--from", "5"), unsubscribed)
      assert.deepStrictEqual(service.streams(), ["4", "4", "5", "10"])
      assert.deepStrictEqual(hook.sequences(), ["4", "5", "9", "10"])
      const now = yield* open([event(4, "past") + event(5, "a")])
      yield* now.go()
      yield* now.go("--since-now")
      assert.deepStrictEqual(now.service.streams(), [undefined, "5", undefined])
      assert.include(yield* now.go("--since-now", "--from", "1"), "--from and --since-now exclude each other")
      assert.include(yield* now.go("--from", "0"), "ShowHelp")
    }).pipe(Effect.provide(TestConsole.layer)))

  it.live("repeats a notification until the target accepts it, and keeps the order", () =>
    Effect.gen(function*() {
      const { go, hook } = yield* open([event(4, "past") + event(5, "a") + event(6, "b")], [500, 404])
      yield* go()
      assert.deepStrictEqual(hook.sequences(), ["5", "5", "5", "6"])
      assert.deepStrictEqual(hook.seen.map(({ headers }) => headers["x-service-retried"]), [
        undefined,
        "1",
        "2",
        undefined
      ])
      assert.deepStrictEqual((yield* output).lines.slice(0, 3), [
        "#5  500  N ms  an answer",
        "#5  404  N ms  an answer",
        "#5  204  N ms  1 byte"
      ])
    }).pipe(Effect.provide(TestConsole.layer)))

  it.live("waits for a target that is down", () =>
    Effect.gen(function*() {
      const { service, state } = yield* open([event(4, "past") + event(5, "a")])
      const port = yield* Effect.promise(freePort)
      const fiber = yield* Effect.forkChild(
        run(state, ["--url", service.url, "--token", "t", topic, `http://localhost:${port}/hook`])
      )
      const lines = yield* Effect.map(output, ({ lines }) => lines).pipe(
        Effect.repeat({ until: (lines) => lines.length > 0, schedule: Schedule.spaced("20 millis") })
      )
      assert.match(lines[0] ?? "", /^#5 {2}no answer {2}/)
      const arrived = yield* Deferred.make<string>()
      yield* Effect.acquireRelease(
        Effect.sync(() =>
          createServer(({ headers }, response) => {
            Deferred.doneUnsafe(arrived, Effect.succeed(String(headers["x-windhover-sequence"])))
            response.end()
          }).listen(port, "127.0.0.1")
        ),
        (server) => Effect.sync(() => server.close().closeAllConnections())
      )
      assert.strictEqual(yield* Deferred.await(arrived), "5")
      yield* Fiber.join(fiber)
    }).pipe(Effect.provide(TestConsole.layer)))

  it.live("gives a notification up after the given attempts, or when it is too large", () =>
    Effect.gen(function*() {
      const { go, hook } = yield* open([event(4, "p") + event(5, "a") + event(6, "b") + event(7, "c")], [500, 500, 413])
      yield* go("--attempts", "2")
      assert.deepStrictEqual(hook.sequences(), ["5", "5", "6", "7"])
    }).pipe(Effect.provide(TestConsole.layer)))

  it.live("ends when the target is gone", () =>
    Effect.gen(function*() {
      const { go, hook } = yield* open([event(4, "p") + event(5, "a") + event(6, "b")], [410])
      assert.strictEqual(
        yield* go(),
        "RemoteError: The target answered 410 Gone, which ends the subscription of a webhook."
      )
      assert.deepStrictEqual(hook.sequences(), ["5"])
    }).pipe(Effect.provide(TestConsole.layer)))

  it.live("tells what cannot be forwarded any more", () =>
    Effect.gen(function*() {
      const known = event(8, "{\"missed\":3,\"message\":\"\"}", "gap") + event(9, "a")
      const unknown = event(2, "{\"missed\":null,\"message\":\"\"}", "gap") + event(2, "past") + event(3, "b")
      const { go, hook } = yield* open([known + unknown])
      yield* go("--from", "6")
      assert.deepStrictEqual(hook.sequences(), ["9", "3"])
      assert.deepStrictEqual((yield* output).errors, [
        "No longer stored, and so not forwarded: 3 notifications.",
        "Windhover does not know the stored position; the command starts with new notifications.",
        `Forwarding the notifications after #2 of ${topic} to ${hook.url}.`,
        lost
      ])
    }).pipe(Effect.provide(TestConsole.layer)))

  it.live("refuses other targets, broken secrets and topics of several resources", () =>
    Effect.gen(function*() {
      const { go, service, state } = yield* open([event("17:4.23:1", "past") + event("17:5.23:1", "a")])
      const wrong = yield* run(state, ["--url", service.url, "--token", "t", topic, "localhost:3000"])
      assert.include(wrong, "ShowHelp")
      assert.include(yield* go("--secret", "whsec_x"), "--secret begins with whsec_")
      assert.deepStrictEqual(service.seen, [])
      assert.include(yield* go(), "The topic stands for several resources.")
    }).pipe(Effect.provide(TestConsole.layer)))

  it.live("names a state file that is damaged or cannot be written", () =>
    Effect.gen(function*() {
      const { go, hook, state } = yield* open([event(4, "past") + event(5, "a")])
      yield* go()
      const file = stateFile(state)
      writeFileSync(file, "{}")
      assert.strictEqual(
        yield* go(),
        `ForwardStateError: ${file} is damaged. Remove it; the command then starts with new notifications.`
      )
      const none = yield* run("/dev/null", ["--token", "t", topic, hook.url])
      assert.match(none, /^ForwardStateError: \/dev\/null\/windhover\/forward\/.* cannot be read/)
    }).pipe(Effect.provide(TestConsole.layer)))
})
