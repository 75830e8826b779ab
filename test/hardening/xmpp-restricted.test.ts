import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { installed } from "#test/support/Prosody.ts"
import * as XmppWorld from "#test/support/XmppWorld.ts"

const ping = "<ping xmlns='urn:xmpp:ping'/>"

describe.skipIf(installed === undefined)("XML that XMPP does not allow, or hardly", () => {
  layer(XmppWorld.layer, { excludeTestServices: true })((it) => {
    it.effect.each(
      [
        ["a document type", "<!DOCTYPE x>"],
        ["an entity that is declared", "<!DOCTYPE x [<!ENTITY e 'f'>]><message to='push.xmpp.test'>&e;</message>"],
        ["an entity that nobody knows", "<message to='push.xmpp.test'><body>&nbsp;</body></message>"],
        ["an instruction", "<message to='push.xmpp.test'><?php it's ?></message>"],
        ["a comment", "<message to='push.xmpp.test'><!-- it's --></message>"]
      ] as const
    )("from a client ends its own stream only: %s", ([, text]) =>
      Effect.gen(function*() {
        const { ann } = yield* XmppWorld.makeWorld
        const eve = yield* XmppWorld.client("eve")
        yield* Effect.callback<void>((resume) => {
          eve.socket.once("close", () => resume(Effect.void))
          eve.send(text)
        })
        assert.strictEqual((yield* ann.request("get", ping)).attrs["type"], "result")
      }))

    it.effect("may be nested as deep as a stanza is long, and harms nobody", () =>
      Effect.gen(function*() {
        const { ann } = yield* XmppWorld.makeWorld
        const deep = 15_000
        const answer = yield* ann.request("get", `<a xmlns='urn:deep'>${"<a>".repeat(deep)}${"</a>".repeat(deep)}</a>`)
        assert.strictEqual(answer.attrs["type"], "error")
        assert.isDefined(answer.getChild("error")?.getChild("service-unavailable"))
        assert.strictEqual((yield* ann.request("get", ping)).attrs["type"], "result")
      }))

    it.effect("is no section of text, whatever is in it", () =>
      Effect.gen(function*() {
        const { ann } = yield* XmppWorld.makeWorld
        ann.send("<message to='push.xmpp.test'><body><![CDATA[it's <b> & ]] > ]]></body></message>")
        assert.strictEqual((yield* ann.request("get", ping)).attrs["type"], "result")
      }))
  })
})
