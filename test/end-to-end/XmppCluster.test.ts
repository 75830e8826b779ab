import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { engines, serverDatabase } from "#test/support/Databases.ts"
import { component, domain, installed, prosody, secret } from "#test/support/Prosody.ts"
import { freePort, outside, patience, start } from "#test/support/Service.ts"
import { loginPatiently, type XmppClient } from "#test/support/XmppClient.ts"

const available = installed !== undefined && engines.some(({ available, name }) => name === "server" && available)

const pubsub = (content: string) => `<pubsub xmlns='http://jabber.org/protocol/pubsub'>${content}</pubsub>`

/** Ids of the received entries of a feed, oldest first, with repetitions. */
const received = (client: XmppClient, node: string): ReadonlyArray<string> =>
  client.stanzas.filter(({ name }) => name === "message").flatMap((message) => {
    const items = message.getChild("event")?.getChild("items")
    if (items?.attrs["node"] !== node) return []
    return items.children.flatMap((item) =>
      typeof item === "string" ? [] : item.getChild("entry")?.getChildText("id") ?? []
    ).toReversed()
  })

describe.skipIf(!available)("two runners with one component", () => {
  it.live(
    "send from both of them, and lose nothing when the one that is connected is killed",
    () =>
      Effect.gen(function*() {
        const world = yield* outside
        const database = yield* serverDatabase
        const server = yield* prosody({ admin: "wonder" })
        const runner = Effect.gen(function*() {
          const port = yield* freePort
          return yield* start({
            WINDHOVER_DATABASE_URL: database,
            WINDHOVER_RUNNER_ADDRESS: `127.0.0.1:${port}`,
            WINDHOVER_XMPP_COMPONENT: component,
            WINDHOVER_XMPP_DOMAIN: domain,
            WINDHOVER_XMPP_SECRET: secret,
            WINDHOVER_XMPP_PORT: String(server.componentPort)
          })
        })
        const [one, two] = [yield* runner, yield* runner]
        yield* Effect.forEach([one, two], ({ ready }) => ready)
        const client = yield* loginPatiently({
          port: server.clientPort,
          login: "admin",
          password: "wonder",
          domain,
          component
        })
        const again = Schedule.spaced("200 millis")
        for (const feed of world.feeds) {
          yield* client.request("set", pubsub(`<subscribe node='${feed}' jid='${client.jid}'/>`)).pipe(
            Effect.repeat({ until: ({ attrs }) => attrs["type"] === "result", schedule: again })
          )
          yield* client.request("get", pubsub(`<items node='${feed}'/>`)).pipe(
            Effect.repeat({
              until: (answer) => answer.getChild("pubsub")?.getChild("items")?.getChild("item") !== undefined,
              schedule: again
            })
          )
        }
        const connections = ({ said }: typeof one) =>
          said.filter((line) => line.includes("XMPP: the component is connected.")).length
        // the first runner started alone; the second one has the component if the shard has moved
        const [owner, other] = connections(two) > 0 ? [two, one] : [one, two]
        const before = connections(other)

        const published: Array<string> = []
        const publish = (id: string) => {
          published.push(id)
          world.publish(id)
        }
        const all = () => world.feeds.every((feed) => new Set(received(client, feed)).size === published.length)
        const ping = other.call({ "hub.mode": "publish", "hub.url": world.feeds.join(",") })
        publish("before")
        yield* ping
        yield* client.until(all) // on either runner

        const publisher = yield* Effect.forkChild(
          Effect.forEach(
            Array.from({ length: 20 }, (_, i) => `during ${i}`),
            (id) => Effect.delay(Effect.andThen(Effect.sync(() => publish(id)), ping), "100 millis")
          )
        )
        yield* client.until(() => received(client, world.feeds[0] ?? "").length > 3)
        yield* owner.kill
        yield* Fiber.join(publisher)
        yield* ping
        yield* client.until(all)
        assert.strictEqual(connections(other), before + 1)
        for (const feed of world.feeds) assert.deepStrictEqual([...new Set(received(client, feed))], published)
        const repeated = world.feeds.flatMap((feed) => received(client, feed)).length - 16 * published.length
        assert.isAtMost(repeated, 64)
      }).pipe(Effect.scoped, Effect.timeout(patience)),
    patience + 10_000
  )
})
