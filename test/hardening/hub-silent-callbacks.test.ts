import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import net from "node:net"
import * as ConversationWorld from "#test/support/ConversationWorld.ts"
import { makeStage } from "#test/support/WebSub.ts"

/** Opens a port that accepts connections on all of 127/8 and never answers. Returns the port. */
const openSilentPort = Effect.acquireRelease(
  Effect.promise(() =>
    new Promise<{ readonly server: net.Server; readonly sockets: Set<net.Socket> }>((resolve) => {
      const sockets = new Set<net.Socket>()
      const server = net.createServer((socket) => void sockets.add(socket.on("error", () => undefined)))
      server.listen(0, "0.0.0.0", () => resolve({ server, sockets }))
    })
  ),
  ({ server, sockets }) =>
    Effect.sync(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
).pipe(Effect.map(({ server }) => (server.address() as net.AddressInfo).port))

/** Callbacks that never answer take all verifications of a hub that asks in order of arrival. */
layer(ConversationWorld.layerWith({ hubQuestionsPerMinute: 1_000 }), { excludeTestServices: true })(
  "silent callbacks",
  (it) => {
    it.effect.each([
      ["in one network", (i: number): string => `127.3.0.${i % 250 + 1}`] as const,
      ["in many networks", (i: number): string => `127.4.${i % 250}.1`] as const
    ])(
      "a flood of callbacks %s delays an honest subscription by less than five seconds",
      ([, addressOf]) =>
        Effect.gen(function*() {
          const stage = yield* makeStage
          const port = yield* openSilentPort
          const statuses = yield* Effect.forEach(
            Array.from({ length: 400 }, (_, i) => i),
            (i) => stage.post(stage.subscription({ "hub.callback": `http://${addressOf(i)}:${port}/${i}` })),
            { concurrency: 16 }
          )
          assert.include(statuses.map(({ status }) => status), 202)
          const sentAt = Date.now()
          yield* stage.subscribed({ "hub.callback": `${stage.url}/honest` })
          assert.isBelow(Date.now() - sentAt, 5_000)
        }),
      120_000
    )
  }
)
