import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { connected, iq } from "#test/support/ScriptedXmpp.ts"

const list = "<pubsub xmlns='http://jabber.org/protocol/pubsub'><subscriptions/></pubsub>"

const ann = { id: 1, login: "ann", credits: 0, createdAt: 0 }

describe("Service", () => {
  it.live.each(
    [
      ["xn--mnchen-3ya.test", "m\u00fcnchen.test"],
      ["m\u00fcnchen.test", "xn--mnchen-3ya.test"],
      ["m\u00fcnchen.test", "M\u00fcnchen.test"]
    ] as const
  )("knows accounts of %s that are written %s", ([set, written]) =>
    Effect.gen(function*() {
      const { send, take } = yield* connected({
        settings: { xmppDomain: set },
        accounts: { find: (login) => Effect.succeed(login === "ann" ? Option.some(ann) : Option.none()) },
        hub: { list: () => Effect.succeed({ items: [], total: undefined }) }
      })
      send(iq("1", `ann@${written}/a`, list))
      assert.strictEqual((yield* take).attrs["type"], "result")
    }))
})
