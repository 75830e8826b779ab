import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { once } from "node:events"
import { freePort } from "#scripts/FreePort.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { makeStallingProxy } from "#test/support/StallingProxy.ts"
import { component, domain, installed, prosody, secret } from "#test/support/Prosody.ts"
import { outside, patience, type Service, start } from "#test/support/Service.ts"
import { login, loginPatiently, type XmppClient } from "#test/support/XmppClient.ts"

const token = "end-to-end-token-0123456789"

const ids = (client: XmppClient) =>
  client.stanzas.filter(({ name }) => name === "message").flatMap((message) => {
    const items = message.getChild("event")?.getChild("items")?.children ?? []
    return items.flatMap((item) => typeof item === "string" ? [] : item.getChild("entry")?.getChildText("id") ?? [])
      .toReversed()
  })

/** The service, its XMPP server (perhaps behind a proxy), a logged-in client of the account, and a publisher. */
const connected = Effect.fnUntraced(function*(
  way: (port: number) => Effect.Effect<number, never, Scope.Scope> = Effect.succeed
) {
  const world = yield* outside
  const port = yield* Effect.promise(freePort)
  const server = yield* prosody(`http://127.0.0.1:${port}`)
  const variables = {
    WINDHOVER_PORT: String(port),
    WINDHOVER_DATA_DIR: yield* temporaryDirectory,
    WINDHOVER_XMPP_COMPONENT: component,
    WINDHOVER_XMPP_DOMAIN: domain,
    WINDHOVER_XMPP_SECRET: secret,
    WINDHOVER_XMPP_PORT: String(yield* way(server.componentPort))
  }
  const service: Service = yield* start(variables)
  const admin = { port: server.clientPort, login: "admin", password: token, domain, component }
  const refused = yield* Effect.flip(login({ ...admin, password: "a guess" }))
  assert.include(refused.message, "not-authorized")
  const client = yield* loginPatiently(admin)
  const subscribe = (nodes: ReadonlyArray<string>) =>
    client.request("set", pubsub(nodes.map((node) => `<subscribe node='${node}' jid='${client.jid}'/>`).join(""))).pipe(
      Effect.repeat({ until: ({ attrs }) => attrs["type"] === "result" })
    )
  return { world, variables, service, client, subscribe }
})

const pubsub = (content: string) => `<pubsub xmlns='http://jabber.org/protocol/pubsub'>${content}</pubsub>`

/** Notifications, from sixteen feeds. */
const count = 320

const ping = (service: Service, node: string) => service.call({ "hub.mode": "publish", "hub.url": node })

describe.skipIf(installed === undefined)("the service as a component of an XMPP server", () => {
  it.live("lets its accounts log in, and loses no notification after a kill", () =>
    Effect.gen(function*() {
      const { client, subscribe, variables, world, ...first } = yield* connected()
      let { service } = first
      const node = `${world.url}/feed`
      yield* subscribe([node])
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
      for (const round of [1, 2]) {
        for (const i of [1, 2, 3]) {
          publish(`${round}.${i}`)
          yield* Effect.delay(Effect.suspend(() => ping(service, node)), "100 millis")
        }
        yield* service.kill
        publish(`${round}.away`)
        service = yield* start(variables)
        yield* ping(service, node)
        yield* client.until(() => published.every((id) => ids(client).includes(id)))
      }
      // messages in flight at the kill may come twice, but in order
      assert.deepStrictEqual([...new Set(ids(client))], published)
      const exit = once(service.process, "exit")
      service.process.kill("SIGTERM") // while the stream to the server is open
      assert.deepStrictEqual(yield* Effect.promise(() => exit), [0, null])
    }).pipe(Effect.scoped, Effect.timeout(patience)), patience + 10_000)

  it.live(
    "repeats two batches at most, the one under way and the one being noted, when it is killed in the middle of many",
    () =>
      Effect.gen(function*() {
        let open: Effect.Effect<void> = Effect.void
        const { client, service, subscribe, variables, world } = yield* connected((port) =>
          Effect.map(makeStallingProxy(port, count / 2), (gate) => {
            open = gate.release
            return gate.port
          })
        )
        const nodes = world.feeds.flatMap((feed) => Array.from({ length: count / 16 }, (_, n) => `${feed}?n=${n}`))
        for (let at = 0; at < nodes.length; at += 20) yield* subscribe(nodes.slice(at, at + 20))
        const page = { "hub.mode": "list", "detailed": "true", "by_page": "500" }
        yield* Effect.suspend(() => service.call(page)).pipe(
          Effect.repeat({ until: ({ text }) => text.match(/"code":(?:200|304)/g)?.length === nodes.length })
        )

        world.publish("news")
        // the test does not wait for the answers: the kill comes between them, with half of the messages still waiting
        yield* Effect.forkChild(
          Effect.ignoreCause(Effect.forEach(nodes, (node) => ping(service, node), { concurrency: 64, discard: true }))
        )
        const received = () => client.stanzas.flatMap(({ attrs: { id }, name }) => name === "message" ? [id] : [])
        yield* client.until(() => received().length >= nodes.length / 4)
        yield* service.kill
        yield* open
        assert.isBelow(received().length, nodes.length)
        const again = yield* start(variables)
        yield* Effect.forEach(nodes, (node) => ping(again, node), { concurrency: 16, discard: true })
        yield* client.until(() => new Set(received()).size === nodes.length)
        assert.isAtMost(received().length - nodes.length, 64)
      }).pipe(Effect.scoped, Effect.timeout(patience)),
    patience + 10_000
  )
})
