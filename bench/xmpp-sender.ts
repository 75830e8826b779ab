/**
 * Sends the same notifications to one component through an XMPP server, in a separate process: `xmpp-sender.ts KIND PORT TO COUNT`.
 *
 * `bare` writes the stanzas to a socket in a loop. `component` passes the notifications to the component of `src/xmpp` as actors do, 256 at a time. `queue`
 * is `component` with a server that reads no data from `COUNT` on, and prints the memory of the waiting notifications. The server's domain is
 * `localhost`.
 */
import { Effect, Layer, Redacted, References } from "effect"
import { TestRunner } from "effect/cluster"
import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import { Hub } from "#actors/operations/Hub.ts"
import * as Senders from "#actors/subscription/Senders.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import type { Delivery, Notification } from "#domain/delivery/Notification.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import * as Settings from "#layers/Settings.ts"
import { renderMessages } from "#xmpp/Notifications.ts"
import * as Sender from "#xmpp/Sender.ts"
import * as Service from "#xmpp/Service.ts"
import { openPeer } from "./xmpp-peer.ts"

const [, , kind = "", port = "0", to = "", countText = "0"] = process.argv
const count = Number(countText)
const component = "push.localhost"
const secret = "a secret of the benchmark"
const text = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor. ".repeat(19)

const notification = (id: number): Notification => ({
  id,
  resourceId: 1,
  createdAt: 0,
  status: { title: "A feed", code: 200, http: "Fetched (ping) 200 60 and parsed 1/25 entries", period: 60 },
  news: {
    _tag: "Entries",
    entries: [{
      id: `urn:bench:${id}`,
      title: { value: `Entry ${id}`, type: "text" },
      links: [{ href: `http://bench.example/${id}`, rel: "alternate" }],
      content: [{ value: text, type: "html" }]
    }]
  }
})

const topic = "http://bench.example/feed"

const renderStanzas = (id: number): string =>
  renderMessages({
    from: component,
    to,
    id: String(id),
    topic,
    notification: notification(id),
    style: { format: undefined, extNamespace: "http://superfeedr.com/xmpp-pubsub-ext" }
  }).join("")

interface Cost {
  readonly cpu: number
  readonly wall: number
}

/** Measures after a warm-up with a quarter as many notifications. */
const measure = async (send: (count: number) => Promise<void>): Promise<Cost> => {
  await send(Math.ceil(count / 4))
  const cpu = process.cpuUsage()
  const began = performance.now()
  await send(count)
  const used = process.cpuUsage(cpu)
  return { cpu: (used.user + used.system) / 1e6, wall: (performance.now() - began) / 1e3 }
}

const bare = async (): Promise<Cost> => {
  const peer = await openPeer(Number(port), component, secret)
  const stanza = renderStanzas(1)
  const cost = await measure(async (count) => {
    for (let i = 0; i < count; i++) await peer.write(stanza)
    const answered = peer.received.iqs + 1
    await peer.write(`<iq type="get" id="last" from="${component}" to="localhost"><ping xmlns="urn:xmpp:ping"/></iq>`)
    while (peer.received.iqs < answered) await sleep(1)
  })
  peer.close()
  return cost
}

const layer = Layer.mergeAll(
  Service.layer,
  Sender.layer.pipe(Layer.provide(Layer.succeed(Senders.Senders, {})))
).pipe(
  Layer.provide(TestRunner.layer),
  Layer.provide([
    Layer.mock(Hub, {}),
    Layer.mock(AccountStore, { load: () => Effect.succeedNone }),
    Layer.mock(Outbox, { flush: Effect.void }),
    Settings.layerValues({
      xmppComponent: component,
      xmppDomain: "localhost",
      xmppSecret: Redacted.make(secret),
      xmppPort: Number(port)
    })
  ])
)

const subscription = (id: number): Subscription => ({
  id,
  accountId: 1,
  resourceId: 1,
  topic,
  channel: "xmpp",
  endpoint: to,
  host: to,
  face: "api",
  state: "active",
  createdAt: 0
})

const delivery = (id: number): Delivery => ({
  id,
  subscriptionId: id,
  sequence: id,
  credits: 0,
  attempt: 0,
  dueAt: 0,
  waitsSince: 0,
  notification: notification(id)
})

/** Sends one notification, and retries until the server has accepted its messages. */
type Send = (id: number) => Effect.Effect<unknown>

const withSender = <A>(use: (send: Send) => Effect.Effect<A>): Promise<A> =>
  Effect.runPromise(
    Effect.gen(function*() {
      const { xmpp } = yield* Senders.Senders
      if (xmpp === undefined) throw new Error("XMPP is off")
      return yield* use((id) =>
        Effect.repeat(
          xmpp(delivery(id), subscription(id), () => true, { speed: "unknown" }),
          { until: ({ verdict }) => verdict === "delivered" }
        )
      )
    }).pipe(Effect.provide(layer), Effect.provideService(References.MinimumLogLevel, "Error"), Effect.scoped)
  )

const all = (send: Send, count: number, concurrency: number | "unbounded" = 256) =>
  Effect.forEach(Array.from({ length: count }, (_, i) => i + 1), send, { concurrency, discard: true })

const sendThroughComponent = (): Promise<Cost> =>
  withSender((send) => Effect.promise(() => measure((count) => Effect.runPromise(all(send, count)))))

const memory = () => {
  globalThis.gc?.()
  const { external, heapUsed } = process.memoryUsage()
  return external + heapUsed
}

const queue = (): Promise<{ readonly bytes: number; readonly stanza: number }> =>
  withSender((send) =>
    Effect.promise(async () => {
      await Effect.runPromise(all(send, 2_000))
      const before = memory()
      process.send?.("warm")
      await once(process, "message") // the server reads no data from here on
      const sent = Effect.runPromise(all(send, count, "unbounded"))
      await sleep(3_000)
      const bytes = memory() - before
      process.send?.("measured")
      await sent
      return { bytes, stanza: Buffer.byteLength(renderStanzas(1)) }
    })
  )

const kinds: Readonly<Record<string, () => Promise<unknown>>> = { bare, component: sendThroughComponent, queue }
process.stdout.write(`${JSON.stringify(await kinds[kind]?.())}\n`)
process.exit(0)
