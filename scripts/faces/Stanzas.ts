import { nextInteger, pick, type Random } from "#scripts/feeds/Random.ts"
import { oddText, type Places, valueOf } from "./Values.ts"

const escape = (text: string): string =>
  text.toWellFormed().replace(/[<>&'"]/g, (character) => `&#${character.charCodeAt(0)};`)
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f]/g, "?")

const senders = [
  "admin@localhost",
  "admin@localhost/a",
  "stranger@localhost",
  "localhost",
  "ann@other.invalid/é",
  "@",
  ""
]

const types = ["get", "set", "result", "error", "chat", "subscribe", "unavailable", "probe", "odd", ""]

const namespaces = [
  "http://jabber.org/protocol/pubsub",
  "http://jabber.org/protocol/pubsub#event",
  "http://jabber.org/protocol/disco#info",
  "http://jabber.org/protocol/disco#items",
  "urn:xmpp:ping",
  "http://superfeedr.com/xmpp-pubsub-ext",
  "jabber:iq:version",
  ""
]

const verbs = [
  "subscribe",
  "unsubscribe",
  "subscriptions",
  "items",
  "publish",
  "affiliations",
  "configure",
  "create",
  "odd"
]

const attribute = (random: Random, name: string, value: string): string =>
  nextInteger(random, 8) === 0 ? "" : ` ${name}='${escape(value)}'`

const verb = (random: Random, places: Places): string => {
  const name = pick(random, verbs)
  const node = valueOf(random, "hub.topic", places)
  const children = nextInteger(random, 4) === 0
    ? `<item id='${escape(oddText(random))}'/>`.repeat(pick(random, [1, 2, 50, 500]))
    : ""
  return `<${name}${attribute(random, "node", node)}${attribute(random, "jid", pick(random, senders))}` +
    `${attribute(random, "superfeedr:page", valueOf(random, "page", places)).replace("superfeedr:", "")}` +
    `${nextInteger(random, 5) === 0 ? ` format='${escape(oddText(random))}'` : ""}>${children}</${name}>`
}

const payload = (random: Random, places: Places): string => {
  const ns = nextInteger(random, 2) === 0 ? namespaces[0] : pick(random, namespaces)
  const count = pick(random, [0, 1, 1, 1, 1, 2, 20, 21, 100])
  const inside = Array.from({ length: count }, () => verb(random, places)).join("")
  const name = pick(random, ["pubsub", "pubsub", "pubsub", "query", "ping", "event", "odd"])
  return `<${name}${ns === "" ? "" : ` xmlns='${ns}'`}>${inside}</${name}>`
}

const deep = (random: Random): string => {
  const depth = pick(random, [10, 100, 2000])
  return `${"<a>".repeat(depth)}${"</a>".repeat(depth)}`
}

/** A well-formed stanza that is near to a request: other names, namespaces, senders, numbers and sizes. */
export const makeStanza = (random: Random, component: string, places: Places): string => {
  const name = pick(random, ["iq", "iq", "iq", "iq", "message", "presence", "odd"])
  const type = name === "iq" && random() < 0.8 ? pick(random, ["get", "set"]) : pick(random, types)
  const to = nextInteger(random, 10) === 0 ? `node@${component}/r` : component
  const head = `<${name}${attribute(random, "type", type)}${
    attribute(random, "id", random() < 0.8 ? String(nextInteger(random, 1e6)) : oddText(random))
  }${attribute(random, "from", random() < 0.7 ? "admin@localhost/a" : pick(random, senders))} to='${to}'>`
  const body = name === "message"
    ? `<body>${escape(random() < 0.5 ? valueOf(random, "hub.topic", places) : oddText(random))}</body>${
      nextInteger(random, 3) === 0 ? payload(random, places) : ""
    }`
    : nextInteger(random, 40) === 0
    ? deep(random)
    : payload(random, places)
  return `${head}${body}</${name}>`
}
