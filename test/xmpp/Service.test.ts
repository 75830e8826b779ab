import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Logger, Option, References } from "effect"
import type { Bounce } from "#domain/delivery/Bounce.ts"
import type { Delivery, News } from "#domain/delivery/Notification.ts"
import { maxStanzaBytes } from "#xmpp/Notifications.ts"
import { initialState } from "#test/support/Resources.ts"
import { conditions, connectScripted, iq } from "#test/support/ScriptedXmpp.ts"

const list = "<pubsub xmlns='http://jabber.org/protocol/pubsub'><subscriptions/></pubsub>"

const ann = { id: 1, login: "ann", credits: 0, createdAt: 0 }

/** The ninth delivery of subscription 1. */
const deliveryOf = (news: News): Delivery => ({
  id: 1,
  subscriptionId: 1,
  sequence: 9,
  credits: 0,
  attempt: 0,
  dueAt: 0,
  waitsSince: 0,
  notification: { id: 5, resourceId: 1, createdAt: 0, status: {}, news }
})

describe("Service", () => {
  it.live.each(
    [
      ["xn--mnchen-3ya.test", "m\u00fcnchen.test"],
      ["m\u00fcnchen.test", "xn--mnchen-3ya.test"],
      ["m\u00fcnchen.test", "M\u00fcnchen.test"]
    ] as const
  )("knows accounts of %s that are written %s", ([set, written]) =>
    Effect.gen(function*() {
      const { send, take } = yield* connectScripted({
        settings: { xmppDomain: set },
        accounts: { find: (login) => Effect.succeed(login === "ann" ? Option.some(ann) : Option.none()) },
        hub: { list: () => Effect.succeed({ items: [], total: undefined }) }
      })
      send(iq("1", `ann@${written}/a`, list))
      assert.strictEqual((yield* take).attrs["type"], "result")
    }))

  const accounts = { find: () => Effect.succeedSome(ann) }

  /** A page of twenty subscriptions to this URL. */
  const listing = (node: string, endpoint = "ann@xmpp.test") => {
    const subscription = {
      ...{ id: 1, accountId: 1, resourceId: 1, topic: node, channel: "xmpp", endpoint, host: "xmpp.test" } as const,
      ...{ face: "api", state: "active", createdAt: 0 } as const
    }
    const item = { subscription, resource: initialState({ url: node }) }
    return { list: () => Effect.succeed({ items: Array.from({ length: 20 }, () => item), total: undefined }) }
  }

  it.live("answers with twenty URLs that fill the stanza", () =>
    Effect.gen(function*() {
      const node = `http://feeds.test/${"&".repeat(2_000)}`
      const { send, take } = yield* connectScripted({ accounts, hub: listing(node) })
      send(iq("1", "ann@xmpp.test/a", list))
      const answer = yield* take
      assert.isAtMost(answer.toString().length, maxStanzaBytes)
      const listed = answer.getChild("pubsub")?.getChild("subscriptions")?.children ?? []
      assert.deepStrictEqual(
        listed.map((one) => typeof one === "string" ? one : one.attrs["node"]),
        Array.from({ length: 20 }, () => node)
      )
    }))

  it.live("reports an answer that exceeds a stanza", () =>
    Effect.gen(function*() {
      const long = listing(`http://feeds.test/${"\"".repeat(2_000)}`, `${"a".repeat(1_000)}@${"b".repeat(1_000)}`)
      const { send, take } = yield* connectScripted({ accounts, hub: long })
      send(iq("1", "ann@xmpp.test/a", list))
      const answer = yield* take
      assert.deepStrictEqual([answer.attrs["id"], conditions(answer)], ["1", ["not-acceptable", "text"]])
      assert.match(answer.getChild("error")?.getChildText("text") ?? "", /has \d+ bytes; at most 262144 are sent\. Ask/)
    }))

  it.live("logs a request whose rejection cannot be sent either", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const logger = Logger.make(({ fiber, message }) =>
        void said.push(String(message), JSON.stringify(fiber.getRef(References.CurrentLogAnnotations)))
      )
      const { send, take } = yield* connectScripted({ accounts }).pipe(Effect.provide(Logger.layer([logger])))
      send(iq("i".repeat(maxStanzaBytes), "ann@xmpp.test/a", "<ping xmlns='urn:xmpp:ping'/>"))
      send(iq("2", "ann@xmpp.test/a", "<ping xmlns='urn:xmpp:ping'/>"))
      assert.strictEqual((yield* take).attrs["id"], "2")
      assert.include(said.join(), "XMPP: a request is not answered.,{\"from\":\"ann@xmpp.test/a\",\"reason\":\"it has ")
    }))

  it.live("retrieves ten large entries of a long URL in one stanza", () =>
    Effect.gen(function*() {
      const node = `http://feeds.test/${"&".repeat(2_000)}`
      const entries = Array.from({ length: 10 }, (_, i) => ({
        id: `entry ${i}`,
        content: [{ value: "x".repeat(300 * 1024), type: "text" as const }]
      }))
      const { send, take } = yield* connectScripted({
        accounts,
        hub: { retrieve: () => Effect.succeed({ status: { feed: node }, entries }) }
      })
      send(iq(
        "1",
        "ann@xmpp.test/a",
        `<pubsub xmlns='http://jabber.org/protocol/pubsub'><items node='${node.replaceAll("&", "&amp;")}'/></pubsub>`
      ))
      const answer = yield* take
      const items = answer.getChild("pubsub")?.getChild("items")?.children ?? []
      assert.deepStrictEqual(
        items.map((item) => typeof item === "string" ? item : item.getChild("entry")?.getChildText("id")),
        entries.map(({ id }) => id)
      )
    }))

  it.live("passes bounced notifications to the hub in order, and answers no error", () =>
    Effect.gen(function*() {
      const bounces: Array<Bounce> = []
      const lastBounce = yield* Deferred.make<void>()
      const { send, senders, take } = yield* connectScripted({
        accounts: { load: () => Effect.succeedSome(ann) },
        hub: {
          recordBounce: (bounce) =>
            Effect.suspend(() => {
              bounces.push(bounce)
              return bounce.sequence === 10 ? Deferred.succeed(lastBounce, undefined) : Effect.yieldNow
            })
        }
      })
      const { xmpp = assert.fail() } = yield* senders
      const [item = assert.fail()] = (yield* listing("http://feeds.test/a").list()).items
      const news = { _tag: "Failure" } as const
      yield* Effect.forkChild(xmpp(deliveryOf(news), item.subscription, () => true, { speed: "unknown" }))
      const { attrs } = yield* take
      assert.deepStrictEqual([attrs["id"], attrs["to"]], ["5-1-9", "ann@xmpp.test"])
      const error = (from: string, id = attrs["id"]) =>
        `<message type='error' id='${id}' from='${from}' to='push.xmpp.test'><error type='cancel'>` +
        "<gone xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></message>"
      send(error("mallory@xmpp.test"))
      send(error("ann@xmpp.test", "of-somebody-else"))
      send(error("ann@xmpp.test/home"))
      send(error("ann@xmpp.test/home", "6-1-10"))
      send(iq("ping", "ann@xmpp.test/a", "<ping xmlns='urn:xmpp:ping'/>"))
      assert.strictEqual((yield* take).attrs["id"], "ping") // errors get no answer
      yield* Deferred.await(lastBounce)
      const gone = { severity: "gone", message: "The message came back: gone." }
      assert.deepStrictEqual(bounces, [
        { subscriptionId: 1, sequence: 9, from: "mallory@xmpp.test", ...gone },
        { subscriptionId: 1, sequence: 9, from: "ann@xmpp.test", ...gone },
        { subscriptionId: 1, sequence: 10, from: "ann@xmpp.test", ...gone }
      ])
    }))

  it.live.each(
    [
      { isDefault: false, chosen: undefined, namespace: undefined },
      { isDefault: true, chosen: undefined, namespace: "http://jabber.org/protocol/pubsub" },
      { isDefault: true, chosen: false, namespace: undefined },
      { isDefault: false, chosen: true, namespace: "http://jabber.org/protocol/pubsub" }
    ] as const
  )(
    "sends legacy items as the account has chosen, else as the installation is set: %o",
    ({ chosen, isDefault, namespace }) =>
      Effect.gen(function*() {
        const account = { ...ann, ...(chosen === undefined ? {} : { legacyItemNamespace: chosen }) }
        const { senders, take } = yield* connectScripted({
          settings: { xmppLegacyItems: isDefault },
          accounts: { load: () => Effect.succeedSome(account) }
        })
        const { xmpp = assert.fail() } = yield* senders
        const [item = assert.fail()] = (yield* listing("http://feeds.test/a").list()).items
        const news = { _tag: "Entries", entries: [{ id: "two" }, { id: "one" }] } as const
        yield* Effect.forkChild(xmpp(deliveryOf(news), item.subscription, () => true, { speed: "unknown" }))
        const items = (yield* take).getChild("event")?.getChild("items")?.children ?? []
        assert.deepStrictEqual(
          items.map((one) => typeof one === "string" ? one : one.attrs),
          namespace === undefined ? [{ id: "one" }] : [{ xmlns: namespace }, { xmlns: namespace }]
        )
      })
  )

  it.live("answers a person's message once a minute, and no room, server or program", () =>
    Effect.gen(function*() {
      const { send, take } = yield* connectScripted({ settings: { baseUrl: "https://push.example" } })
      const message = (from: string, attributes = "", content = "<body>help</body>") =>
        send(`<message from='${from}' to='push.xmpp.test'${attributes}>${content}</message>`)
      message("ann@xmpp.test/a", " type='chat' id='7'", "<body>help</body><thread>t1</thread>")
      const answer = yield* take
      assert.deepStrictEqual(answer.attrs, { type: "chat", from: "push.xmpp.test", to: "ann@xmpp.test/a" })
      assert.strictEqual(answer.getChildText("thread"), "t1")
      assert.strictEqual(
        answer.getChildText("body"),
        "This is Windhover, which reads no chat messages: programs subscribe to URLs here with XMPP PubSub (XEP-0060), " +
          "or over HTTP as https://push.example/docs describes."
      )
      message("ann@xmpp.test/b")
      for (const type of ["error", "headline", "groupchat", "nonsense"]) {
        message(`${type}@xmpp.test/a`, ` type='${type}'`)
      }
      message("xmpp.test")
      message("bot.test/a", " type='chat'")
      message("quiet@xmpp.test/a", "", "<active xmlns='http://jabber.org/protocol/chatstates'/>")
      message("empty@xmpp.test/a", "", "<body> </body>")
      message("bob@xmpp.test/a", " type='normal'", "<body>subscribe http://feeds.test/a</body>")
      const next = yield* take
      assert.deepStrictEqual([next.attrs["to"], next.attrs["type"]], ["bob@xmpp.test/a", "normal"])
    }))

  it.live("answers a request while a large notification is on its way", () =>
    Effect.gen(function*() {
      const { send, senders, socket, take } = yield* connectScripted({
        accounts: { load: () => Effect.succeedSome(ann) }
      })
      const { xmpp = assert.fail() } = yield* senders
      const [item = assert.fail()] = (yield* listing("http://feeds.test/a").list()).items
      const entries = Array.from({ length: 100 }, (_, i) => ({
        id: `entry ${i}`,
        content: [{ value: "x".repeat(200_000), type: "text" as const }]
      }))
      const news = { _tag: "Entries", entries } as const
      yield* Effect.forkChild(xmpp(deliveryOf(news), item.subscription, () => true, { speed: "unknown" }))
      assert.strictEqual((yield* take).attrs["id"], "5-1-9") // the server has begun to read the notification
      socket.pause()
      send(iq("ping", "ann@xmpp.test/a", "<ping xmlns='urn:xmpp:ping'/>"))
      yield* Effect.sleep("200 millis")
      socket.resume()
      let next = yield* take
      while (next.name === "message") next = yield* take
      assert.deepStrictEqual([next.attrs["id"], next.attrs["type"]], ["ping", "result"])
    }))

  it.live("treats an account's request as activity of its JID once a minute, and ignores strangers", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const { send, take } = yield* connectScripted({
        accounts: { find: (login) => Effect.succeed(login === "ann" ? Option.some(ann) : Option.none()) },
        hub: {
          resumeJid: (jid) => Effect.sync(() => heard.push(jid) > 0),
          list: () => Effect.succeed({ items: [], total: undefined })
        }
      })
      for (const from of ["ann@xmpp.test/a", "ann@xmpp.test/b", "eve@xmpp.test/a"]) {
        send(iq(from, from, list))
        yield* take
      }
      assert.deepStrictEqual(heard, ["ann@xmpp.test"])
    }))

  it.live("treats a request of a domain as activity of all its JIDs", () =>
    Effect.gen(function*() {
      const heard: Array<readonly [number, string]> = []
      const { send, take } = yield* connectScripted({
        accounts: { findByJid: (jid) => Effect.succeed(jid === "bots.test" ? Option.some(ann) : Option.none()) },
        hub: {
          resumeDomain: (accountId, domain) => Effect.sync(() => heard.push([accountId, domain]) > 0),
          list: () => Effect.succeed({ items: [], total: undefined })
        }
      })
      send(iq("1", "bots.test/a", list))
      assert.strictEqual((yield* take).attrs["type"], "result")
      assert.deepStrictEqual(heard, [[1, "bots.test"]])
    }))

  it.live("shows its presence to all JIDs, and answers no answer", () =>
    Effect.gen(function*() {
      const { send, take } = yield* connectScripted()
      const presence = (type: string) => `<presence type='${type}' from='ann@xmpp.test' to='push.xmpp.test'/>`
      const next = Effect.map(take, ({ attrs: { from, to, type }, name }) => [name, type, from, to])
      const seen = (type?: string) => ["presence", type, "push.xmpp.test", "ann@xmpp.test"]
      send(["error", "subscribed", "unsubscribed", "unavailable"].map(presence).join(""))
      send(presence("subscribe"))
      assert.deepStrictEqual([yield* next, yield* next], [seen("subscribed"), seen()])
      send(presence("probe"))
      assert.deepStrictEqual(yield* next, seen())
      send(presence("unsubscribe"))
      assert.deepStrictEqual(yield* next, seen("unsubscribed"))
    }))

  it.live("treats the first presence of a JID as activity, and no further one", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const { send, take } = yield* connectScripted({
        hub: { resumeJid: (jid) => Effect.sync(() => heard.push(jid) > 0) }
      })
      for (const from of ["ann@xmpp.test/a", "ann@xmpp.test/b", "ann@xmpp.test/a"]) {
        send(`<presence from='${from}' to='push.xmpp.test'><status>busy</status></presence>`)
      }
      send(iq("ping", "bob@xmpp.test/a", "<ping xmlns='urn:xmpp:ping'/>"))
      yield* take
      assert.deepStrictEqual(heard, ["ann@xmpp.test"])
    }))

  it.live("treats the presences of many JIDs at once as activity, within limits of their own", () =>
    Effect.gen(function*() {
      const count = 1_000
      const heard: Array<string> = []
      const [open, all] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const { send, take } = yield* connectScripted({
        accounts,
        hub: {
          resumeJid: (jid) =>
            Effect.sync(() => heard.push(jid) === count).pipe(
              Effect.tap((last) => last ? Deferred.succeed(all, undefined) : Deferred.await(open)),
              Effect.as(true)
            )
        }
      })
      for (let i = 0; i < count; i++) send(`<presence from='user${i}@xmpp.test/a' to='push.xmpp.test'/>`)
      send(iq("ping", "bob@xmpp.test/a", "<ping xmlns='urn:xmpp:ping'/>"))
      assert.strictEqual((yield* take).attrs["type"], "result")
      assert.strictEqual(heard.length, 8)
      yield* Deferred.succeed(open, undefined)
      yield* Deferred.await(all)
      assert.deepStrictEqual(heard, Array.from({ length: count }, (_, i) => `user${i}@xmpp.test`))
    }))

  it.live("treats the next presence or request as activity after the database was away", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const { send, take } = yield* connectScripted({
        accounts,
        hub: {
          resumeJid: (jid) => Effect.sync(() => heard.push(jid) % 2 === 0),
          list: () => Effect.succeed({ items: [], total: undefined })
        }
      })
      for (let i = 0; i < 3; i++) {
        send("<presence from='ann@xmpp.test/a' to='push.xmpp.test'/>")
        send(iq("ping", "bob@xmpp.test/a", "<ping xmlns='urn:xmpp:ping'/>"))
        yield* take
      }
      assert.strictEqual(heard.length, 2)
      for (let i = 0; i < 3; i++) {
        send(iq("list", "ann@xmpp.test/a", list))
        yield* take
      }
      assert.strictEqual(heard.length, 4)
    }))

  it.live("logs the presence privilege only when the server itself grants it", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const logger = Logger.make(({ message }) => void said.push(String(message)))
      const { send, take } = yield* connectScripted().pipe(Effect.provide(Logger.layer([logger])))
      const granted = (from: string, type: string) =>
        `<message from='${from}' to='push.xmpp.test'><privilege xmlns='urn:xmpp:privilege:2'>` +
        `<perm access='presence' type='${type}'/></privilege></message>`
      const heard = Effect.gen(function*() {
        send(iq("ping", "bob@xmpp.test/a", "<ping xmlns='urn:xmpp:ping'/>"))
        yield* take
        return said.filter((line) => line.includes("reports who is online")).length
      })
      send(
        granted("mallory@evil.test", "managed_entity") + granted("evil.test", "roster") + granted("xmpp.test", "none")
      )
      assert.strictEqual(yield* heard, 0)
      send(granted("xmpp.test", "managed_entity"))
      assert.strictEqual(yield* heard, 1)
    }))
})
