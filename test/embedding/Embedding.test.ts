import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { TestRunner } from "effect/cluster"
import { HttpServer } from "effect/http"
import { TestClock } from "effect/testing"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Caller, rights } from "#domain/Account.ts"
import { hashBytes } from "#domain/Fingerprint.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { Deliverer } from "#domain/ports/Deliverer.ts"
import { Fetcher } from "#domain/ports/Fetcher.ts"
import { HubClient } from "#domain/ports/HubClient.ts"
import { AddressCheck } from "#domain/ports/AddressCheck.ts"
import { IntentVerifier } from "#domain/ports/IntentVerifier.ts"
import { Selector } from "#domain/ports/Selector.ts"
import { Hub } from "#actors/operations/Hub.ts"
import * as Settings from "#layers/Settings.ts"
import * as FeedReaderWorker from "#layers/workers/FeedReaderWorker.ts"
import * as Windhover from "#main/Windhover.ts"
import * as MemoryStores from "#test/fakes/MemoryStores.ts"

const makeCaller = Effect.gen(function*() {
  const accounts = yield* AccountStore
  const account = yield* accounts.create("team", Redacted.make("a good password"))
  return { account, rights: new Set(rights), credential: "program" } satisfies Caller
})

const subscribe = (caller: Caller, topic: string, callback: string) =>
  Hub.use((hub) => hub.subscribe({ caller, topic, callback, face: "api", retrieve: false }))

const atom = (...ids: ReadonlyArray<string>) =>
  `<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>${
    ids.map((id) => `<entry><id>${id}</id><title>${id}</title></entry>`).join("")
  }</feed>`

describe("a program that embeds Windhover", () => {
  const published: Array<string> = ["one"]
  const delivered: Array<string> = []

  const feeds = Layer.succeed(Fetcher, {
    fetch: ({ url }) =>
      Effect.sync(() => {
        const body = new TextEncoder().encode(atom(...published))
        return { status: 200, headers: {}, body, signature: hashBytes(body), finalUrl: url }
      })
  })

  const sender = Layer.succeed(Deliverer, {
    post: ({ body, callback }) =>
      Effect.sync(() => {
        delivered.push(`${callback} ${/<entry.*<id>(.*?)<\/id>/s.exec(new TextDecoder().decode(body))?.[1]}`)
        return { status: 200, latency: 1, excerpt: "" }
      })
  })

  const hub = Windhover.layerHub.pipe(
    Layer.provide(TestRunner.layer),
    Layer.provide([
      feeds,
      sender,
      FeedReaderWorker.layerWith({ threadFromBytes: Infinity, deadline: "1 second" }),
      Layer.mock(Selector, {}),
      Layer.mock(IntentVerifier, {}),
      Layer.succeed(AddressCheck, { explain: () => Effect.undefined, resolveNetworks: () => Effect.undefined }),
      Layer.mock(HubClient, {})
    ]),
    Layer.provideMerge(MemoryStores.layer),
    Layer.provide(Settings.layerValues({ minPeriodSeconds: 60 }))
  )

  layer(hub)((it) => {
    it.effect("replaces the storage and the sender, and runs on TestClock", () =>
      Effect.gen(function*() {
        yield* subscribe(yield* makeCaller, "http://feeds.example/a", "http://hooks.example/1")
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(delivered, [])
        published.unshift("two")
        yield* TestClock.adjust("3 minutes")
        assert.deepStrictEqual(delivered, ["http://hooks.example/1 two"])
      }))
  })

  it.live("runs the whole service in its scope, with settings as values", () =>
    Effect.gen(function*() {
      const dataDir = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "windhover-embedded-"))),
        (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
      )
      yield* Effect.gen(function*() {
        const caller = yield* makeCaller
        yield* subscribe(caller, "https://example.org/feed.xml", "https://example.org/hook")
        const { items } = yield* Hub.use((hub) => hub.list({ caller, page: 1, byPage: 20 }))
        assert.lengthOf(items, 1)
        const { address } = yield* HttpServer.HttpServer
        const port = "port" in address ? address.port : 0
        const { status } = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/healthz`))
        assert.strictEqual(status, 200)
      }).pipe(Effect.provide(Windhover.layer({ dataDir, host: "127.0.0.1", port: 0 })))
    }).pipe(Effect.scoped))
})

it("the page on embedding shows the code of these tests", () => {
  const squeeze = (text: string) => text.replace(/\s+/g, "")
  const source = squeeze(readFileSync(import.meta.filename, "utf8"))
  const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "embedding.md"), "utf8")
  const blocks = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = ""]) => squeeze(block))
  assert.isAbove(blocks.length, 2)
  for (const block of blocks) assert.include(source, block)
})
