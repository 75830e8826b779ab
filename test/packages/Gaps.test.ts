import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { createReceiver, retrieveMissing } from "#packages/receiver/src/index.ts"
import { toNodeListener } from "#packages/receiver/src/node.ts"
import { awaitCondition } from "#test/support/AwaitCondition.ts"
import { available } from "#test/support/Available.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { httpServer } from "#test/support/HttpServer.ts"
import { startProgram } from "#test/support/Program.ts"
import { authorization, outside, patience, type Service, start, token } from "#test/support/Service.ts"

/** Debian's Python, as in the other tests. */
const python = "/usr/bin/python3"
const hasPython = await available(
  "Python (apt-get install python3)",
  promisify(execFile)(python, ["-c", "import sqlite3"])
)

const secret = "a-secret"

/** A receiver in this process, which tells the lines that the program in Python prints. */
const startReceiver = Effect.fnUntraced(function*(service: Service, topic: string) {
  const said: Array<string> = []
  const retrieve = retrieveMissing({ url: service.url, login: "admin", token })
  const receiver = createReceiver({
    secret,
    topics: [topic],
    onGap: (gap) => {
      said.push(["gap", ...gap.missing].join(" "))
      return retrieve(gap)
    },
    onNotification: (notification) => {
      const items = notification.format === "json" ? notification.feed.items ?? [] : []
      const name = notification.test === true ? "test" : notification.sequence
      said.push([name, ...items.map(({ id }) => id).toReversed()].join(" "))
    }
  })
  return { url: yield* httpServer(toNodeListener(receiver)), said: () => said, until: () => Effect.void }
})

const startPython = Effect.fnUntraced(function*(service: Service, topic: string) {
  const args = ["python/example.py", "../../packages/python"].map((path) => join(import.meta.dirname, path))
  const program = yield* startProgram(python, [...args, secret, topic, service.url, token])
  yield* program.until(() => program.said.length > 0)
  return {
    url: program.said[0]?.replace("ready on ", "") ?? "",
    said: () => program.said.slice(1),
    /** Resolves when the program has told `count` lines, which come after its answers. */
    until: (count: number) => program.until(() => program.said.length > count)
  }
})

/** A server before a receiver. It accepts the notifications `lost`, and stores them nowhere. */
const startForgetful = Effect.fnUntraced(function*(target: string, lost: ReadonlyArray<number>) {
  const answered = new Set<number>()
  const waiting = new Set<() => void>()
  const url = yield* httpServer(async (request, response) => {
    const chunks: Array<Uint8Array> = []
    for await (const chunk of request) chunks.push(chunk)
    const sequence = Number(request.headers["x-windhover-sequence"])
    if (lost.includes(sequence)) response.end()
    else {
      const headers = Object.entries(request.headers).filter(([name]) => /^(?:x-|webhook-|content-type$)/.test(name))
      const answer = await fetch(`${target}${request.url}`, {
        method: request.method ?? "",
        headers: headers.map(([name, value]) => [name, String(value)]),
        ...(request.method === "POST" && { body: Buffer.concat(chunks) })
      })
      response.writeHead(answer.status).end(await answer.text())
    }
    answered.add(sequence)
    for (const look of waiting) look()
  })
  const has = awaitCondition(waiting)
  return { url: `${url}/hook`, until: (sequence: number) => has(() => answered.has(sequence)) }
})

/** Sends a test to a callback. */
const sendTest = (service: Service, callback: string, topic: string) =>
  Effect.promise(async () => {
    const response = await fetch(`${service.url}/api/test`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ callback, secret, topic, format: "json" })
    })
    const { accepted, code } = await response.json() as { readonly accepted?: boolean; readonly code?: number }
    return [response.status, accepted, code]
  })

describe.skipIf(!hasPython)("a gap behind a running service", () => {
  it.live("is filled once for each stored notification, in order, with tests in between", () =>
    Effect.gen(function*() {
      const web = yield* outside
      const [topic = ""] = web.feeds
      const service = yield* start({ WINDHOVER_DATA_DIR: yield* temporaryDirectory })
      const receivers = [yield* startReceiver(service, topic), yield* startPython(service, topic)]
      const servers = yield* Effect.forEach(receivers, ({ url }) => startForgetful(url, [2, 3, 4]))
      const call = (mode: string, callback: string) =>
        service.call({
          "hub.mode": mode,
          "hub.topic": topic,
          "hub.callback": callback,
          "hub.secret": secret,
          "hub.verify": "sync",
          format: "json"
        })
      const callAll = Effect.fnUntraced(function*(mode: string) {
        for (const { url } of servers) assert.strictEqual((yield* call(mode, url)).status, 204)
      })
      const publish = Effect.fnUntraced(function*(id: string, sequence: number) {
        web.publish(id)
        yield* service.call({ "hub.mode": "publish", "hub.url": topic })
        yield* Effect.forEach(servers, ({ until }) => until(sequence))
      })
      const testAll = Effect.fnUntraced(function*() {
        for (const { url } of servers) {
          assert.deepStrictEqual(yield* sendTest(service, url, topic), [200, true, 200])
        }
      })
      yield* callAll("subscribe")
      yield* testAll()
      yield* publish("a", 1)
      yield* publish("b", 2)
      yield* publish("c", 3)
      yield* testAll()
      yield* callAll("replay") // the number 4, which no page has
      yield* publish("d", 5)
      const expected = ["test first", "1 a", "test c", "gap 2 3 4", "2 b", "3 c", "5 d"]
      for (const { said, until } of receivers) {
        yield* until(expected.length)
        assert.deepStrictEqual(said(), expected)
      }
    }), patience)
})
