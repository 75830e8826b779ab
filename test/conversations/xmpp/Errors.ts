/** Values for wrong requests: a topic, the sender's JID, and the extension's namespace. */
export interface Wrong {
  readonly node: string
  readonly jid: string
  readonly ext: string
}

/** A request: the type of its iq, its payload, and the expected error (type, condition, and the condition of XEP-0060). */
type Row = readonly [type: "get" | "set", payload: (wrong: Wrong) => string, condition: string]

const pubsub = (content: (wrong: Wrong) => string) => (wrong: Wrong) =>
  `<pubsub xmlns='http://jabber.org/protocol/pubsub' xmlns:sf='${wrong.ext}'>${content(wrong)}</pubsub>`

const one = (verb: string, attributes = "") => ({ jid, node }: Wrong) =>
  `<${verb} node='${node}' jid='${jid}'${attributes}/>`

const many = (verb: string) => pubsub((wrong) => one(verb)(wrong).repeat(21))

const differing = (verb: string) =>
  pubsub((wrong) => `${one(verb)(wrong)}<${verb} node='${wrong.node}' jid='bob@xmpp.test'/>`)

/** Wrong requests by the name of the problem. */
export const errors: { readonly [wrong: string]: Row } = {
  "21 subscribes": ["set", many("subscribe"), "modify not-acceptable"],
  "21 unsubscribes": ["set", many("unsubscribe"), "modify not-acceptable"],
  "differing jids of a subscribe": ["set", differing("subscribe"), "modify bad-request invalid-jid"],
  "differing jids of an unsubscribe": ["set", differing("unsubscribe"), "modify bad-request invalid-jid"],
  "a subscribe for somebody else": [
    "set",
    pubsub(({ node }) => `<subscribe node='${node}' jid='bob@xmpp.test'/>`),
    "modify bad-request invalid-jid"
  ],
  "an unsubscribe for somebody else": [
    "set",
    pubsub(({ node }) => `<unsubscribe node='${node}' jid='bob@xmpp.test'/>`),
    "modify bad-request invalid-jid"
  ],
  "a list of somebody else": [
    "get",
    pubsub(() => "<subscriptions jid='bob@xmpp.test'/>"),
    "modify bad-request invalid-jid"
  ],
  "a jid that is none": [
    "set",
    pubsub(({ node }) => `<subscribe node='${node}' jid='@'/>`),
    "modify jid-malformed invalid-jid"
  ],
  "no node": ["set", pubsub(({ jid }) => `<subscribe jid='${jid}'/>`), "modify bad-request nodeid-required"],
  "no node to retrieve": ["get", pubsub(() => "<items/>"), "modify bad-request nodeid-required"],
  "an item without an id": [
    "get",
    pubsub(({ node }) => `<items node='${node}'><item id='a'/><item/></items>`),
    "modify bad-request"
  ],
  "11 items": [
    "get",
    pubsub(({ node }) =>
      `<items node='${node}'>${Array.from({ length: 11 }, (_, i) => `<item id='${i}'/>`).join("")}</items>`
    ),
    "modify not-acceptable"
  ],
  "no jid": ["set", pubsub(({ node }) => `<subscribe node='${node}'/>`), "modify bad-request jid-required"],
  "a node that is no URL": [
    "set",
    pubsub(({ jid }) => `<subscribe node='mailto:a@b' jid='${jid}'/>`),
    "modify not-acceptable"
  ],
  "a node that is too long": [
    "set",
    pubsub(({ jid, node }) => `<subscribe node='${node}${"x".repeat(2048)}' jid='${jid}'/>`),
    "modify not-acceptable"
  ],
  "an unknown format": [
    "set",
    pubsub(one("subscribe", " sf:format='rss'")),
    "modify bad-request invalid-options"
  ],
  "a page that is no integer": ["get", pubsub(() => "<subscriptions sf:page='one'/>"), "modify bad-request"],
  "a subscribe in a get": ["get", pubsub(one("subscribe")), "modify bad-request"],
  "two payloads": ["get", () => "<a xmlns='urn:a'/><b xmlns='urn:b'/>", "modify bad-request"],
  "a subscribe and an unsubscribe": [
    "set",
    pubsub((wrong) => one("subscribe")(wrong) + one("unsubscribe")(wrong)),
    "modify bad-request"
  ],
  "a verb in another namespace": ["set", pubsub(() => "<subscribe xmlns='urn:other'/>"), "modify bad-request"],
  "a verb that XEP-0060 does not know": ["set", pubsub(() => "<follow node='a'/>"), "modify bad-request"],
  "a ping to set": ["set", () => "<ping xmlns='urn:xmpp:ping'/>", "modify bad-request"],
  "an empty pubsub": ["set", pubsub(() => ""), "modify bad-request"],
  "another verb": ["set", pubsub(() => "<publish node='a'/>"), "cancel feature-not-implemented unsupported"],
  "a verb of the owner": [
    "set",
    () => "<pubsub xmlns='http://jabber.org/protocol/pubsub#owner'><delete node='a'/></pubsub>",
    "cancel feature-not-implemented unsupported"
  ],
  "another payload": ["get", () => "<query xmlns='jabber:iq:register'/>", "cancel service-unavailable"],
  "disco of what is not subscribed": [
    "get",
    ({ node }) => `<query xmlns='http://jabber.org/protocol/disco#info' node='${node}/no'/>`,
    "cancel item-not-found"
  ]
}
