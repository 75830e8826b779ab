import { assert, describe, it } from "@effect/vitest"
import { makeMessageId, parseBounce } from "#xmpp/Bounces.ts"
import { stanza } from "#test/support/Stanza.ts"

const error = (id: string, from: string, condition = "item-not-found", type = "cancel", text = "") =>
  stanza(
    `<message type='error' id='${id}' from='${from}' to='push.xmpp.test'><event xmlns='urn:e'/><error type='${type}'>` +
      `<${condition} xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/>${text}</error></message>`
  )

describe("Returned", () => {
  it("is read from any message of its delivery, with its sender", () => {
    const bounce = {
      subscriptionId: 7,
      sequence: 3,
      from: "ann@xmpp.test",
      severity: "lasting",
      message: "The message came back: item-not-found."
    }
    const id = makeMessageId(5, 7, 3)
    assert.strictEqual(id, "5-7-3")
    assert.deepStrictEqual(parseBounce(error(id, "ann@xmpp.test")), bounce)
    assert.deepStrictEqual(parseBounce(error(`${id}-2`, "Ann@XMPP.test./home")), bounce)
  })

  it.each([
    ["from nobody", "5-7-3", ""],
    ["from what is no address", "5-7-3", "@xmpp.test"],
    ["with an id of another kind", "__proto__", "ann@xmpp.test"],
    ["with an id of two numbers", "5-7", "ann@xmpp.test"],
    ["with an id that has more behind it", "5-7-3-2-1", "ann@xmpp.test"],
    ["with a number that is none", "5-7-9007199254740993", "ann@xmpp.test"],
    ["with no id", "", "ann@xmpp.test"]
  ])("is nothing %s", (_, id, from) => {
    assert.isUndefined(parseBounce(error(id, from)))
  })

  it.each([
    ["gone", "cancel", "gone"],
    ["item-not-found", "cancel", "lasting"],
    ["service-unavailable", "cancel", "lasting"],
    ["jid-malformed", "modify", "lasting"],
    ["forbidden", "auth", "lasting"],
    ["service-unavailable", "wait", "passing"],
    ["recipient-unavailable", "wait", "passing"],
    ["remote-server-not-found", "cancel", "passing"],
    ["remote-server-timeout", "cancel", "passing"],
    ["policy-violation", "modify", "passing"],
    ["a-word-of-tomorrow", "cancel", "passing"]
  ])("takes %s of type %s for %s", (condition, type, severity) => {
    assert.strictEqual(parseBounce(error("5-7-3", "ann@xmpp.test", condition, type))?.severity, severity)
  })

  it("quotes the server's text up to the length of a line", () => {
    const text = `<text xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'>${"long ".repeat(1000)}</text>`
    const message = parseBounce(error("5-7-3", "ann@xmpp.test", "gone", "cancel", text))?.message ?? ""
    assert.match(message, /^The message came back: gone \("long long .*\.\.\."\)\.$/)
    assert.isBelow(message.length, 200)
    const bare = stanza("<message type='error' id='5-7-3' from='ann@xmpp.test'/>")
    assert.strictEqual(parseBounce(bare)?.message, "The message came back: undefined-condition.")
  })
})
