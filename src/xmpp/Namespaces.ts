/** Namespaces of the protocol, by their names in the XEPs. The namespace of the extension is a setting. */
export const ns = {
  pubsub: "http://jabber.org/protocol/pubsub",
  event: "http://jabber.org/protocol/pubsub#event",
  owner: "http://jabber.org/protocol/pubsub#owner",
  pubsubErrors: "http://jabber.org/protocol/pubsub#errors",
  stanzaErrors: "urn:ietf:params:xml:ns:xmpp-stanzas",
  streamErrors: "urn:ietf:params:xml:ns:xmpp-streams",
  info: "http://jabber.org/protocol/disco#info",
  items: "http://jabber.org/protocol/disco#items",
  ping: "urn:xmpp:ping",
  privilege: "urn:xmpp:privilege:2",
  atom: "http://www.w3.org/2005/Atom"
} as const
