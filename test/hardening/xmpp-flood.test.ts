import { assert, describe, it } from "@effect/vitest"
import type { Element } from "@xmpp/xml"
import { Effect, Layer, Redacted } from "effect"
import { TestRunner } from "effect/cluster"
import { Hub } from "#actors/Hub.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import * as Settings from "#layers/Settings.ts"
import * as Service from "#xmpp/Service.ts"
import { answer, componentServer } from "#test/support/ComponentServer.ts"

/** Requests that reach accounts are never answered; pings are at once. */
const service = (port: number) =>
  Service.layer.pipe(
    Layer.provide(TestRunner.layer),
    Layer.provide([
      Layer.mock(Hub, {}),
      Layer.mock(AccountStore, { find: () => Effect.never }),
      Settings.layerTest({
        xmppComponent: "push.xmpp.test",
        xmppDomain: "xmpp.test",
        xmppSecret: Redacted.make("a secret"),
        xmppPort: port
      })
    ])
  )

const iq = (id: string, from: string, payload: string) =>
  `<iq type='get' id='${id}' from='${from}' to='push.xmpp.test'>${payload}</iq>`

const list = "<pubsub xmlns='http://jabber.org/protocol/pubsub'><subscriptions/></pubsub>"
const ping = "<ping xmlns='urn:xmpp:ping'/>"

const connected = Effect.gen(function*() {
  const server = yield* componentServer
  yield* Layer.build(service(server.port))
  const connection = yield* server.accept
  yield* connection.shake
  yield* connection.fence
  /** The next stanza that is no fence; those are answered. */
  const take: Effect.Effect<Element> = Effect.flatMap(connection.take, (stanza) => {
    if (!stanza.attrs["id"]?.startsWith("fence")) return Effect.succeed(stanza)
    connection.send(answer(stanza.attrs["id"]))
    return take
  })
  return { ...connection, take }
})

const conditions = (stanza: Element) =>
  stanza.getChild("error")?.children.map((child) => typeof child === "string" ? "" : child.name)

describe("a flood of stanzas", () => {
  it.live("of one address is told to wait, and keeps nobody else from an answer", () =>
    Effect.gen(function*() {
      const { send, take } = yield* connected
      for (let i = 1; i <= 32; i++) send(iq(`held${i}`, `mallory@xmpp.test/${i}`, list))
      send(iq("more", "mallory@xmpp.test/a", list))
      const refused = yield* take
      assert.strictEqual(refused.attrs["id"], "more")
      assert.deepStrictEqual(conditions(refused), ["resource-constraint", "text"])
      send(iq("ping", "ann@xmpp.test/a", ping))
      const answered = yield* take
      assert.deepStrictEqual([answered.attrs["id"], answered.attrs["type"]], ["ping", "result"])
    }))

  it.live("of many addresses is told to wait as well", () =>
    Effect.gen(function*() {
      const { send, take } = yield* connected
      for (let i = 1; i <= 256; i++) send(iq(`held${i}`, `mallory${i}@xmpp.test/a`, list))
      send(iq("more", "ann@xmpp.test/a", list))
      assert.deepStrictEqual(conditions(yield* take), ["resource-constraint", "text"])
    }))

  it.live("of answers, errors, messages and presences that nobody asked for is passed over", () =>
    Effect.gen(function*() {
      const { send, take } = yield* connected
      for (
        const kind of [
          "iq type='result'",
          "iq type='error'",
          "message",
          "message type='error'",
          "presence",
          "presence type='subscribe'"
        ]
      ) {
        send(`<${kind} id='fence-1' from='mallory@xmpp.test' to='push.xmpp.test'/>`)
      }
      send(iq("deep", "mallory@xmpp.test", `${"<a>".repeat(20_000)}${"</a>".repeat(20_000)}`))
      const refused = yield* take
      assert.deepStrictEqual([refused.attrs["id"], refused.attrs["type"]], ["deep", "error"])
      send(iq("ping", "ann@xmpp.test/a", ping))
      assert.strictEqual((yield* take).attrs["id"], "ping")
    }))
})
