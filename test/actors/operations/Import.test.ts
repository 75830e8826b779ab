import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/operations/Hub.ts"
import { Import, type ImportDefaults, type ImportEvent, type LineResult } from "#actors/operations/Import.ts"
import { Faults } from "#test/fakes/MemoryStores.ts"
import { hook, lines, started, subscribe, unsubscribe } from "#test/support/HubCalls.ts"
import { caller, documentOf, layer, layerWith, statusOnly } from "#test/support/SimulatedWeb.ts"

const defaults: ImportDefaults = { callback: hook("all"), labels: [] }

const run = (source: string | Stream.Stream<Uint8Array>, change: Partial<ImportDefaults>) =>
  Effect.gen(function*() {
    const { start } = yield* Import
    const events = yield* start({ caller, defaults: { ...defaults, ...change }, source })
    return yield* Stream.runCollect(events)
  }).pipe(Effect.scoped)

const bytesOf = (text: string) => Stream.succeed(new TextEncoder().encode(text))

const importing = (list: string, change: Partial<ImportDefaults> = {}) => run(bytesOf(list), change)

const importingFrom = (source: string | Stream.Stream<Uint8Array>) => run(source, {})

const results = (events: ReadonlyArray<ImportEvent>): ReadonlyArray<LineResult> =>
  events.filter((event) => event._tag === "Line")

const brief = (events: ReadonlyArray<ImportEvent>) =>
  results(events).map(({ line, reason, result }) => `${line} ${result}${reason === undefined ? "" : `: ${reason}`}`)

const listed = Effect.gen(function*() {
  const { items } = yield* (yield* Hub).list({ caller, page: 1, byPage: 500 })
  return items.map(({ subscription }) => subscription)
})

describe("Import", () => {
  it.effect("subscribes each line once, and says why it refuses others", () =>
    Effect.gen(function*() {
      yield* started
      const list = [
        "http://feeds.example/a",
        "http://FEEDS.example/a",
        "http://feeds.example/b#x",
        "ftp://feeds.example/c",
        "http://secret.internal/",
        "http://ann:pa%24%24@feeds.example/d",
        "nonsense",
        `http://feeds.example/${"x".repeat(2_048)}`
      ]
      const events = yield* importing(list.join("\n"))
      assert.deepStrictEqual(
        brief(events).map((line) => line.slice(0, 149)),
        [
          "1 subscribed",
          "2 exists",
          "3 subscribed",
          "4 refused: Please provide a valid hub.topic (feed) URL that is accepted on this hub. hub.topic has the scheme \"ftp:\"; only http and https URLs can be",
          "5 refused: hub.topic can never be reached: received \"http://secret.internal/\". It is internal.",
          "6 refused: The URL holds a user name or password, which a list may show to others. Subscribe to it by itself.",
          "7 refused: Please provide a valid hub.topic (feed) URL that is accepted on this hub. hub.topic is not a URL: received \"nonsense\"; an absolute http or",
          "8 refused: Please provide a valid hub.topic (feed) URL that is accepted on this hub. hub.topic has 2069 characters; at most 2048 are accepted."
        ].map((line) => line.slice(0, 149))
      )
      assert.notInclude(JSON.stringify(events), "pa%24%24")
      assert.include(JSON.stringify(events), "http://***@feeds.example/d")
      const counts = { subscribed: 2, existing: 1, refused: 5, skipped: 0 }
      assert.deepStrictEqual(events.slice(-2), [
        { _tag: "Progress", bytes: Buffer.byteLength(list.join("\n")), counts },
        { _tag: "Done", counts }
      ])
      assert.deepStrictEqual((yield* listed).map(({ topic }) => topic), [list[0], list[2]])
      const again = yield* importing(list.join("\n"))
      assert.deepStrictEqual(again.at(-1), {
        _tag: "Done",
        counts: { subscribed: 0, existing: 3, refused: 5, skipped: 0 }
      })
      assert.strictEqual((yield* listed).length, 2)
    }).pipe(Effect.provide(layer)))

  it.effect("joins the folders of a repeated feed as labels, and adds them to an existing subscription", () =>
    Effect.gen(function*() {
      yield* started
      const opml = (folders: ReadonlyArray<string>) =>
        `<opml><body>${
          folders.map((text) => `<outline text="${text}"><outline xmlUrl="http://feeds.example/a"/></outline>`).join("")
        }</body></opml>`
      yield* importing(opml(["News", "Tech"]), { labels: ["all"] })
      assert.deepStrictEqual((yield* listed).map(({ labels }) => labels), [["News", "all", "Tech"]])
      yield* importing(opml(["Tech", "More"]))
      assert.deepStrictEqual((yield* listed).map(({ labels }) => labels), [["News", "all", "Tech", "More"]])
    }).pipe(Effect.provide(layer)))

  it.effect("takes the settings of a line, or else of the import, and reports what an existing subscription has otherwise", () =>
    Effect.gen(function*() {
      yield* started
      const own = {
        topic: "http://feeds.example/a",
        callback: hook("own"),
        format: "json",
        secret: "s",
        retry: "days",
        state: "paused"
      }
      const list = [own, { topic: "http://feeds.example/b" }].map((line) => JSON.stringify(line)).join("\n")
      yield* importing(list, { format: "atom", secret: "t", retry: "short" })
      assert.deepStrictEqual(
        (yield* listed).map(({ endpoint, format, retry, secret, state }) => [endpoint, format, secret, retry, state]),
        [[hook("own"), "json", "s", "days", "paused"], [hook("all"), "atom", "t", "short", "active"]]
      )
      const events = yield* importing(
        JSON.stringify({ ...own, format: "atom", secret: "other" }) + "\n" +
          JSON.stringify({ topic: "http://feeds.example/b", state: "paused" })
      )
      assert.deepStrictEqual(results(events).map(({ differs, result }) => [result, differs]), [
        ["exists", ["format", "secret"]],
        ["exists", ["state"]]
      ])
      assert.notInclude(JSON.stringify(events), "\"other\"")
    }).pipe(Effect.provide(layer)))

  it.effect("needs a callback, and JIDs of the account", () =>
    Effect.gen(function*() {
      yield* started
      const { callback: _, ...none } = defaults
      const start = (list: string, change: Partial<ImportDefaults>) =>
        Effect.gen(function*() {
          const events = yield* (yield* Import).start({
            caller,
            defaults: { ...none, ...change },
            source: bytesOf(list)
          })
          return brief(yield* Stream.runCollect(events))
        }).pipe(Effect.scoped)
      assert.deepStrictEqual(yield* start("http://feeds.example/a", {}), [
        "1 refused: The line names no callback; name one for all lines with the import."
      ])
      assert.deepStrictEqual(yield* start("http://feeds.example/a", { jid: "bob@jabber.example" }), [
        "1 refused: The endpoint is a JID that is not your account's. Yours is ann@jabber.example; name a JID of yours with the import."
      ])
      const item = { subscription: { endpoint: "x@elsewhere.example", feed: { url: "http://feeds.example/b" } } }
      assert.deepStrictEqual(yield* start(JSON.stringify([item]), { jid: "ann@jabber.example" }), ["1 subscribed"])
      assert.deepStrictEqual(yield* start("http://feeds.example/c", { nullDevice: true }), ["1 subscribed"])
      const made = yield* listed
      assert.deepStrictEqual(made.map(({ channel, endpoint }) => [channel, endpoint]), [
        ["xmpp", "ann@jabber.example"],
        ["null", "http://localhost:8080/dev/null"]
      ])
    }).pipe(Effect.provide(layerWith({ xmppComponent: "push.jabber.example", xmppDomain: "jabber.example" }))))

  it.effect("delivers no entry from before the import, of new resources or of ones that were watched before", () =>
    Effect.gen(function*() {
      const web = yield* started
      const known = "http://feeds.example/known"
      web.publish(known, ["old"])
      yield* subscribe("gone", { topic: known })
      yield* TestClock.adjust("1 second")
      yield* unsubscribe("gone", known)
      web.publish(known, ["unseen", "old"])
      web.publish("http://feeds.example/new", ["past"])
      const importFiber = yield* Effect.forkChild(importing(`${known}\nhttp://feeds.example/new`))
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual((yield* Fiber.join(importFiber)).at(-1)?._tag, "Done")
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(lines(web, "post"), [])
      web.publish(known, ["now", "unseen", "old"])
      web.publish("http://feeds.example/new", ["present", "past"])
      yield* TestClock.adjust("15 minutes")
      assert.deepStrictEqual(lines(web, "post").map((line) => line.split(" ")[3]).toSorted(), ["now", "present"])
    }).pipe(Effect.provide(layer)))

  it.effect("fetches new resources one after the other, 4 ms apart, over all batches", () =>
    Effect.gen(function*() {
      const web = yield* started
      const count = 600
      yield* importing(Array.from({ length: count }, (_, i) => `http://h${i}.example/feed`).join("\n"))
      yield* TestClock.adjust("1 second")
      const early = lines(web, "poll").length
      assert.isAtLeast(early, 240)
      assert.isAtMost(early, 260)
      yield* TestClock.adjust("1500 millis")
      assert.strictEqual(lines(web, "poll").length, count)
    }).pipe(Effect.provide(layer)))

  it.effect("fetches a list under the rules of topics", () =>
    Effect.gen(function*() {
      const web = yield* started
      const list = "http://lists.example/all.txt"
      web.serve(list, ({ maxBytes }) =>
        Effect.sync(() => {
          assert.strictEqual(maxBytes, 64 * 1024 * 1024)
          return { ...documentOf([]), body: new TextEncoder().encode("http://feeds.example/a") }
        }))
      web.serve("http://lists.example/gone", () => Effect.succeed(statusOnly(404)))
      assert.deepStrictEqual(brief(yield* importingFrom(list)), ["1 subscribed"])
      const refused = (url: string) => Effect.map(Effect.flip(importingFrom(url)), ({ message }) => message)
      assert.strictEqual(
        yield* refused("http://lists.internal/x"),
        "url can never be reached: received \"http://lists.internal/x\". It is internal."
      )
      assert.strictEqual(
        yield* refused("http://ann:pw@lists.example/x"),
        "url holds a user name or password; send the list itself as the body instead."
      )
      assert.strictEqual(
        yield* refused("http://lists.example/gone"),
        "The list could not be fetched: its server answered 404."
      )
      assert.include(yield* refused(`http://${"x".repeat(2_048)}/`), "url has 2056 characters")
    }).pipe(Effect.provide(layer)))

  it.effect("runs one import of an account at a time, and frees its place when its scope ends", () =>
    Effect.gen(function*() {
      yield* started
      const gate = yield* Deferred.make<void>()
      const begun = yield* Deferred.make<void>()
      const slow = Stream.fromEffect(
        Effect.andThen(Deferred.succeed(begun, undefined), Effect.as(Deferred.await(gate), new Uint8Array()))
      )
      const first = yield* Effect.forkChild(importingFrom(slow))
      yield* Deferred.await(begun)
      const refused = yield* Effect.flip(importing("http://feeds.example/a\n"))
      assert.strictEqual(refused.reason._tag, "Throttled")
      yield* Fiber.interrupt(first)
      assert.deepStrictEqual(brief(yield* importing("feeds:none")).length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("ends with the fault of a list, and keeps the lines before", () =>
    Effect.gen(function*() {
      yield* started
      const events = yield* importing("<opml><body><outline xmlUrl=\"http://feeds.example/a\"/>")
      const counts = { subscribed: 1, existing: 0, refused: 0, skipped: 0 }
      assert.deepStrictEqual(events.at(-1), {
        _tag: "Broken",
        line: 1,
        reason: "The document ends before </opml>: the file may be cut. The outlines before are imported.",
        counts
      })
      assert.strictEqual((yield* listed).length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("fails while the database is away, and completes a list that is sent again", () =>
    Effect.gen(function*() {
      yield* started
      const faults = yield* Faults
      yield* faults.down
      const failed = yield* Effect.flip(importing("feeds.txt\nhttp://feeds.example/a"))
      assert.strictEqual(failed.reason._tag, "Unavailable")
      yield* faults.up
      assert.deepStrictEqual(brief(yield* importing("http://feeds.example/a")), ["1 subscribed"])
    }).pipe(Effect.provide(layer)))
})
