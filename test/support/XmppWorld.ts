import type { Element } from "@xmpp/xml"
import { Context, Effect, Layer, Redacted, References, Schedule } from "effect"
import { TestRunner } from "effect/cluster"
import { Hub } from "#actors/operations/Hub.ts"
import * as ActorsLayer from "#actors/ActorsLayer.ts"
import * as Senders from "#actors/subscription/Senders.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import * as Settings from "#layers/Settings.ts"
import { layerOutbound } from "#main/Windhover.ts"
import * as MemoryStores from "#test/fakes/MemoryStores.ts"
import * as ComponentStream from "#xmpp/ComponentStream.ts"
import * as XmppSender from "#xmpp/Sender.ts"
import * as XmppService from "#xmpp/Service.ts"
import { openFakeWeb } from "./FakeWeb.ts"
import { component, domain, type Prosody, prosody, secret } from "./Prosody.ts"
import { loginPatiently } from "./XmppClient.ts"

export const ext = "http://ext.example/ns"

class Server extends Context.Service<Server, Prosody>()("windhover/test/XmppServer") {}

const passwords = { ann: "wonder", bob: "builder", eve: "stranger" }

/** Name of a third-party component on the same server. */
export const external = "external.test"

const layerServer = Layer.effect(Server, prosody(passwords, `Component "${external}"\n  component_secret = "theirs"`))

const settings = Layer.unwrap(Server.useSync(({ componentPort }) =>
  Settings.layerValues({
    port: 0,
    baseUrl: "http://windhover.xmpp.test",
    allowPrivate: true,
    minPeriodSeconds: 1,
    extNamespace: ext,
    xmppComponent: component,
    xmppDomain: domain,
    xmppSecret: Redacted.make(secret),
    xmppPort: componentPort
  })
))

/** The service behind a real XMPP server, with a database in memory. Ann and Bob have accounts, Eve only a login of the server. */
export const layer = XmppService.layer.pipe(
  Layer.provideMerge(ActorsLayer.layer),
  Layer.provide(XmppSender.layer),
  Layer.provide(Senders.layer),
  Layer.provide(TestRunner.layer),
  Layer.provideMerge(MemoryStores.layer),
  Layer.provide(layerOutbound),
  Layer.provide(settings),
  Layer.provideMerge(layerServer),
  Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Error"))
)

/** Logs in, with a resource from the server. */
export const client = Effect.fnUntraced(function*(login: keyof typeof passwords, present = true) {
  const { clientPort } = yield* Server
  return yield* loginPatiently({ port: clientPort, login, password: passwords[login], domain, component, present })
})

/** A third-party component: sends an iq from one of its addresses, and returns the answer. */
export const externalComponent = Effect.gen(function*() {
  const { componentPort } = yield* Server
  const answers = new Map<string, (answer: Element) => void>()
  const link = yield* ComponentStream.open(
    { host: "127.0.0.1", port: componentPort, component: external, domain, secret: Redacted.make("theirs") },
    (stanza) => answers.get(stanza.attrs["id"] ?? "")?.(stanza)
  )
  let serial = 0
  return {
    request: (from: string, type: "get" | "set", payload: string) =>
      Effect.callback<Element>((resume) => {
        const id = `e${++serial}`
        answers.set(id, (answer) => resume(Effect.succeed(answer)))
        link.write(`<iq type='${type}' id='${id}' from='${from}' to='${component}'>${payload}</iq>`)
      })
  }
})

/** A world with accounts, awake partitions, a connected component, and feeds to publish. */
export const makeWorld = Effect.gen(function*() {
  const accounts = yield* AccountStore
  const { ready } = yield* Hub
  for (const login of ["ann", "bob"]) yield* Effect.ignore(accounts.create(login, Redacted.make("a password")))
  yield* ready.pipe(Effect.repeat({ until: (awake) => awake, schedule: Schedule.spaced("10 millis") }))
  const outside = yield* openFakeWeb
  const ann = yield* client("ann")
  // until the component is connected, the server answers with an error
  yield* ann.request("get", "<ping xmlns='urn:xmpp:ping'/>").pipe(
    Effect.repeat({ until: ({ attrs }) => attrs["type"] === "result", schedule: Schedule.spaced("50 millis") })
  )
  const publish = (path: string, ids: ReadonlyArray<string>, text = (id: string) => `Text of ${id}`) =>
    outside.publish(path, {
      status: 200,
      contentType: "application/atom+xml",
      body: `<feed xmlns="http://www.w3.org/2005/Atom"><title>A feed</title><id>urn:feed</id>${
        ids.map((id) => `<entry><id>${id}</id><title>Title of ${id}</title><content>${text(id)}</content></entry>`)
          .join("")
      }</feed>`
    })
  return { ann, outside, publish }
})

/**
 * Renders a stanza independent of the server's prefixes: names with a namespace where it changes, attributes in order, status times as
 * `TIME`.
 */
export const plain = (element: Element, around?: string): string => {
  const namespace = element.getNS()
  const attributes = Object.entries(element.attrs)
    .filter(([name]) => name !== "xmlns" && !name.startsWith("xmlns:"))
    .map(([name, value]) => {
      const [prefix = "", local] = name.split(":")
      if (local === undefined || prefix === "xml") return `${name}='${value}'`
      return `{${element.findNS(prefix)}}${local}='${value}'`
    }).toSorted()
  const name = [element.getName(), ...(namespace === around ? [] : [`xmlns='${namespace}'`]), ...attributes].join(" ")
  const content = element.children.map((child) => typeof child === "string" ? masked(child) : plain(child, namespace))
    .join("")
  return content === "" ? `<${name}/>` : `<${name}>${content}</${element.getName()}>`
}

const masked = (text: string): string =>
  /^\d{4}-\d\d-\d\dT/.test(text) ? "TIME" : text.replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "OUTSIDE")

/** Renders the payload of an answer, or the content of its error. */
export const said = (answer: Element): string => {
  const [payload] = answer.children.filter((child) => typeof child !== "string")
  return `${answer.attrs["type"]} ${payload === undefined ? "" : plain(payload, "jabber:client")}`
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "OUTSIDE")
}
