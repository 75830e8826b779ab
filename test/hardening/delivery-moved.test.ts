import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import http from "node:http"
import type { AddressInfo } from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { Deliverer } from "#domain/ports/Deliverer.ts"
import { live } from "#test/support/Fetching.ts"

const count = 40
const agreed = "127.6.0.0/24"

/** Names of a stranger: `a0.example` has the address that agreed, all others lead to one victim. */
const hostsFile = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "windhover-hosts-")), "hosts")
fs.writeFileSync(
  hostsFile,
  [
    "127.6.0.1 a0.example",
    "127.7.0.9 a0.example",
    ...Array.from({ length: count }, (_, i) => `127.7.0.9 v${i}.example`)
  ]
    .join("\n")
)

/** A server on all addresses of 127/8 that answers after 20 ms, and counts the bytes of bodies. */
const openServer = (status: number, beginsAt = Infinity) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      new Promise<{ readonly server: http.Server; readonly seen: Seen }>((resolve) => {
        const seen: Seen = { startedAt: [], bytes: 0, running: 0, maxRunning: 0, addresses: [] }
        const server = http.createServer((request, response) => {
          seen.startedAt.push(performance.now())
          seen.addresses.push(request.socket.localAddress ?? "")
          seen.maxRunning = Math.max(seen.maxRunning, ++seen.running)
          response.on("close", () => seen.running--)
          const finish = () => response.headersSent ? undefined : response.writeHead(status).end("no")
          request.on("data", (chunk: Buffer) => {
            seen.bytes += chunk.length
            if (seen.bytes >= beginsAt) finish()
          })
          request.on("error", () => undefined)
          request.on("end", () => setTimeout(finish, 20))
        })
        server.listen(0, "0.0.0.0", () => resolve({ server, seen }))
      })
    ),
    ({ server }) => Effect.sync(() => server.close().closeAllConnections())
  ).pipe(Effect.map(({ seen, server }) => ({ port: (server.address() as AddressInfo).port, seen })))

interface Seen {
  readonly startedAt: Array<number>
  readonly addresses: Array<string>
  bytes: number
  running: number
  maxRunning: number
}

const post = (callback: string, mayIntroduce: boolean, body: Uint8Array = Buffer.from("x")) =>
  Deliverer.use((deliverer) =>
    deliverer.post({
      id: "1-1",
      callback,
      contentType: "text/plain",
      body,
      headers: [],
      consent: { isAgreed: (network) => network === agreed, mayIntroduce }
    })
  ).pipe(
    Effect.match({
      onFailure: ({ isElsewhere, message, reason }) => [reason._tag, message, isElsewhere],
      onSuccess: ({ isElsewhere, status }) => [status, undefined, isElsewhere]
    })
  )

describe("deliveries to names that moved", () => {
  live(
    "a victim behind many names gets the politeness of one host, and the answers name the move",
    () =>
      Effect.gen(function*() {
        const { port, seen } = yield* openServer(404)
        const answers = yield* Effect.forEach(
          Array.from({ length: count }, (_, i) => `http://v${i}.example:${port}/`),
          (callback) => post(callback, true),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(new Set(answers.map(String)), new Set(["404,,true"]))
        assert.strictEqual(seen.maxRunning, 2)
        const seconds = ((seen.startedAt.at(-1) ?? 0) - (seen.startedAt[0] ?? 0)) / 1000
        // ten at once, then 20 a second
        assert.isAtLeast(seconds, (count - 10) / 20 - 0.2)
      }),
    { hostsFile }
  )

  live("a callback that failed gets nothing at another network, not even a connection", () =>
    Effect.gen(function*() {
      const { port, seen } = yield* openServer(404)
      assert.deepStrictEqual(yield* post(`http://v1.example:${port}/`, false), [
        "Moved",
        "v1.example: its name leads to another network than the one that agreed; the callback is asked again before the next attempt",
        true
      ])
      assert.deepStrictEqual(yield* post(`http://127.7.0.9:${port}/`, false).pipe(Effect.map(([tag]) => tag)), "Moved")
      assert.strictEqual(seen.startedAt.length, 0)
    }), { hostsFile })

  live("a name with several addresses is used where it agreed", () =>
    Effect.gen(function*() {
      const { port, seen } = yield* openServer(200)
      assert.deepStrictEqual(yield* post(`http://a0.example:${port}/`, false), [200, undefined, undefined])
      assert.deepStrictEqual(seen.addresses, ["127.6.0.1"])
    }), { hostsFile })

  live("a connection to another address of the name is noticed before the first byte", () =>
    Effect.gen(function*() {
      const { port, seen } = yield* openServer(200)
      const answer = yield* Deliverer.use((deliverer) =>
        deliverer.post({
          id: "1-1",
          callback: `http://a0.example:${port}/`,
          contentType: "text/plain",
          body: Buffer.from("x"),
          headers: [],
          // the second address of the name agreed, and the first one is dialled
          consent: { isAgreed: (network) => network === "127.7.0.0/24", mayIntroduce: false }
        })
      ).pipe(Effect.flip)
      assert.strictEqual(answer.reason._tag, "Moved")
      assert.strictEqual(seen.startedAt.length, 0)
    }), { hostsFile })
})

describe("large documents", () => {
  live("stop when a refusal begins", () =>
    Effect.gen(function*() {
      const { port, seen } = yield* openServer(503, 100_000)
      const body = Buffer.alloc(64 << 20, 120)
      const answer = yield* Deliverer.use((deliverer) =>
        deliverer.post({
          id: "1-1",
          callback: `http://127.6.0.1:${port}/`,
          contentType: "text/plain",
          body,
          headers: [],
          stopsEarly: true
        })
      )
      assert.deepStrictEqual([answer.status, answer.excerpt], [503, "no"])
      assert.isBelow(seen.bytes, 16 << 20)
    }))

  live("arrive whole where the callback accepts them", () =>
    Effect.gen(function*() {
      const { port, seen } = yield* openServer(200)
      const post = Deliverer.use((deliverer) =>
        deliverer.post({
          id: "1-1",
          callback: `http://127.6.0.1:${port}/`,
          contentType: "text/plain",
          body: Buffer.alloc(1_000_003, 120),
          headers: [],
          stopsEarly: true
        })
      )
      assert.deepStrictEqual([(yield* post).status, (yield* post).status, seen.bytes], [200, 200, 2_000_006])
    }))
})
