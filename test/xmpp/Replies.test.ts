import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { badRequest } from "#xmpp/Conditions.ts"
import * as Replies from "#xmpp/Replies.ts"
import { children, content, names, parse } from "#test/domain/render/xml.ts"
import { hostile, model } from "#test/generators/Model.ts"
import { stanza } from "#test/support/Stanza.ts"

const EXT = "http://ext.example/ns"
const iq = stanza("<iq type='get' id='7' from='ann@x.test/a' to='push.x.test'/>")
const status = { feed: "http://feeds.test/a", code: 200, http: "Fetched (ring) 200 900", period: 900 }
const subscription = { node: "http://feeds.test/a", jid: "Ann@x.test/home", status }

describe("Replies", () => {
  it("answers the sender with the id of the request", () => {
    assert.strictEqual(Replies.renderResult(iq), `<iq type="result" from="push.x.test" to="ann@x.test/a" id="7"/>`)
  })

  it("renders a subscription with all parts of its status in order", () => {
    assert.strictEqual(
      Replies.renderSubscribeResult([subscription], EXT, 10_000),
      `<pubsub xmlns="http://jabber.org/protocol/pubsub">` +
        `<subscription node="http://feeds.test/a" jid="Ann@x.test/home" subscription="subscribed">` +
        `<status feed="http://feeds.test/a" xmlns="${EXT}"><http code="200">Fetched (ring) 200 900</http><next_fetch></next_fetch>` +
        "<period>900</period><last_fetch></last_fetch><last_parse></last_parse>" +
        "<last_maintenance_at></last_maintenance_at></status></subscription></pubsub>"
    )
  })

  it("fits subscriptions into the maximum size: shortens texts first, then omits statuses", () => {
    const long = { ...subscription, status: { ...status, title: "t".repeat(900), http: "h".repeat(900) } }
    const page = Array.from({ length: 20 }, () => long)
    const written = (room: number) => {
      const xml = Replies.renderListResult(page, 1, EXT, room)
      const [list] = children(parse(xml))
      return { size: Buffer.byteLength(xml), first: children(children(list ?? assert.fail())[0] ?? assert.fail())[0] }
    }
    const titleOf = (status: Parameters<typeof children>[0] | undefined) =>
      status === undefined ? undefined : children(status).map((child) => content(child))[2]
    const whole = written(100_000)
    assert.strictEqual(titleOf(whole.first), "t".repeat(900))
    const short = written(whole.size - 1_000)
    assert.strictEqual(titleOf(short.first), `${"t".repeat(59)}…`)
    assert.deepStrictEqual(short.first?.attributes["feed"], "http://feeds.test/a")
    assert.isAtMost(short.size, whole.size - 1_000)
    const bare = written(short.size - 1_000)
    assert.isUndefined(bare.first)
    assert.isAtMost(bare.size, short.size - 1_000)
  })

  it("carries the page in the extension's namespace", () => {
    const [list] = children(parse(Replies.renderListResult([subscription], 3, EXT, 10_000)))
    assert.deepStrictEqual(list?.attributes, { "superfeedr:page": "3" })
    assert.deepStrictEqual(list === undefined ? [] : names(list), ["subscription"])
  })

  it("retrieves nothing as an empty list", () => {
    assert.strictEqual(
      Replies.renderRetrieveResult("http://feeds.test/a", ""),
      `<pubsub xmlns="http://jabber.org/protocol/pubsub"><items node="http://feeds.test/a"></items></pubsub>`
    )
  })

  it("describes the component and a resource", () => {
    const service = children(parse(Replies.renderDiscoInfo(undefined, "Windhover", EXT)))
    assert.deepStrictEqual(service[0]?.attributes, { category: "pubsub", type: "service", name: "Windhover" })
    assert.include(service.map(({ attributes }) => attributes["var"]), EXT)
    assert.include(service.map(({ attributes }) => attributes["var"]), "urn:xmpp:ping")
    const leaf = children(parse(Replies.renderDiscoInfo("http://feeds.test/a", "A feed", EXT)))
    assert.deepStrictEqual(leaf[0]?.attributes, { category: "pubsub", type: "leaf", name: "A feed" })
  })

  it("is well-formed XML for any input", () => {
    const { status } = model(hostile)
    fc.assert(fc.property(hostile, hostile, status, (node, jid, status) => {
      assert.deepStrictEqual(names(parse(Replies.renderListResult([{ node, jid, status }], 1, EXT, 1e9))), [
        "subscriptions"
      ])
      assert.deepStrictEqual(names(parse(Replies.renderDiscoInfo(node, jid, EXT))), ["identity", "feature", "feature"])
      assert.deepStrictEqual(names(parse(Replies.renderRetrieveResult(node, ""))), ["items"])
      const request = { ...iq, attrs: { from: jid, id: node } }
      assert.deepStrictEqual(names(parse(Replies.renderError(request, badRequest(jid)))), ["error"])
    }))
  })
})
