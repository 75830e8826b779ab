import type { Element } from "@xmpp/xml"
import { Effect, Layer, Redacted } from "effect"
import { TestRunner } from "effect/cluster"
import { Hub } from "#actors/operations/Hub.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import * as Settings from "#layers/Settings.ts"
import * as Sender from "#xmpp/Sender.ts"
import * as Service from "#xmpp/Service.ts"
import * as Senders from "#actors/subscription/Senders.ts"
import { componentServer, pingAnswer } from "./ComponentServer.ts"

/** Mocks and settings of a test. An unmocked method dies. */
export interface Mocks {
  readonly hub?: Partial<Hub["Service"]>
  readonly accounts?: Partial<AccountStore["Service"]>
  readonly settings?: Partial<SettingsValues>
}

const layer = (port: number, { accounts = {}, hub = {}, settings = {} }: Mocks) =>
  Layer.mergeAll(
    Service.layer,
    Sender.layer.pipe(Layer.provide(Layer.succeed(Senders.Senders, {})))
  ).pipe(
    Layer.provide(TestRunner.layer),
    Layer.provide([
      Layer.mock(Hub, { resumeJid: () => Effect.succeed(true), ...hub }),
      Layer.mock(AccountStore, accounts),
      Layer.mock(Outbox, { flush: Effect.void }),
      Settings.layerValues({
        xmppComponent: "push.xmpp.test",
        xmppDomain: "xmpp.test",
        xmppSecret: Redacted.make("a secret"),
        xmppPort: port,
        ...settings
      })
    ])
  )

/** The service, connected to a scripted server that answers the component's pings on its own. */
export const connectScripted = Effect.fnUntraced(function*(made: Mocks = {}) {
  const domain = made.settings?.xmppDomain ?? "xmpp.test"
  const server = yield* componentServer
  const context = yield* Layer.build(layer(server.port, made))
  const senders = Effect.provideContext(Senders.Senders, context)
  const connection = yield* server.accept
  yield* connection.shake
  /** The next stanza, without the component's pings. */
  const take: Effect.Effect<Element> = Effect.flatMap(connection.take, (stanza) => {
    if (!stanza.attrs["id"]?.startsWith("fence")) return Effect.succeed(stanza)
    connection.send(pingAnswer(stanza.attrs["id"], domain))
    return take
  })
  yield* Effect.flatMap(
    connection.take,
    ({ attrs }) => Effect.sync(() => connection.send(pingAnswer(attrs["id"], domain)))
  )
  // Its answer proves that the component knows of the connection. On a slow machine, an earlier delivery would return `unavailable`.
  connection.send(iq("up", "nobody@xmpp.test/a", "<ping xmlns='urn:xmpp:ping'/>"))
  yield* take
  return { ...connection, take, senders }
})

export const iq = (id: string, from: string, payload: string, type = "get") =>
  `<iq type='${type}' id='${id}' from='${from}' to='push.xmpp.test'>${payload}</iq>`

export const conditions = (stanza: Element) =>
  stanza.getChild("error")?.children.map((child) => typeof child === "string" ? "" : child.name)
