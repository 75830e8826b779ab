import { assert, describe, it } from "@effect/vitest"
import { Effect, Latch, Layer, type Scope } from "effect"
import zlib from "node:zlib"
import * as Fingerprint from "#domain/Fingerprint.ts"
import { type Fetched, Fetcher, type FetchError, type FetchRequest } from "#domain/ports/Fetcher.ts"
import * as FetcherUndici from "#layers/outbound/FetcherUndici.ts"
import * as Network from "#layers/outbound/Network.ts"
import { version } from "#layers/outbound/Version.ts"
import { serve } from "#test/support/Servers.ts"

const layer = FetcherUndici.layer.pipe(
  Layer.provide(Network.layerWith({ allowPrivate: true, baseUrl: "http://windhover.example" }))
)

/** A test with real sockets and the real clock. */
const test = (name: string, body: () => Effect.Effect<void, FetchError | Fetched, Fetcher | Scope.Scope>) =>
  it.live(name, () => Effect.scoped(Effect.provide(body(), layer)))

const fetch = (request: FetchRequest | string) =>
  Fetcher.use((fetcher) => fetcher.fetch(typeof request === "string" ? { url: request } : request))

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()

describe("FetcherUndici", () => {
  test("fetches a document with its headers and its hash", () =>
    Effect.gen(function*() {
      const origin = yield* serve((_, response) => {
        response.setHeader("ETag", "\"7\"").setHeader("X-Many", ["a", "b"]).setHeader("Set-Cookie", ["id=1", "id=2"])
          .end("<rss/>")
      })
      const fetched = yield* fetch(`${origin.url}/feed.xml?a=1#frag`)
      assert.strictEqual(fetched.status, 200)
      assert.strictEqual(text(fetched.body), "<rss/>")
      assert.strictEqual(fetched.signature, Fingerprint.hashBytes(Buffer.from("<rss/>")))
      assert.strictEqual(fetched.headers["etag"], "\"7\"")
      assert.strictEqual(fetched.headers["x-many"], "a, b")
      assert.isUndefined(fetched.headers["set-cookie"])
      assert.strictEqual(fetched.finalUrl, `${origin.url}/feed.xml?a=1`)
      assert.isUndefined(fetched.permanentUrl)
      assert.deepStrictEqual(origin.seen.map(({ path }) => path), ["/feed.xml?a=1"])
    }))

  test("sends User-Agent and Accept, and keeps no cookies after a fetch", () =>
    Effect.gen(function*() {
      const origin = yield* serve((_, response) => response.setHeader("Set-Cookie", "id=1").end())
      yield* fetch(`${origin.url}/a`)
      yield* fetch(`${origin.url}/b`)
      for (const { headers } of origin.seen) {
        assert.strictEqual(headers["user-agent"], `Windhover/${version} (+http://windhover.example)`)
        assert.strictEqual(headers["accept-encoding"], "gzip, deflate, br, zstd")
        assert.include(headers.accept ?? "", "application/atom+xml")
        assert.isUndefined(headers.cookie)
        assert.isUndefined(headers["if-none-match"])
      }
      assert.strictEqual(origin.connections(), 1)
    }))

  test("sends validators verbatim, and returns an empty body for 304", () =>
    Effect.gen(function*() {
      const origin = yield* serve((_, response) => response.writeHead(304, { ETag: "W/\"x\"" }).end())
      const fetched = yield* fetch({ url: origin.url, etag: "W/\"x, y\"", lastModified: "yesterday at noon" })
      assert.strictEqual(fetched.status, 304)
      assert.strictEqual(fetched.body.length, 0)
      assert.strictEqual(fetched.signature, Fingerprint.hashBytes(new Uint8Array(0)))
      assert.strictEqual(fetched.headers["etag"], "W/\"x\"")
      assert.strictEqual(origin.seen[0]?.headers["if-none-match"], "W/\"x, y\"")
      assert.strictEqual(origin.seen[0]?.headers["if-modified-since"], "yesterday at noon")
    }))

  test("omits a validator that is not a valid header field", () =>
    Effect.gen(function*() {
      const origin = yield* serve((_, response) => response.end("x"))
      yield* fetch({ url: origin.url, etag: "\"a\"\r\nX-Evil: 1", lastModified: "\u{1f426}" })
      assert.isUndefined(origin.seen[0]?.headers["if-none-match"])
      assert.isUndefined(origin.seen[0]?.headers["if-modified-since"])
      assert.isUndefined(origin.seen[0]?.headers["x-evil"])
    }))

  test("decompresses small and large bodies", () =>
    Effect.gen(function*() {
      const document = Buffer.from(Array.from({ length: 300_000 }, (_, i) => 32 + (i * i + (i >> 5)) % 90))
      const packed: Readonly<Record<string, Buffer>> = {
        gzip: zlib.gzipSync(document),
        br: zlib.brotliCompressSync(document, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 3 } }),
        zstd: zlib.zstdCompressSync(document),
        deflate: zlib.deflateRawSync(document)
      }
      const origin = yield* serve(({ path }, response) => {
        response.setHeader("Content-Encoding", path.slice(1)).end(packed[path.slice(1)])
      })
      for (const encoding of Object.keys(packed)) {
        const fetched = yield* fetch(`${origin.url}/${encoding}`)
        assert.strictEqual(fetched.signature, Fingerprint.hashBytes(document), encoding)
      }
    }))

  test("follows redirects, and reports the target of a permanent chain", () =>
    Effect.gen(function*() {
      const origin = yield* serve(({ path }, response) => {
        const [status, next] = { "/a": [301, "/b"], "/b": [308, "c"], "/t": [302, "/b"] }[path] ?? [200, ""]
        response.writeHead(Number(status), next === "" ? {} : { Location: String(next) }).end(path)
      })
      const permanent = yield* fetch({ url: `${origin.url}/a`, etag: "\"1\"" })
      assert.deepStrictEqual([permanent.finalUrl, permanent.permanentUrl], [`${origin.url}/c`, `${origin.url}/c`])
      assert.strictEqual(text(permanent.body), "/c")
      assert.deepStrictEqual(origin.seen.map(({ headers }) => headers["if-none-match"]), ["\"1\"", "\"1\"", "\"1\""])
      const temporary = yield* fetch(`${origin.url}/t`)
      assert.deepStrictEqual([temporary.finalUrl, temporary.permanentUrl], [`${origin.url}/c`, undefined])
      assert.strictEqual(origin.connections(), 1)
    }))

  test("follows five redirects, not six, and returns a redirect without Location", () =>
    Effect.gen(function*() {
      const origin = yield* serve(({ path }, response) => {
        const left = Number(path.slice(1))
        response.writeHead(left === 0 ? 200 : 302, left === 0 ? {} : { Location: `/${left - 1}` }).end()
      })
      assert.strictEqual((yield* fetch(`${origin.url}/5`)).status, 200)
      const error = yield* Effect.flip(fetch(`${origin.url}/6`))
      assert.deepStrictEqual([error.reason._tag, error.message], ["Redirects", "127.0.0.1: more than 5 redirects"])
      const bare = yield* serve((_, response) => response.writeHead(302).end("here"))
      const fetched = yield* fetch(bare.url)
      assert.deepStrictEqual([fetched.status, text(fetched.body)], [302, "here"])
    }))

  test("sends the cookies of a redirect back, until the end of the fetch", () =>
    Effect.gen(function*() {
      const origin = yield* serve(({ headers, path }, response) => {
        if (path === "/feed" && headers.cookie === "seen=1; ok=2") return response.end("<rss/>")
        const [status, target, cookies] = path === "/feed"
          ? [301, "/check", "seen=1; Path=/"] as const
          : [302, "/feed", ["ok=2; Path=/; HttpOnly", "other=3; Path=/check"]] as const
        response.setHeader("Set-Cookie", cookies).writeHead(status, { Location: target }).end()
      })
      for (const since of [undefined, 0]) {
        const fetched = yield* fetch({ url: `${origin.url}/feed`, ...(since === undefined ? {} : { since }) })
        assert.deepStrictEqual([text(fetched.body), fetched.finalUrl], ["<rss/>", `${origin.url}/feed`])
      }
      assert.deepStrictEqual(origin.seen.map(({ headers }) => headers.cookie), [
        undefined,
        "seen=1",
        "seen=1; ok=2",
        undefined,
        "seen=1",
        "seen=1; ok=2"
      ])
    }))

  test("sends a cookie to no other host", () =>
    Effect.gen(function*() {
      const other = yield* serve((_, response) => response.end("there"), { host: "127.0.0.2" })
      const origin = yield* serve((_, response) => {
        response.writeHead(302, { Location: other.url, "Set-Cookie": ["a=1", "b=1; Domain=127.0.0.2"] }).end()
      })
      assert.strictEqual(text((yield* fetch(origin.url)).body), "there")
      assert.isUndefined(other.seen[0]?.headers.cookie)
    }))

  test("follows the same Location given twice, and refuses two different ones", () =>
    Effect.gen(function*() {
      const origin = yield* serve(({ path }, response) => {
        if (path === "/same") response.writeHead(301, { Location: ["/end", "/end"] }).end()
        else if (path === "/two") response.writeHead(302, { Location: ["/end", "/other"] }).end()
        else response.end(path)
      })
      const fetched = yield* fetch(`${origin.url}/same`)
      assert.deepStrictEqual([text(fetched.body), fetched.permanentUrl], ["/end", `${origin.url}/end`])
      const error = yield* Effect.flip(fetch(`${origin.url}/two`))
      assert.deepStrictEqual([error.reason._tag, error.message], [
        "Redirects",
        "127.0.0.1: redirects to two different addresses"
      ])
      assert.deepStrictEqual(origin.seen.map(({ path }) => path), ["/same", "/end", "/two"])
    }))

  test("returns the beginning of error pages", () =>
    Effect.gen(function*() {
      const origin = yield* serve(({ path }, response) => {
        const headers = path === "/broken" ? { "Content-Encoding": "br" } : {}
        response.writeHead(503, { "Retry-After": "120", ...headers }).end(Buffer.alloc(300_000, 1))
      })
      const fetched = yield* fetch(origin.url)
      assert.deepStrictEqual([fetched.status, fetched.headers["retry-after"]], [503, "120"])
      assert.strictEqual(fetched.body.length, 65_536)
      const broken = yield* fetch(`${origin.url}/broken`)
      assert.deepStrictEqual([broken.status, broken.body.length], [503, 0])
    }))

  test("closes the connection when the fiber is interrupted", () =>
    Effect.gen(function*() {
      const arrived = yield* Latch.make()
      const origin = yield* serve(() => void arrived.openUnsafe())
      yield* Effect.raceFirst(fetch(origin.url), arrived.await)
      yield* origin.quiet
      assert.strictEqual(origin.seen.length, 1)
    }))

  test("retries once when an idle connection turns out to be closed", () =>
    Effect.gen(function*() {
      const origin = yield* serve(({ path }, response) => {
        if (path === "/second" && origin.seen.length === 2) return response.socket?.resetAndDestroy()
        if (path === "/never") return response.socket?.resetAndDestroy()
        response.end(path)
      })
      yield* fetch(`${origin.url}/first`)
      assert.strictEqual(text((yield* fetch(`${origin.url}/second`)).body), "/second")
      assert.deepStrictEqual(origin.seen.map(({ path }) => path), ["/first", "/second", "/second"])
      const error = yield* Effect.flip(fetch(`${origin.url}/never`))
      assert.deepStrictEqual([error.reason._tag, error.message], [
        "Protocol",
        "127.0.0.1: the connection was reset before an answer came"
      ])
      assert.strictEqual(origin.seen.length, 5)
    }))

  test("distinguishes a refused connection, a missing name and another URL scheme", () =>
    Effect.gen(function*() {
      const closed = yield* Effect.scoped(serve(() => {}))
      const refused = yield* Effect.flip(fetch(closed.url))
      assert.deepStrictEqual([refused.reason._tag, refused.message], ["Connect", "127.0.0.1: connection refused"])
      const odd = yield* Effect.flip(fetch("ftp://example.org/"))
      assert.deepStrictEqual([odd.reason._tag, odd.message], ["Protocol", "not an http or https URL"])
      assert.strictEqual((yield* Effect.flip(fetch("nonsense"))).reason._tag, "Protocol")
    }))

  test("frees the memory of a released body, and of no other body", () =>
    Effect.gen(function*() {
      const large = "<rss>" + "x".repeat(200_000) + "</rss>"
      const origin = yield* serve(({ path }, response) => {
        if (path === "/packed") {
          return response.setHeader("Content-Encoding", "gzip").end(zlib.gzipSync(large, { level: 0 }))
        }
        response.end(path === "/small" ? "<rss/>" : large)
      })
      const released = [yield* fetch(`${origin.url}/large`), yield* fetch(`${origin.url}/packed`)]
      const [kept, small] = [yield* fetch(`${origin.url}/large`), yield* fetch(`${origin.url}/small`)]
      for (const { body, release } of [...released, small]) {
        assert.isAbove(body.length, 0)
        release?.()
        release?.()
      }
      yield* Effect.promise(() => Promise.resolve())
      assert.deepStrictEqual(released.map(({ body }) => body.length), [0, 0])
      assert.strictEqual(text(kept.body), large)
      assert.strictEqual(text((yield* fetch(`${origin.url}/large`)).body), large)
    }))

  test("keeps reading after a response that is released at once", () =>
    Effect.gen(function*() {
      const answer = `HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n${"x".repeat(40_000)}`
      const origin = yield* serve(({ path }, response) =>
        path === "/more" ? response.socket?.write(`${answer}HTTP/1.1 200 OK\r\nServer: y\r\n\r\n`) : response.end(path)
      )
      const fetched = yield* Effect.tap(fetch(`${origin.url}/more`), ({ release }) => Effect.sync(() => release?.()))
      assert.strictEqual(text((yield* fetch(`${origin.url}/next`)).body), "/next")
      assert.strictEqual(fetched.body.length, 0)
    }))

  test("does not release a shared body", () =>
    Effect.gen(function*() {
      const origin = yield* serve((_, response) => response.end("x".repeat(100_000)))
      const request = { url: origin.url, since: 0, shared: true }
      const [first, second] = [yield* fetch(request), yield* fetch(request)]
      assert.deepStrictEqual([first.release, second.release], [undefined, undefined])
      assert.strictEqual(second.body.length, 100_000)
      assert.strictEqual(origin.seen.length, 1)
    }))

  test("uses a bounded number of connections for many fetches of one origin", () =>
    Effect.gen(function*() {
      const origin = yield* serve(({ path }, response) => response.end(path))
      const paths = Array.from({ length: 200 }, (_, i) => `/${i}`)
      const bodies = yield* Effect.forEach(paths, (path) => fetch(origin.url + path), { concurrency: "unbounded" })
      assert.deepStrictEqual(bodies.map(({ body }) => text(body)), paths)
      assert.isAtMost(origin.connections(), 16)
    }))
})
