import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import http from "node:http"
import type { AddressInfo } from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { fetch, live } from "#test/support/Fetching.ts"

const victim = "127.0.0.77"
const count = 30

/** Names of a stranger: `a1.example` is a server of its own that redirects to the victim, `v1.example` has the victim's address. */
const hostsFile = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "windhover-hosts-")), "hosts")
fs.writeFileSync(
  hostsFile,
  Array.from({ length: count }, (_, i) => `127.5.0.${i + 1} a${i}.example\n${victim} v${i}.example w${i}.example\n`)
    .join("")
)

interface World {
  readonly port: number
  readonly startedAt: ReadonlyArray<number>
  readonly maxRunning: () => number
}

/** A server on all addresses of 127/8. Requests to the victim take 20 ms. */
const openWorld = Effect.acquireRelease(
  Effect.promise(() =>
    new Promise<World & { readonly server: http.Server }>((resolve) => {
      const startedAt: Array<number> = []
      let [running, max] = [0, 0]
      const server = http.createServer(({ headers, socket, url }, response) => {
        const target = /^a(\d+)\.example:(\d+)$/.exec(headers.host ?? "")
        if (socket.localAddress !== victim && target !== null) {
          const host = url?.startsWith("/one") === true ? 0 : target[1]
          return void response.writeHead(302, { location: `http://w${host}.example:${target[2]}${url}` }).end()
        }
        startedAt.push(performance.now())
        max = Math.max(max, ++running)
        setTimeout(() => {
          running--
          response.end("page")
        }, 20)
      })
      server.listen(0, "0.0.0.0", () =>
        resolve({
          server,
          port: (server.address() as AddressInfo).port,
          startedAt,
          maxRunning: () => max
        }))
    })
  ),
  ({ server }) => Effect.sync(() => server.close().closeAllConnections())
)

describe("amplification of fetches", () => {
  live(
    "a victim behind redirects and names of a stranger gets the politeness of one host",
    () =>
      Effect.gen(function*() {
        const { maxRunning, port, startedAt } = yield* openWorld
        const urls = Array.from(
          { length: count },
          (_, i) => [`http://a${i}.example:${port}/${i}`, `http://v${i}.example:${port}/${i}`]
        )
        yield* Effect.forEach(urls.flat(), (url) => fetch({ url, strangersOnly: true }), { concurrency: "unbounded" })
        assert.strictEqual(startedAt.length, 2 * count)
        assert.strictEqual(maxRunning(), 2)
        const seconds = ((startedAt.at(-1) ?? 0) - (startedAt[0] ?? 0)) / 1000
        // ten at once, then 20 a second
        assert.isAtLeast(seconds, (2 * count - 10) / 20 - 0.2)
      }),
    { hostsFile }
  )

  live("an account's fetch waits for no stranger, and strangers wait in a bounded line", () =>
    Effect.gen(function*() {
      const { port, startedAt } = yield* openWorld
      const urls = Array.from({ length: 100 }, (_, i) => `http://v${i % count}.example:${port}/${i}`)
      const [refused, startedBefore] = yield* Effect.all([
        Effect.forEach(
          urls,
          (url) => Effect.match(fetch({ url, strangersOnly: true }), { onFailure: String, onSuccess: () => undefined }),
          { concurrency: "unbounded" }
        ),
        Effect.map(fetch(`http://v0.example:${port}/account`), () => startedAt.length)
      ], { concurrency: "unbounded" })
      assert.isBelow(startedBefore, 20)
      const texts = refused.filter((text) => text !== undefined)
      assert.isAtLeast(texts.length, 30)
      assert.match(texts[0] ?? "", /v\d+\.example: not asked, because many fetches wait for this host/)
      assert.strictEqual(startedAt.length, urls.length - texts.length + 1)
    }), { hostsFile })

  live(
    "redirects of accounts to one host take the turns of this host",
    () =>
      Effect.gen(function*() {
        const { maxRunning, port, startedAt } = yield* openWorld
        const urls = Array.from({ length: 40 }, (_, i) => `http://a${i % count}.example:${port}/one/${i}`)
        yield* Effect.forEach(urls, (url) => fetch({ url, deadline: 1_200 }), { concurrency: "unbounded" })
        assert.deepStrictEqual([startedAt.length, maxRunning()], [40, 2])
        // ten at once, then 20 a second; the deadline stands still meanwhile
        assert.isAtLeast((startedAt.at(-1) ?? 0) - (startedAt[0] ?? 0), 1_400)
      }),
    { hostsFile }
  )

  live("an account's redirect does not wait behind strangers at the target", () =>
    Effect.gen(function*() {
      const { port, startedAt } = yield* openWorld
      const strangers = Array.from({ length: 40 }, (_, i) => `http://w0.example:${port}/${i}`)
      const [, startedBefore] = yield* Effect.all([
        Effect.forEach(strangers, (url) => fetch({ url, strangersOnly: true }), { concurrency: "unbounded" }),
        Effect.map(fetch(`http://a1.example:${port}/one/account`), () => startedAt.length)
      ], { concurrency: "unbounded" })
      assert.isBelow(startedBefore, 20)
    }), { hostsFile })
})
