import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import { Export, type ExportRequest } from "#actors/operations/Export.ts"
import { Import } from "#actors/operations/Import.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { SubscriptionControl } from "#actors/operations/SubscriptionControl.ts"
import { type Caller, type Right, rights, tokenRights } from "#domain/Account.ts"
import { EventLog } from "#domain/ports/EventLog.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { feed, hook, started, subscribe } from "#test/support/HubCalls.ts"
import { caller, layer, layerWith } from "#test/support/SimulatedWeb.ts"

const exporting = (change: Partial<ExportRequest> = {}) =>
  Effect.gen(function*() {
    const request = { caller, format: "ndjson", hasEntries: false, hasSecrets: false, ...change } as const
    return yield* Stream.mkString(yield* (yield* Export).start(request))
  })

const importing = (text: string, into: Caller) =>
  Effect.gen(function*() {
    const source = Stream.succeed(new TextEncoder().encode(text))
    const events = yield* (yield* Import).start({ caller: into, defaults: { labels: [] }, source })
    return (yield* Stream.runCollect(events)).at(-1)
  }).pipe(Effect.scoped)

const linesOf = (text: string, type?: string): ReadonlyArray<Record<string, unknown>> =>
  text.trimEnd().split("\n").map((line) => JSON.parse(line)).filter((line) => type === undefined || line.type === type)

const otherAccount = Effect.gen(function*() {
  const account = yield* (yield* AccountStore).create("bob", Redacted.make("a password"))
  return { ...caller, account }
})

describe("Export", () => {
  it.effect("has the account, its tokens, and its subscriptions with all settings", () =>
    Effect.gen(function*() {
      yield* started
      const accounts = yield* AccountStore
      yield* accounts.createToken({ accountId: 1, name: "monitor", rights: ["list"] })
      yield* subscribe("one", {
        format: "json",
        secret: "s3cret",
        headers: [["X-Tenant", "7"]],
        retry: "days",
        labels: ["News", "a, b"]
      })
      yield* subscribe("two", { topic: "http://ann:pw@feeds.example/b" })
      yield* (yield* SubscriptionControl).pause({ caller, topic: feed, callback: hook("one") })
      const plain = yield* exporting()
      assert.deepStrictEqual(linesOf(plain), [
        { type: "export", service: "windhover", version: 1 },
        { type: "account", login: "ann" },
        { type: "token", name: "monitor", rights: ["list"] },
        { type: "subscription", topic: "http://***@feeds.example/b", callback: hook("two") },
        {
          type: "subscription",
          topic: feed,
          callback: hook("one"),
          format: "json",
          retry: "days",
          state: "paused",
          labels: ["News", "a, b"]
        },
        { type: "end", subscriptions: 2 }
      ])
      const secret = linesOf(yield* exporting({ hasSecrets: true }), "subscription")
      assert.deepStrictEqual(secret.map(({ headers, secret, topic }) => [topic, secret, headers]), [
        ["http://ann:pw@feeds.example/b", undefined, undefined],
        [feed, "s3cret", [["X-Tenant", "7"]]]
      ])
      const monitor: Caller = { ...caller, rights: new Set(["list"]) }
      assert.deepStrictEqual(linesOf(yield* exporting({ caller: monitor }), "token"), [])
    }).pipe(Effect.provide(layer)))

  it.effect("has the entries of each feed once, on request", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, Array.from({ length: 60 }, (_, i) => `e${i}`))
      yield* subscribe("one")
      yield* subscribe("two")
      yield* TestClock.adjust("1 second")
      const entries = linesOf(yield* exporting({ hasEntries: true }), "entry")
      assert.deepStrictEqual(
        entries.map(({ entry }) => (entry as { id: string }).id).toSorted(),
        Array.from({ length: 60 }, (_, i) => `e${i}`).toSorted()
      )
      assert.deepStrictEqual(new Set(entries.map(({ topic }) => topic)), new Set([feed]))
      assert.deepStrictEqual(linesOf(yield* exporting(), "entry"), [])
    }).pipe(Effect.provide(layer)))

  it.effect("has no events of all accounts for an operator's token without the right admin", () =>
    Effect.gen(function*() {
      yield* started
      const account = yield* (yield* AccountStore).create("op", Redacted.make("a password"), { admin: true })
      const operator: Caller = { ...caller, account, rights: new Set(tokenRights) }
      yield* subscribe("op", { topic: "http://hub.example/events", format: "json", caller: operator })
      yield* (yield* EventLog).publish({ type: "hub.lost", hub: "https://hub.test/", message: "It misses pushes." })
      yield* TestClock.adjust("1 second")
      const countEntries = (rights: ReadonlyArray<Right>) =>
        Effect.map(
          exporting({ caller: { ...operator, rights: new Set(rights) }, hasEntries: true }),
          (text) => linesOf(text, "entry").length
        )
      assert.deepStrictEqual([yield* countEntries(tokenRights), yield* countEntries(rights)], [1, 0])
    }).pipe(Effect.provide(layerWith({ baseUrl: "http://hub.example" }))))

  it.effect("as OPML has a folder for each first label, and titles of the feeds", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["a"])
      yield* subscribe("one", { labels: ["B & C", "x"] })
      yield* subscribe("two", { topic: "http://feeds.example/<b>" })
      yield* subscribe("three", { labels: ["B & C"], secret: "s3cret" })
      yield* TestClock.adjust("1 second")
      const opml = yield* exporting({ format: "opml" })
      assert.notInclude(opml, "s3cret")
      assert.deepStrictEqual(opml.split("\n").slice(3), [
        "<body>",
        `<outline type="rss" text="A feed" title="A feed" xmlUrl="http://feeds.example/&lt;b&gt;" windhover:callback="${
          hook("two")
        }"/>`,
        "<outline text=\"B &amp; C\" title=\"B &amp; C\">",
        `<outline type="rss" text="A feed" title="A feed" xmlUrl="${feed}" category="B &amp; C,x" windhover:labels="[&quot;B &amp; C&quot;,&quot;x&quot;]" windhover:callback="${
          hook("one")
        }"/>`,
        `<outline type="rss" text="A feed" title="A feed" xmlUrl="${feed}" category="B &amp; C" windhover:labels="[&quot;B &amp; C&quot;]" windhover:callback="${
          hook("three")
        }"/>`,
        "</outline>",
        "</body>",
        "</opml>",
        ""
      ])
    }).pipe(Effect.provide(layer)))
})

const hostileLabels = [
  "News",
  "a, b",
  "B & C",
  "<x y='z'>",
  "\u00dcber/\u65e5\u672c",
  "\"q\" \\",
  "\u{1f985} ]]>",
  "|;"
]

/** A line of an export with all that a subscription of an account can have. */
const exportedLine = fc.record({
  topic: fc.constantFrom("http://feeds.example/", "https://ann:p%40w@feeds.example/x", "http://feeds.example/j?q=<&>"),
  receiver: fc.constantFrom<object>(
    { callback: "https://app.example/hook?a=1&b=<2>" },
    { callback: "https://u:p@app.example/" },
    { jid: "ann@jabber.example" },
    { null: "" },
    { null: "?lease=60" }
  ),
  form: fc.constantFrom<object>({}, { format: "atom" }, { format: "json" }, { format: "json", feedsOnly: true }),
  secret: fc.constantFrom<object>({}, { secret: "s" }, { secret: "\u{1f985} \"'<&>" }),
  headers: fc.constantFrom<object>({}, { headers: [["X-Tenant", "7"], ["Authorization", "Bearer \"x\""]] }),
  retry: fc.constantFrom<object>({}, { retry: "short" }, { retry: "days" }),
  state: fc.constantFrom<object>({}, { state: "paused" }),
  labels: fc.uniqueArray(fc.constantFrom(...hostileLabels), { maxLength: 4 })
})

type ExportedLine = typeof exportedLine extends fc.Arbitrary<infer A> ? A : never

const lineOf = ({ form, headers, labels, receiver, retry, secret, state, topic }: ExportedLine, index: number) => ({
  type: "subscription",
  topic: `${topic}${topic.includes("?") ? "&" : "?"}n=${index}`,
  ...receiver,
  ...form,
  ...("jid" in receiver ? {} : { ...secret, ...headers }),
  ...retry,
  ...("null" in receiver ? {} : state),
  ...(labels.length > 0 && { labels })
})

describe("an export that is imported into another service", () => {
  const settings = { xmppComponent: "push.jabber.example", xmppDomain: "jabber.example" }

  /** Imports a text into a new service, and returns both exports of the service. */
  const pass = (text: string) =>
    Effect.gen(function*() {
      yield* started
      assert.strictEqual((yield* importing(text, caller))?._tag, "Done")
      yield* TestClock.adjust("5 seconds") // titles are known after the first fetches
      return {
        lines: yield* exporting({ hasSecrets: true }),
        opml: yield* exporting({ format: "opml" })
      }
    }).pipe(Effect.provide(layerWith(settings)))

  const check = (generated: ReadonlyArray<ExportedLine>) =>
    Effect.gen(function*() {
      const given = generated.map(lineOf)
      const first = yield* pass(given.map((line) => JSON.stringify(line)).join("\n"))
      const byTopic = new Map(linesOf(first.lines, "subscription").map((line) => [line["topic"], line]))
      assert.deepStrictEqual(given.map(({ topic }) => byTopic.get(topic)), given)
      assert.deepStrictEqual(yield* pass(first.lines), first)
      const open = first.opml.replaceAll(/<outline[^>]*\/\/\*\*\*@[^>]*>\n/g, "") // URLs with passwords stay behind
      assert.strictEqual(
        (yield* pass(open)).opml,
        open.replaceAll(/<outline text="[^"]*" title="[^"]*">\n<\/outline>\n/g, "")
      )
    })

  it.effect("is exported there as the same text, with XMPP, null devices, headers and passwords", () =>
    Effect.forEach(fc.sample(fc.array(exportedLine, { minLength: 8, maxLength: 16 }), 3), check, { discard: true }))
})

const label = fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" })
const setting = fc.record({
  topic: fc.webUrl({ withQueryParameters: true, withFragments: false }),
  callback: fc.webUrl({ withQueryParameters: true }),
  labels: fc.array(label, { maxLength: 4 }),
  format: fc.constantFrom(undefined, "atom" as const, "json" as const),
  feedsOnly: fc.boolean(),
  secret: fc.constantFrom(undefined, "s", "\u{1f985} \"'<&>"),
  retry: fc.constantFrom(undefined, "short" as const, "days" as const),
  isNull: fc.boolean(),
  isPaused: fc.boolean()
})

type Setting = typeof setting extends fc.Arbitrary<infer A> ? A : never

describe("an export that is imported into another account", () => {
  const check = (settings: ReadonlyArray<Setting>) =>
    Effect.gen(function*() {
      yield* started
      for (const [i, { feedsOnly, format, isNull, isPaused, labels, retry, secret, ...one }] of settings.entries()) {
        yield* subscribe("x", {
          topic: `${one.topic}${one.topic.includes("?") ? "&" : "?"}n=${i}`,
          callback: isNull ? `http://localhost:8080/dev/null?n=${i}` : one.callback,
          labels: labels.filter((text) => !/[\u0000-\u001f\u007f]/.test(text) && text.isWellFormed()),
          ...(format !== undefined && { format, feedsOnly }),
          ...(secret !== undefined && { secret }),
          ...(retry !== undefined && { retry })
        })
        if (isPaused && !isNull) {
          const { items } = yield* (yield* SubscriptionStore).list({ accountId: 1, page: i + 1, byPage: 1 })
          yield* (yield* SubscriptionControl).pause({ caller, subscription: items[0]?.subscription.id ?? 0 })
        }
      }
      const other = yield* otherAccount
      const first = yield* exporting({ hasSecrets: true })
      assert.strictEqual((yield* importing(first, other))?._tag, "Done")
      const again = yield* exporting({ caller: other, hasSecrets: true })
      assert.deepStrictEqual(linesOf(again, "subscription"), linesOf(first, "subscription"))

      const third = { ...other, account: yield* (yield* AccountStore).create("eve", Redacted.make("a password")) }
      const opml = yield* exporting({ format: "opml" })
      assert.strictEqual((yield* importing(opml, third))?._tag, "Done")
      const opmlAgain = yield* exporting({ caller: third, format: "opml" })
      assert.strictEqual(opmlAgain.replaceAll("of eve<", "of ann<"), opml)
    }).pipe(Effect.provide(layer))

  it.effect("is exported there as the same", () =>
    Effect.forEach(fc.sample(fc.array(setting, { maxLength: 12 }), 6), check, { discard: true }))
})
