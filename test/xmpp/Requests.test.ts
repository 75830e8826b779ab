import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import fc from "fast-check"
import * as Requests from "#xmpp/Requests.ts"
import { stanza } from "#test/support/Stanza.ts"

const EXT = "http://ext.example/ns"
const PUBSUB = "http://jabber.org/protocol/pubsub"

const iq = (type: string, payload: string) => stanza(`<iq type='${type}' id='1' from='ann@x.test/a'>${payload}</iq>`)
const pubsub = (type: string, content: string, attributes = "") =>
  iq(type, `<pubsub xmlns='${PUBSUB}' xmlns:sf='${EXT}'${attributes}>${content}</pubsub>`)

const read = (element: ReturnType<typeof stanza>) => Requests.parseRequest(element, EXT)

/** The request, or type, name and detail of the error. */
const outcome = (element: ReturnType<typeof stanza>) =>
  Result.match(read(element), {
    onSuccess: (request): unknown => request,
    onFailure: ({ detail, name, type }) =>
      `${type} ${name}${detail === undefined ? "" : ` ${detail.name}`}${
        detail?.feature === undefined ? "" : ` ${detail.feature}`
      }`
  })

const ann = (given = "ann@x.test") => ({ given, bare: "ann@x.test", domain: "x.test" })
const node = "http://feeds.test/a"
const subscribe = (attributes: string) => `<subscribe node='${node}' jid='ann@x.test'${attributes}/>`

describe("Requests", () => {
  it("reads subscribe and unsubscribe, with the extension's attributes under any prefix", () => {
    assert.deepStrictEqual(
      outcome(pubsub("set", subscribe("") + subscribe(" sf:format='JSON'") + subscribe(" format='atom'"))),
      {
        _tag: "Subscribe",
        subscriptions: [{ node, jid: ann() }, { node, jid: ann(), format: "json" }, {
          node,
          jid: ann(),
          format: "atom"
        }]
      }
    )
    assert.deepStrictEqual(
      outcome(pubsub("set", `<unsubscribe node='${node}' jid='Ann@x.test/home'/>`)),
      { _tag: "Unsubscribe", subscriptions: [{ node, jid: ann("Ann@x.test/home") }] }
    )
  })

  it("finds elements and attributes by namespace, with any prefixes", () => {
    assert.deepStrictEqual(
      outcome(stanza(
        `<iq type='set'><p:pubsub xmlns:p='${PUBSUB}'><p:subscribe xmlns:ns1='${EXT}' xmlns:o='urn:other'` +
          ` o:format='nonsense' ns1:format='json' node='${node}' jid='ann@x.test'/></p:pubsub></iq>`
      )),
      { _tag: "Subscribe", subscriptions: [{ node, jid: ann(), format: "json" }] }
    )
    assert.strictEqual(
      outcome(iq("set", `<pubsub xmlns='urn:other'>${subscribe("")}</pubsub>`)),
      "cancel service-unavailable"
    )
  })

  it.each([
    ["<subscriptions/>", { _tag: "List", jid: undefined, page: 1 }],
    ["<subscriptions jid='ann@x.test' sf:page='3'/>", { _tag: "List", jid: ann(), page: 3 }],
    ["<subscriptions page='0'/>", { _tag: "List", jid: undefined, page: 1 }],
    ["<subscriptions sf:page='-7'/>", { _tag: "List", jid: undefined, page: 1 }],
    [`<items node='${node}'/>`, { _tag: "Retrieve", node, count: 10, itemIds: [] }],
    [`<items node='${node}' max_items='3'/>`, { _tag: "Retrieve", node, count: 3, itemIds: [] }],
    [`<items node='${node}' max_items='99'/>`, { _tag: "Retrieve", node, count: 10, itemIds: [] }],
    [
      `<items node='${node}'><item id='b'/>text<item id='a'/><item id='b'/><item xmlns='urn:other' id='c'/></items>`,
      { _tag: "Retrieve", node, count: 10, itemIds: ["b", "a"] }
    ]
  ])("reads %s", (content, request) => {
    assert.deepStrictEqual(outcome(pubsub("get", content)), request)
  })

  it.each([
    ["disco#info", "<query xmlns='http://jabber.org/protocol/disco#info'/>", { _tag: "Info", node: undefined }],
    ["disco#items", "<query xmlns='http://jabber.org/protocol/disco#items' node='n'/>", { _tag: "Items", node: "n" }],
    ["ping", "<ping xmlns='urn:xmpp:ping'/>", { _tag: "Ping" }]
  ])("reads %s", (_, payload, request) => {
    assert.deepStrictEqual(outcome(iq("get", payload)), request)
    assert.strictEqual(outcome(iq("set", payload)), "modify bad-request")
  })

  it("accepts 20 resources and rejects 21", () => {
    assert.isTrue(Result.isSuccess(read(pubsub("set", subscribe("").repeat(20)))))
    assert.strictEqual(outcome(pubsub("set", subscribe("").repeat(21))), "modify not-acceptable")
  })

  it.each([
    ["two payloads", iq("get", "<a/><b/>"), "modify bad-request"],
    ["no payload", iq("get", ""), "modify bad-request"],
    ["an unknown payload", iq("get", "<query xmlns='jabber:iq:version'/>"), "cancel service-unavailable"],
    ["an empty pubsub", pubsub("set", ""), "modify bad-request"],
    ["subscribe in a get", pubsub("get", subscribe("")), "modify bad-request"],
    ["items in a set", pubsub("set", `<items node='${node}'/>`), "modify bad-request"],
    ["publish", pubsub("set", "<publish node='n'/>"), "cancel feature-not-implemented unsupported publish"],
    ["create", pubsub("set", "<create node='n'/>"), "cancel feature-not-implemented unsupported create-nodes"],
    [
      "a name of every object, which XEP-0060 does not know",
      pubsub("set", "<constructor/>"),
      "modify bad-request"
    ],
    ["an iq of another type", iq("put", "<ping xmlns='urn:xmpp:ping'/>"), "modify bad-request"],
    [
      "subscribe and unsubscribe",
      pubsub("set", subscribe("") + subscribe("").replace("<", "<un")),
      "modify bad-request"
    ],
    ["a verb in another namespace", pubsub("set", subscribe(" xmlns='urn:other'")), "modify bad-request"],
    ["an item without an id", pubsub("get", `<items node='${node}'><item/></items>`), "modify bad-request"],
    [
      "options beside a subscribe",
      pubsub("set", `${subscribe("")}<options/>`),
      "cancel feature-not-implemented unsupported subscription-options"
    ],
    [
      "the owner's verbs",
      iq("set", "<pubsub xmlns='http://jabber.org/protocol/pubsub#owner'><delete node='n'/></pubsub>"),
      "cancel feature-not-implemented unsupported delete-nodes"
    ],
    ["no node", pubsub("set", "<subscribe jid='ann@x.test'/>"), "modify bad-request nodeid-required"],
    ["an empty node", pubsub("get", "<items node=''/>"), "modify bad-request nodeid-required"],
    ["no jid", pubsub("set", `<subscribe node='${node}'/>`), "modify bad-request jid-required"],
    ["a jid that is none", pubsub("set", `<subscribe node='${node}' jid='@'/>`), "modify jid-malformed invalid-jid"],
    [
      "differing jids",
      pubsub("set", `${subscribe("")}<subscribe node='${node}' jid='bob@x.test'/>`),
      "modify bad-request invalid-jid"
    ],
    ["a node that is no URL", pubsub("set", "<subscribe node='feed' jid='ann@x.test'/>"), "modify not-acceptable"],
    ["a node of FTP", pubsub("set", "<subscribe node='ftp://a/' jid='ann@x.test'/>"), "modify not-acceptable"],
    [
      "a node that is too long",
      pubsub("set", `<subscribe node='http://a/${"b".repeat(2048)}' jid='ann@x.test'/>`),
      "modify not-acceptable"
    ],
    ["an unknown format", pubsub("set", subscribe(" sf:format='rss'")), "modify bad-request invalid-options"],
    ["a page that is no number", pubsub("get", "<subscriptions sf:page='two'/>"), "modify bad-request"],
    ["a page that is a fraction", pubsub("get", "<subscriptions sf:page='1.5'/>"), "modify bad-request"]
  ])("refuses %s", (_, element, condition) => {
    assert.strictEqual(outcome(element), condition)
  })

  it("reports an invalid node with an XMPP condition", () => {
    const refused = read(pubsub("set", "<subscribe node='feed' jid='ann@x.test'/>"))
    assert.strictEqual(
      Result.match(refused, { onSuccess: () => "", onFailure: ({ text }) => text }),
      "Please provide a valid node (feed) URL that is accepted on this hub. node is not a URL: received \"feed\"; " +
        "an absolute http or https URL is needed."
    )
  })

  it.each([
    [
      "a mixed request",
      pubsub("set", subscribe("") + subscribe("").replace("<", "<un")),
      "A request has elements of one name; here are subscribe and unsubscribe. Send a request for each name."
    ],
    [
      "a verb in another namespace",
      pubsub("set", subscribe(" xmlns='urn:other'")),
      `"subscribe" has the namespace "urn:other"; "${PUBSUB}" is needed.`
    ],
    [
      "pubsub in another namespace",
      iq("set", "<pubsub xmlns='urn:other'/>"),
      `"pubsub" has the namespace "urn:other"; "${PUBSUB}" is needed.`
    ],
    ["another type", iq("put", "<ping/>"), "A request is an iq of type get or set; this one is of type \"put\"."],
    ["no type", stanza("<iq><ping/></iq>"), "A request is an iq of type get or set; this one is without a type."],
    ["a ping to set", iq("set", "<ping xmlns='urn:xmpp:ping'/>"), "ping belongs into an iq of type get."]
  ])("explains the refusal of %s", (_, element, sentence) => {
    assert.strictEqual(
      Result.match(read(element), { onSuccess: () => "", onFailure: ({ text }) => text }),
      sentence
    )
  })

  it("ends for any attributes", () => {
    const value = fc.string({ unit: "grapheme" }).map((text) => text.replace(/[<&'"]/g, "."))
    fc.assert(fc.property(value, value, value, (jid, format, page) => {
      assert.isDefined(outcome(pubsub("set", `<subscribe node='${node}' jid='${jid}' sf:format='${format}'/>`)))
      assert.isDefined(outcome(pubsub("get", `<subscriptions jid='${jid}' sf:page='${page}'/>`)))
    }))
  })
})
