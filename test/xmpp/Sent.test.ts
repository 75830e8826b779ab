import { assert, describe, it } from "@effect/vitest"
import { Sent } from "#xmpp/Sent.ts"
import { stanza } from "#test/support/Stanza.ts"

const receipt = { to: "ann@xmpp.test", subscriptionId: 7, sequence: 3 }

const error = (id: string, from: string, condition = "item-not-found", type = "cancel", text = "") =>
  stanza(
    `<message type='error' id='${id}' from='${from}' to='push.xmpp.test'><event xmlns='urn:e'/><error type='${type}'>` +
      `<${condition} xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/>${text}</error></message>`
  )

const sent = () => {
  const sent = new Sent()
  sent.remember("5-7", receipt)
  return sent
}

describe("Sent", () => {
  it("understands what comes back from whom it was sent to, once, whichever of its messages it is", () => {
    const bounce = {
      subscriptionId: 7,
      sequence: 3,
      severity: "lasting",
      message: "The message came back: item-not-found."
    }
    assert.deepStrictEqual(sent().bounced(error("5-7", "ann@xmpp.test")), bounce)
    const parts = sent()
    assert.deepStrictEqual(parts.bounced(error("5-7-2", "Ann@xmpp.test/home")), bounce)
    assert.isUndefined(parts.bounced(error("5-7", "ann@xmpp.test")))
    assert.isUndefined(parts.bounced(error("5-7-3", "ann@xmpp.test")))
  })

  it.each([
    ["from somebody else", "5-7", "mallory@xmpp.test"],
    ["from the server", "5-7", "xmpp.test"],
    ["from a domain that looks alike", "5-7", "ann@xmpp.test.evil.test"],
    ["from nobody", "5-7", ""],
    ["with an id that was never given", "6-7", "ann@xmpp.test"],
    ["with an id of another kind", "__proto__", "ann@xmpp.test"],
    ["with no id", "", "ann@xmpp.test"]
  ])("takes nothing for a bounce %s, and waits for the true one", (_, id, from) => {
    const one = sent()
    assert.isUndefined(one.bounced(error(id, from)))
    assert.isDefined(one.bounced(error("5-7", "ann@xmpp.test")))
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
    assert.strictEqual(sent().bounced(error("5-7", "ann@xmpp.test", condition, type))?.severity, severity)
  })

  it("quotes what the server says, and no more of it than fits into a line", () => {
    const text = `<text xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'>${"long ".repeat(1000)}</text>`
    const message = sent().bounced(error("5-7", "ann@xmpp.test", "gone", "cancel", text))?.message ?? ""
    assert.match(message, /^The message came back: gone \("long long .*\.\.\."\)\.$/)
    assert.isBelow(message.length, 200)
    const bare = stanza("<message type='error' id='5-7' from='ann@xmpp.test'/>")
    assert.strictEqual(sent().bounced(bare)?.message, "The message came back: undefined-condition.")
  })

  it("remembers the newest 10,000", () => {
    const one = sent()
    for (let i = 1; i < 10_000; i++) one.remember(`${i}-8`, receipt)
    one.remember("5-7", receipt) // sent again: it is the newest
    one.remember("10000-8", receipt)
    assert.isUndefined(one.bounced(error("1-8", "ann@xmpp.test")))
    assert.isDefined(one.bounced(error("2-8", "ann@xmpp.test")))
    assert.isDefined(one.bounced(error("5-7", "ann@xmpp.test")))
  })
})
