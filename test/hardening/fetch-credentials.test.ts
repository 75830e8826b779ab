import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { failureOf, fetch, live } from "#test/support/Fetching.ts"
import { type Seen, serve, serveRaw } from "#test/support/Servers.ts"

const authorizations = (seen: ReadonlyArray<Seen>) => seen.map(({ headers }) => headers.authorization)

const basic = `Basic ${Buffer.from("user:hush").toString("base64")}`

/** Credentials in a URL go to their own origin only: to no other host, message or final URL. Cookies stay within their fetch. */
describe("credentials in URLs", () => {
  live("go to their own origin, also after redirects within it", () =>
    Effect.gen(function*() {
      const origin = yield* serve(({ path }, response) => {
        if (path === "/a") response.writeHead(301, { Location: "/b" })
        response.end()
      })
      const fetched = yield* fetch(`http://user:hush@127.0.0.1:${origin.port}/a#x`)
      assert.deepStrictEqual(authorizations(origin.seen), [basic, basic])
      assert.strictEqual(fetched.finalUrl, `${origin.url}/b`)
      assert.isUndefined(fetched.permanentUrl, "the new URL would lack them")
    }))

  live("do not go to another host or port", () =>
    Effect.gen(function*() {
      const other = yield* serve((_, response) => response.end())
      const origin = yield* serve(({ path }, response) => {
        const target = path === "/host" ? `http://localhost:${other.port}/` : other.url
        response.writeHead(302, { Location: target }).end()
      })
      yield* fetch(`http://user:hush@127.0.0.1:${origin.port}/port`)
      yield* fetch(`http://user:hush@127.0.0.1:${origin.port}/host`)
      assert.deepStrictEqual(authorizations(origin.seen), [basic, basic])
      assert.deepStrictEqual(authorizations(other.seen), [undefined, undefined])
    }))

  live("go to their origin again when a redirect chain returns there", () =>
    Effect.gen(function*() {
      const back: { url: string } = { url: "" }
      const other = yield* serve((_, response) => response.writeHead(302, { Location: back.url }).end())
      const origin = yield* serve(({ path }, response) => {
        if (path === "/a") response.writeHead(302, { Location: other.url })
        response.end()
      })
      back.url = `${origin.url}/b`
      yield* fetch(`http://user:hush@127.0.0.1:${origin.port}/a`)
      assert.deepStrictEqual(authorizations(other.seen), [undefined])
      assert.deepStrictEqual(authorizations(origin.seen), [basic, basic])
    }))

  live("in a Location are dropped", () =>
    Effect.gen(function*() {
      const other = yield* serve((_, response) => response.end())
      const origin = yield* serve((_, response) => {
        response.writeHead(302, { Location: `http://eve:hush@127.0.0.1:${other.port}/` }).end()
      })
      const fetched = yield* fetch(origin.url)
      assert.deepStrictEqual(authorizations(other.seen), [undefined])
      assert.notInclude(fetched.finalUrl, "hush")
    }))

  live("appear in no message", () =>
    Effect.gen(function*() {
      const silent = yield* serve(() => {})
      const reset = yield* serveRaw((socket) => socket.resetAndDestroy())
      const loop = yield* serve((_, response) =>
        response.writeHead(302, { Location: "http://user:hush@127.0.0.1:1/" }).end()
      )
      const closed = yield* Effect.scoped(serve(() => {}))
      for (const port of [silent.port, reset.port, loop.port, closed.port, 25]) {
        const failure = yield* failureOf({ url: `http://user:hush@127.0.0.1:${port}/?hush`, deadline: 100 })
        assert.notInclude(failure, "hush")
        assert.notInclude(failure, "user")
      }
      assert.notInclude(yield* failureOf("http://user:hush@no.such.invalid:x/"), "hush")
      assert.notInclude(yield* failureOf("ftp://user:hush@127.0.0.1/"), "hush")
    }))

  live("cookies of a response are not in a later fetch", () =>
    Effect.gen(function*() {
      const origin = yield* serve(({ path }, response) => {
        response.setHeader("Set-Cookie", "session=1; Path=/")
        if (path === "/a") response.writeHead(302, { Location: "/b" })
        response.end()
      })
      yield* fetch(`${origin.url}/a`)
      const fetched = yield* fetch(`${origin.url}/a`)
      assert.deepStrictEqual(origin.seen.map(({ headers }) => headers.cookie), [
        undefined,
        "session=1",
        undefined,
        "session=1"
      ])
      assert.isUndefined(fetched.headers["set-cookie"])
    }))
})
