import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Option, Redacted, Schedule } from "effect"
import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { Hub } from "#actors/operations/Hub.ts"
import { rights } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { Faults } from "#test/fakes/MemoryStores.ts"
import { installed } from "#test/support/Prosody.ts"
import type { XmppClient } from "#test/support/XmppClient.ts"
import * as XmppWorld from "#test/support/XmppWorld.ts"
import { errors } from "./Errors.ts"
import { specification } from "./Specification.ts"

const tests = new URL("../../", import.meta.url).pathname

/** Titles of tests in the files of a directory. */
const titles = (directory: string, name: RegExp) =>
  readdirSync(`${tests}${directory}`).filter((file) => name.test(file)).flatMap((file) => {
    const source = readFileSync(`${tests}${directory}/${file}`, "utf8")
    return [...source.matchAll(/\bit\.(?:effect|live)\(\s*"([^"]+)"/g)].map((match) => match[1] ?? "")
  })

describe("the specification of XMPP", () => {
  const known = new Set([
    ...Object.keys(errors),
    ...titles("conversations/xmpp", /\.test\.ts$/),
    ...titles("hardening", /^xmpp.*\.test\.ts$/),
    ...titles("end-to-end", /^Xmpp.*\.test\.ts$/),
    ...titles("xmpp", /^Service\.test\.ts$/)
  ])
  const rows = Object.entries(specification).flatMap(([table, rows]) =>
    Object.entries(rows).map(([row, shown]) => [`${table}: ${row}`, shown] as const)
  )

  it("has a conversation for each row of its tables", () => {
    const missing = rows.filter(([, shown]) => shown.length === 0 || !shown.every((title) => known.has(title)))
    assert.deepStrictEqual(missing, [])
  })

  it("has a row for every error", () => {
    const shown = new Set(rows.flatMap(([, titles]) => titles))
    assert.deepStrictEqual(Object.keys(errors).filter((name) => !shown.has(name)), [])
  })

  it("has 55 rows", () => {
    assert.strictEqual(rows.length, 55)
  })
})

/** The next message about a resource. Skips messages about resources of earlier conversations. */
const nextOf = Effect.fnUntraced(function*(client: XmppClient, node: string) {
  const mine = () => client.stanzas.find((one) => one.getChild("event")?.getChild("items")?.attrs["node"] === node)
  yield* client.until(() => mine() !== undefined)
  return mine() ?? assert.fail()
})

const pubsub = (content: string) => `<pubsub xmlns='http://jabber.org/protocol/pubsub'>${content}</pubsub>`

describe.skipIf(installed === undefined)("conversations over XMPP, of the rest", () => {
  layer(XmppWorld.layer, { excludeTestServices: true })((it) => {
    it.effect("retrieves ten entries at most, newest first", () =>
      Effect.gen(function*() {
        const { ann, outside, publish } = yield* XmppWorld.makeWorld
        publish("/twelve", Array.from({ length: 12 }, (_, i) => `entry ${12 - i}`))
        const node = `${outside.url}/twelve`
        yield* ann.request("set", pubsub(`<subscribe node='${node}' jid='${ann.jid}'/>`))
        const ids = (attributes = "") =>
          Effect.map(
            ann.request("get", pubsub(`<items node='${node}'${attributes}/>`)),
            (answer) => [...XmppWorld.said(answer).matchAll(/<id>([^<]+)<\/id>/g)].map((match) => match[1])
          )
        yield* ids().pipe(
          Effect.repeat({ until: (found) => found.length > 0, schedule: Schedule.spaced("20 millis") })
        )
        const ten = Array.from({ length: 10 }, (_, i) => `entry ${12 - i}`)
        assert.deepStrictEqual(yield* ids(), ten)
        assert.deepStrictEqual(yield* ids(" max_items='50'"), ten)
        assert.deepStrictEqual(yield* ids(" max_items='2'"), ten.slice(0, 2))
      }))

    it.effect("retrieves the items that a request names", () =>
      Effect.gen(function*() {
        const { ann, outside, publish } = yield* XmppWorld.makeWorld
        const long = "l".repeat(1_100)
        publish("/named", [...Array.from({ length: 12 }, (_, i) => `entry ${12 - i}`), long])
        const node = `${outside.url}/named`
        yield* ann.request("set", pubsub(`<subscribe node='${node}' jid='${ann.jid}'/>`))
        const retrieve = (...ids: ReadonlyArray<string>) => {
          const items = ids.map((id) => `<item id='${id}'/>`).join("")
          return Effect.map(
            ann.request("get", pubsub(`<items node='${node}'>${items}</items>`)),
            (answer) =>
              (answer.getChild("pubsub")?.getChild("items")?.children ?? []).map((item) =>
                typeof item === "string" ? item : [item.attrs["id"], item.getChild("entry")?.getChildText("id")]
              )
          )
        }
        yield* retrieve().pipe(
          Effect.repeat({ until: (found) => found.length > 0, schedule: Schedule.spaced("20 millis") })
        )
        const hash = `sha256:${createHash("sha256").update(long, "utf16le").digest("hex")}`
        assert.deepStrictEqual(yield* retrieve("entry 1", "missing", hash, "entry 12"), [
          ["entry 1", "entry 1"],
          [hash, long],
          ["entry 12", "entry 12"]
        ])
        assert.deepStrictEqual(yield* retrieve("missing", "sha256:00"), [])
      }))

    it.effect("notifies of other resources with the whole document and its type", () =>
      Effect.gen(function*() {
        const { outside } = yield* XmppWorld.makeWorld
        const accounts = yield* AccountStore
        const bob = yield* XmppWorld.client("bob")
        const credits = Effect.map(accounts.find("bob"), (bob) => Option.getOrThrow(bob).credits)
        const before = yield* credits
        const documents = [["/json", "application/json", "{\"a\":1}"], ["/text", "text/plain", "a < b"]] as const
        for (const [path, contentType, body] of documents) {
          const node = `${outside.url}${path}`
          outside.publish(path, { status: 200, contentType, body: "as it was" })
          yield* bob.request("set", pubsub(`<subscribe node='${node}' jid='${bob.jid}'/>`))
          yield* bob.request("get", pubsub(`<items node='${node}'/>`)).pipe(
            Effect.repeat({
              until: (answer) => XmppWorld.said(answer).includes("as it was"),
              schedule: Schedule.spaced("20 millis")
            })
          )
          outside.publish(path, { status: 200, contentType, body })
          yield* (yield* Hub).publish([node])
          const message = yield* nextOf(bob, node)
          const id = message.getChild("event")?.getChild("items")?.getChild("item")?.attrs["id"]
          const named = (id = "") => bob.request("get", pubsub(`<items node='${node}'><item id='${id}'/></items>`))
          assert.include(XmppWorld.said(yield* named(id)), body)
          assert.notInclude(XmppWorld.said(yield* named("another")), "<item ")
          assert.include(
            XmppWorld.plain(message, "jabber:client").replace(/ id='urn:windhover:[0-9a-f]+:[0-9a-f]+'/, ""),
            `<item><content xmlns='http://www.w3.org/2005/Atom' type='${contentType}'>${body}</content></item>`
          )
        }
        assert.strictEqual(yield* credits, before - documents.length)
      }))

    it.effect("marks a subscription whose messages bounce", () =>
      Effect.gen(function*() {
        const { outside, publish } = yield* XmppWorld.makeWorld
        const hub = yield* Hub
        const accounts = yield* AccountStore
        const account = yield* accounts.create("ghost", Redacted.make("has no login at the server"))
        const caller = { account, rights: new Set(rights), credential: "test" }
        const topic = `${outside.url}/ghost`
        publish("/ghost", ["a"])
        yield* hub.subscribeJid({
          caller,
          jid: {
            bare: "ghost@xmpp.test",
            domain: "xmpp.test"
          },
          resources: [{ topic }]
        })
        const until = <A, E>(effect: Effect.Effect<A, E>, done: (value: A) => boolean) =>
          Effect.repeat(effect, { until: done, schedule: Schedule.spaced("20 millis") })
        yield* until(hub.retrieve({ caller, topic, count: 1 }), ({ entries }) => entries.length > 0)
        publish("/ghost", ["b", "a"])
        yield* hub.publish([topic])
        const log = (yield* DeliveryLog).list({ accountId: account.id, limit: 10 })
        const bounced = Effect.map(log, ({ items }) => items.filter(({ outcome }) => outcome === "bounced"))
        const [came] = yield* until(bounced, (tries) => tries.length > 0)
        assert.deepStrictEqual(
          [came?.outcome, came?.endpoint, came?.message],
          ["bounced", "ghost@xmpp.test", "The message came back: service-unavailable."]
        )
        const { items } = yield* hub.list({ caller, page: 1, byPage: 1, counted: true })
        assert.deepStrictEqual([items[0]?.subscription.state, items[0]?.bounces?.count], ["active", 1])
      }))

    it.effect("shows which subscribers are online, if their presence is known", () =>
      Effect.gen(function*() {
        const { ann: _, outside } = yield* XmppWorld.makeWorld
        const hub = yield* Hub
        const account = Option.getOrThrow(yield* (yield* AccountStore).find("bob"))
        const caller = { account, rights: new Set(rights), credential: "test" }
        const presence = hub.list({ caller, page: 1, byPage: 1, presence: true }).pipe(
          Effect.map(({ items }) => items[0]?.presence)
        )
        const until = (wanted: string) =>
          Effect.repeat(presence, { until: (one) => one === wanted, schedule: Schedule.spaced("20 millis") })
        yield* Effect.scoped(Effect.gen(function*() {
          const bob = yield* XmppWorld.client("bob")
          yield* bob.request("set", pubsub(`<subscribe node='${outside.url}/presence' jid='${bob.jid}'/>`))
          assert.strictEqual(yield* presence, "unknown")
          bob.send("<presence to='push.xmpp.test'/>")
          yield* until("online")
        }))
        yield* until("offline")
      }))

    it.effect("shortens a large entry to the size of a stanza, and drops characters that XML forbids", () =>
      Effect.gen(function*() {
        const { outside, publish } = yield* XmppWorld.makeWorld
        const bob = yield* XmppWorld.client("bob")
        const node = `${outside.url}/large`
        publish("/large", ["a"])
        yield* bob.request("set", pubsub(`<subscribe node='${node}' jid='${bob.jid}'/>`))
        yield* bob.request("get", pubsub(`<items node='${node}'/>`)).pipe(
          Effect.repeat({
            until: (answer) => XmppWorld.said(answer).includes("<id>a</id>"),
            schedule: Schedule.spaced("20 millis")
          })
        )
        publish("/large", ["b", "a"], (id) => `${id}&#1;&#xFFFE;${"&lt;b&gt;".repeat(40_000)}`)
        yield* (yield* Hub).publish([node])
        const message = yield* nextOf(bob, node)
        const entry = message.getChild("event")?.getChild("items")?.getChild("item")?.getChild("entry")
        const content = entry?.getChild("content")
        assert.strictEqual(content?.attrs["truncated"], "true")
        assert.match(content?.children.join("") ?? "", /^b[^\u0001\ufffe]{0,2}<b>/)
        assert.isAtMost(Buffer.byteLength(message.toString()), 256 * 1024)
      }))

    it.effect("notifies of an entry with a picture in an attribute", () =>
      Effect.gen(function*() {
        const { outside, publish } = yield* XmppWorld.makeWorld
        const bob = yield* XmppWorld.client("bob")
        const node = `${outside.url}/picture`
        publish("/picture", ["a"])
        yield* bob.request("set", pubsub(`<subscribe node='${node}' jid='${bob.jid}'/>`))
        yield* bob.request("get", pubsub(`<items node='${node}'/>`)).pipe(
          Effect.repeat({
            until: (answer) => XmppWorld.said(answer).includes("<id>a</id>"),
            schedule: Schedule.spaced("20 millis")
          })
        )
        const picture = `data:image/png;base64,${"A".repeat(100_000)}`
        publish(
          "/picture",
          ["b", "a"],
          (id) => `${id}</content><link rel="enclosure" type="image/png" href="${picture}"/>`
        )
        yield* (yield* Hub).publish([node])
        const message = yield* nextOf(bob, node)
        const entry = message.getChild("event")?.getChild("items")?.getChild("item")?.getChild("entry")
        const links = entry?.children.flatMap((one) => typeof one === "string" ? [] : one.attrs["href"] ?? [])
        assert.deepStrictEqual(links, [picture])
        const answer = yield* bob.request("get", pubsub(`<items node='${node}'/>`))
        assert.include(answer.toString(), picture)
      }))

    it.effect("reports an internal error, and the next step", () =>
      Effect.gen(function*() {
        const { ann } = yield* XmppWorld.makeWorld
        const { down, up } = yield* Faults
        const list = ann.request("get", pubsub("<subscriptions/>"))
        yield* Effect.acquireRelease(down, () => up)
        assert.match(
          XmppWorld.said(yield* list),
          /^error <error type='wait'><internal-server-error .*>The database cannot do this for the moment\. Please try again\.<\/text>/
        )
        yield* up
        assert.include(XmppWorld.said(yield* list), "result <pubsub")
      }))
  })
})
