import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Inspector } from "#actors/operations/Inspector.ts"
import * as InspectorLayer from "#actors/operations/InspectorLayer.ts"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import type { Fragment } from "#domain/poll/Fragment.ts"
import { AddressCheck } from "#domain/ports/AddressCheck.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { FeedReader, type ReadResult } from "#domain/ports/FeedReader.ts"
import { type Fetched, Fetcher, FetchError } from "#domain/ports/Fetcher.ts"
import { type Outline, Selector, SelectorError } from "#domain/ports/Selector.ts"
import * as Settings from "#layers/Settings.ts"
import { caller } from "#test/support/Api.ts"

const page = "https://a.example/"

interface World {
  /** Bodies by URL. Other URLs have no answer. */
  readonly bodies: Map<string, string | Uint8Array>
  /** Results of the reader by body. */
  readonly results: Map<string, ReadResult>
  /** Fetches, and the bytes of the memory during each selection. */
  readonly fetched: Array<string>
  readonly held: Array<readonly [string, number]>
  selected: string
}

const html: ReadResult = { _tag: "NotFeed", kind: "html", reason: "it is a page" }

const fetchedOf = (url: string, body: string | Uint8Array): Fetched => ({
  status: 200,
  headers: { "content-type": "text/html; charset=utf-8" },
  body: Buffer.from(body),
  signature: 0n,
  finalUrl: url
})

const outline: Outline = {
  lines: [{ depth: 0, label: "p", text: "Text", path: "p", isSelected: false }],
  isCut: false
}

const invalid = new SelectorError({ reason: { _tag: "Invalid", message: "p:: is no path" } })

/** The inspector over a web in memory. A path with `::` fails. */
const makeWorld = Effect.gen(function*() {
  const world: World = { bodies: new Map(), results: new Map(), fetched: [], held: [], selected: "chosen" }
  const reading = new MemoryBudget()
  const select = <A>(name: string, fragment: Fragment | undefined, result: A) =>
    Effect.suspend(() => {
      world.held.push([`${name} ${fragment?.path ?? ""}`.trim(), reading.bytes])
      return fragment?.path.includes("::") === true ? Effect.fail(invalid) : Effect.succeed(result)
    })
  const context = yield* Layer.build(InspectorLayer.layer.pipe(Layer.provide([
    Layer.succeed(Fetcher, {
      fetch: ({ url }) =>
        Effect.suspend(() => {
          world.fetched.push(url)
          const body = world.bodies.get(url)
          return body === undefined
            ? Effect.fail(new FetchError({ reason: { _tag: "Dns", message: "a.example\nis unknown" } }))
            : Effect.succeed(fetchedOf(url, body))
        })
    }),
    Layer.mock(FeedReader, {
      read: (bytes) => Effect.sync(() => world.results.get(Buffer.from(bytes).toString()) ?? html)
    }),
    Layer.mock(Selector, {
      outline: ({ fragment }) => select("outline", fragment, outline),
      select: ({ fragment }) =>
        Effect.suspend(() =>
          select("select", fragment, {
            matches: 1,
            document: { contentType: "text/html; charset=utf-8", body: Buffer.from(world.selected) }
          })
        )
    }),
    Layer.mock(AddressCheck, {
      explain: (url) => Effect.succeed(url.includes("10.0.0.1") ? "The address 10.0.0.1 is private." : undefined)
    }),
    Layer.succeed(DocumentMemory, { fetches: new MemoryBudget(), reading, exchanges: new MemoryBudget() }),
    Settings.layerValues({ baseUrl: "https://push.example" })
  ])))
  const { inspect } = Context.get(context, Inspector)
  return {
    world,
    inspect: (url: string, path?: string) => inspect({ caller: caller(), url, ...(path !== undefined && { path }) })
  }
})

const refusal = <A, E extends { readonly message: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ message }) => message)

describe("Inspector", () => {
  it.effect("looks at 30 documents of an account at once, and then at 30 a minute", () =>
    Effect.gen(function*() {
      const { inspect, world } = yield* makeWorld
      world.bodies.set(page, "a page")
      for (let i = 0; i < 30; i++) assert.strictEqual((yield* inspect(page)).kind, "html")
      assert.strictEqual(
        yield* refusal(inspect(page)),
        "For your account, at most 30 documents are looked at at once, and 30 a minute; try again in 2 seconds."
      )
      yield* TestClock.adjust("2 seconds")
      yield* inspect(page)
      assert.strictEqual(world.fetched.length, 31)
    }))

  it.effect("refuses addresses that are never fetched, and long paths, without a fetch", () =>
    Effect.gen(function*() {
      const { inspect, world } = yield* makeWorld
      assert.match(yield* refusal(inspect("http://10.0.0.1/")), /^url can never be reached: .* is private\.$/)
      assert.match(
        yield* refusal(inspect("https://push.example/events")),
        /the events of your account, and is no document/
      )
      assert.strictEqual(
        yield* refusal(inspect(page, "p".repeat(1_001))),
        "path has 1001 characters; at most 1000 are accepted."
      )
      assert.match(yield* refusal(inspect("no url")), /url is not a URL: received "no url";/)
      assert.deepStrictEqual(world.fetched, [])
    }))

  it.effect("tells why there is no answer, in one line", () =>
    Effect.gen(function*() {
      const { inspect } = yield* makeWorld
      assert.deepStrictEqual(yield* inspect("https://gone.example/#p"), {
        url: "https://gone.example/",
        finalUrl: "https://gone.example/",
        code: 0,
        bytes: 0,
        kind: "unreachable",
        problem: "a.example is unknown"
      })
    }))

  it.effect("reads five feeds of a page at most, each once, and tells which cannot be read", () =>
    Effect.gen(function*() {
      const { inspect, world } = yield* makeWorld
      const links = ["1", "1", "2", "3", "4", "5", "6"].map((name) => ({
        rel: "alternate",
        href: `https://a.example/${name}.xml`
      }))
      world.bodies.set(page, "with feeds")
      world.results.set("with feeds", { _tag: "NotFeed", kind: "html", reason: "it is a page", links })
      for (const name of ["1", "2", "3"]) world.bodies.set(`https://a.example/${name}.xml`, `feed ${name}`)
      world.results.set("feed 1", {
        _tag: "Feed",
        feed: {
          header: { title: { value: "A <b>feed</b>", type: "html" } },
          entries: [
            { title: { value: "old", type: "text" }, published: 1 },
            { title: { value: "x".repeat(400), type: "text" }, published: 2 }
          ]
        }
      } as unknown as ReadResult)
      const { feeds } = yield* inspect(page)
      assert.deepStrictEqual(feeds?.map(({ url }) => url.at(-5)), ["1", "2", "3", "4", "5"])
      assert.deepStrictEqual(feeds?.[0], {
        url: "https://a.example/1.xml",
        title: "A feed",
        entries: 2,
        newest: { title: "x".repeat(300), published: 2 }
      })
      assert.deepStrictEqual(feeds?.[1], { url: "https://a.example/2.xml", problem: "It is a page." })
      assert.deepStrictEqual(feeds?.[4], { url: "https://a.example/5.xml", problem: "a.example is unknown" })
      assert.strictEqual(world.fetched.length, 6)
    }))

  it.effect("shows the beginning of a text without control characters, and no other bytes", () =>
    Effect.gen(function*() {
      const { inspect, world } = yield* makeWorld
      world.bodies.set(page, `\u001b[2Ja${"b".repeat(128 * 1024)}`)
      const long = yield* inspect(page)
      assert.deepStrictEqual([long.body?.slice(0, 5), long.isBodyCut], ["[2Jab", true])
      assert.isAtMost(long.body?.length ?? Infinity, 128 * 1024)
      world.bodies.set(page, "c".repeat(128 * 1024))
      assert.strictEqual((yield* inspect(page)).isBodyCut, false)
      world.bodies.set(page, Buffer.from([0x50, 0x4b, 0]))
      assert.strictEqual((yield* inspect(page)).body, undefined)
    }))

  it.effect("shows the selected part, its beginning if it is long", () =>
    Effect.gen(function*() {
      const { inspect, world } = yield* makeWorld
      world.bodies.set(page, "a page")
      const selected = { matches: 1, contentType: "text/html; charset=utf-8", text: "chosen", isCut: false }
      assert.deepStrictEqual((yield* inspect(page, " p ")).selected, selected)
      assert.deepStrictEqual((yield* inspect(`${page}#p`)).selected, selected)
      assert.strictEqual((yield* inspect(page)).selected, undefined)
      world.selected = "d".repeat(16 * 1024 + 1)
      const long = (yield* inspect(page, "p")).selected
      assert.deepStrictEqual([long?.text.length, long?.isCut], [16 * 1024, true])
    }))

  it.effect("shows the places of a page whose path is wrong, with the sentence, within the memory", () =>
    Effect.gen(function*() {
      const { inspect, world } = yield* makeWorld
      const body = `<p>${"x".repeat(600_000)}</p>`
      world.bodies.set(page, body)
      const seen = yield* inspect(page, "p::")
      assert.deepStrictEqual([seen.pathProblem, seen.outline, seen.selected], ["P:: is no path.", outline, undefined])
      assert.deepStrictEqual(world.held.map(([name]) => name), ["outline p::", "outline"])
      for (const [name, bytes] of world.held) assert.isAtLeast(bytes, 8 * body.length, name)
    }))
})
