import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted, References } from "effect"
import { renderMessages } from "#xmpp/Notifications.ts"
import * as Component from "#xmpp/Component.ts"
import { component, domain, installed, prosody, secret } from "#test/support/Prosody.ts"
import { loginPatiently } from "#test/support/XmppClient.ts"

const count = 3_000

describe.skipIf(installed === undefined)("the component on a server that is killed", () => {
  it.live("loses none of 3,000 notifications, and repeats at most one batch", () =>
    Effect.gen(function*() {
      const server = yield* prosody({ ann: "wonder" })
      const received = new Map<string, number>()
      /** Ann's client: counts messages, and logs in again after each disconnect. */
      const receiveUntilClosed = Effect.gen(function*() {
        const ann = yield* loginPatiently({
          port: server.clientPort,
          login: "ann",
          password: "wonder",
          domain,
          component
        })
        const closed = Effect.callback<void>((resume) => void ann.socket.once("close", () => resume(Effect.void)))
        const countMessages = Effect.forever(Effect.andThen(
          ann.until(() => ann.stanzas.length > 0),
          Effect.sync(() => {
            for (const { attrs: { id }, name } of ann.stanzas.splice(0)) {
              if (name === "message" && id !== undefined) received.set(id, (received.get(id) ?? 0) + 1)
            }
          })
        ))
        yield* Effect.raceFirst(closed, countMessages)
      }).pipe(Effect.scoped)
      yield* Effect.forkChild(Effect.forever(receiveUntilClosed))

      const sender = yield* Component.make({
        host: "127.0.0.1",
        port: server.componentPort,
        component,
        domain,
        secret: Redacted.make(secret),
        onStanza: () => {}
      })
      const render = (id: string) =>
        renderMessages({
          from: component,
          to: `ann@${domain}`,
          id,
          topic: "http://feeds.test/a",
          notification: {
            id: 1,
            resourceId: 1,
            createdAt: 0,
            status: {},
            news: { _tag: "Entries", entries: [{ id, content: [{ value: "é€😀".repeat(100), type: "text" }] }] }
          },
          style: { format: undefined, extNamespace: "http://ext.example/ns" }
        })
      /** Retries an unavailable delivery, as a subscription does. */
      const deliver = (id: string) =>
        sender.deliver(id, render(id)).pipe(
          Effect.repeat({ until: (outcome) => outcome === "accepted" })
        )
      let taken = 0
      const all = yield* Effect.forkChild(Effect.forEach(
        Array.from({ length: count }, (_, i) => String(i)),
        (id) => Effect.tap(deliver(id), () => Effect.sync(() => void taken++)),
        { concurrency: 256, discard: true }
      ))
      yield* Effect.sync(() => taken).pipe(
        Effect.delay("1 millis"),
        Effect.repeat({ until: (taken) => taken > count / 3 })
      )
      yield* server.kill
      yield* server.start
      yield* Fiber.join(all)
      yield* Effect.sync(() => received.size).pipe(
        Effect.delay("20 millis"),
        Effect.repeat({ until: (size) => size === count })
      )
      const repeated = [...received.values()].reduce((sum, times) => sum + times - 1, 0)
      assert.isAtMost(repeated, 64)
    }).pipe(Effect.provideService(References.MinimumLogLevel, "Error")))
})
