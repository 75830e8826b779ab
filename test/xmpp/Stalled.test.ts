import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, References } from "effect"
import * as Component from "#xmpp/Component.ts"
import { component, domain, installed, prosody, secret } from "#test/support/Prosody.ts"
import { loginPatiently } from "#test/support/XmppClient.ts"

describe.skipIf(installed === undefined)("a client that stops reading", () => {
  it.live("delays no other subscriber and no other work", () =>
    Effect.gen(function*() {
      const server = yield* prosody({ ann: "wonder", bob: "builder" })
      const client = (login: string, password: string) =>
        loginPatiently({ port: server.clientPort, login, password, domain, component })
      const [ann, bob] = [yield* client("ann", "wonder"), yield* client("bob", "builder")]
      const sender = yield* Component.make({
        host: "127.0.0.1",
        port: server.componentPort,
        component,
        domain,
        secret: Redacted.make(secret),
        onStanza: () => {}
      })
      const send = (id: string, to: string, size: number) =>
        sender.deliver(id, [
          `<message from="${component}" to="${to}@${domain}" id="${id}"><body>${"x".repeat(size)}</body></message>`
        ]).pipe(Effect.repeat({ until: (outcome) => outcome === "accepted" }))
      yield* send("first", "ann", 1)
      ann.socket.pause()
      // 20 MB: the sockets buffer a part, and the server the rest
      const ids = Array.from({ length: 100 }, (_, i) => String(i))
      yield* Effect.forEach(ids, (id) => send(id, id === "50" ? "bob" : "ann", 200_000), {
        concurrency: 64,
        discard: true
      })
      yield* bob.until(() => bob.stanzas.some(({ attrs }) => attrs["id"] === "50"))
      yield* send("last", "bob", 1)
      yield* bob.until(() => bob.stanzas.some(({ attrs }) => attrs["id"] === "last"))
      assert.strictEqual(sender.unreadBytes(), 0)
    }).pipe(Effect.provideService(References.MinimumLogLevel, "Error")))
})
