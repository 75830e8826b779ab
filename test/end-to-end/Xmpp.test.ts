import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { freePort } from "#scripts/prosody/Server.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { component, domain, installed, prosody, secret } from "#test/support/Prosody.ts"
import { outside, type Service, start } from "#test/support/Service.ts"
import { login, loginPatiently, type XmppClient } from "#test/support/XmppClient.ts"

const token = "end-to-end-token-0123456789"

const ids = (client: XmppClient) =>
  client.stanzas.filter(({ name }) => name === "message").flatMap((message) => {
    const items = message.getChild("event")?.getChild("items")?.children ?? []
    return items.flatMap((item) => typeof item === "string" ? [] : item.getChild("entry")?.getChildText("id") ?? [])
      .toReversed()
  })

describe.skipIf(installed === undefined)("the service as a component of an XMPP server", () => {
  it.live("lets its accounts log in, and loses nothing when it is killed", () =>
    Effect.gen(function*() {
      const world = yield* outside
      const port = yield* Effect.promise(freePort)
      const server = yield* prosody(`http://127.0.0.1:${port}`)
      const variables = {
        WINDHOVER_PORT: String(port),
        WINDHOVER_DATA_DIR: yield* temporaryDirectory,
        WINDHOVER_XMPP_COMPONENT: component,
        WINDHOVER_XMPP_DOMAIN: domain,
        WINDHOVER_XMPP_SECRET: secret,
        WINDHOVER_XMPP_PORT: String(server.componentPort)
      }
      let service: Service = yield* start(variables)
      const admin = { port: server.clientPort, login: "admin", password: token, domain, component }
      const refused = yield* Effect.flip(login({ ...admin, password: "a guess" }))
      assert.include(refused.message, "not-authorized")
      const client = yield* loginPatiently(admin)

      const node = `${world.url}/feed`
      const pubsub = (content: string) => `<pubsub xmlns='http://jabber.org/protocol/pubsub'>${content}</pubsub>`
      const subscribe = client.request("set", pubsub(`<subscribe node='${node}' jid='${client.jid}'/>`))
      yield* subscribe.pipe(Effect.repeat({ until: ({ attrs }) => attrs["type"] === "result" }))
      const retrieve = client.request("get", pubsub(`<items node='${node}'/>`))
      yield* retrieve.pipe(
        Effect.repeat({
          until: (answer) => answer.getChild("pubsub")?.getChild("items")?.getChild("item") !== undefined
        })
      )

      const published: Array<string> = []
      const publish = (id: string) => {
        published.push(id)
        world.publish(id)
      }
      const ping = Effect.suspend(() => service.call({ "hub.mode": "publish", "hub.url": node }))
      for (const round of [1, 2]) {
        for (const i of [1, 2, 3]) {
          publish(`${round}.${i}`)
          yield* Effect.delay(ping, "100 millis")
        }
        yield* service.kill
        publish(`${round}.away`)
        service = yield* start(variables)
        yield* ping
        yield* client.until(() => published.every((id) => ids(client).includes(id)))
      }
      // what was on its way when it was killed may come twice, but in order
      assert.deepStrictEqual([...new Set(ids(client))], published)
    }).pipe(Effect.scoped, Effect.timeout("280 seconds")), 300_000)
})
