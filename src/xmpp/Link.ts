import xml, { type Element } from "@xmpp/xml"
import { Deferred, Effect, Redacted, Schema, type Scope } from "effect"
import { hash } from "node:crypto"
import { connect, type Socket } from "node:net"
import { renderAttribute } from "#domain/render/Xml.ts"
import { ns } from "./Namespaces.ts"
import { Tokens } from "./Tokens.ts"

/**
 * Why there is no connection (any more).
 *
 * `refused`: the secret is wrong. `replaced`: another component has the name. `blamed`: the server could not bear what we sent.
 * `closed`: everything else that ends a connection.
 */
export class LinkError extends Schema.TaggedError<LinkError>()("LinkError", {
  reason: Schema.Literals(["unreachable", "refused", "replaced", "blamed", "closed"]),
  message: Schema.String
}) {}

/** Where the server takes components, and who we are there. */
export interface Account {
  readonly host: string
  readonly port: number
  /** The name of the component. */
  readonly component: string
  readonly secret: Redacted.Redacted
}

/** One connection of a component (XEP-0114), from its handshake on. */
export interface Link {
  /** Hands text to the socket. Nothing is known of its way: that is told by an answer, or by `ended`. */
  readonly write: (text: string) => void
  /** The same for an answer, whose bytes are counted until the socket is rid of them. */
  readonly answer: (text: string) => void
  /** Bytes that the server has not read yet: of all, and of answers, which wait behind what was written before. */
  readonly unread: () => number
  readonly unreadAnswers: () => number
  /** Fails when the connection has ended. */
  readonly ended: Effect.Effect<never, LinkError>
}

/** Milliseconds for all of it: the connection, the stream and the handshake. */
const handshakeTimeout = 10_000

/**
 * Characters of one stanza, at most. Servers let others send half a MiB, which grows sixfold when they write each quote as `&quot;`: a smaller
 * bound would let anybody end the stream of all.
 */
const maxStanzaRead = 4 * 1024 * 1024

/** Connects and shakes hands; `hear` gets each stanza from then on, in order, and must not throw. */
export const open = Effect.fnUntraced(function*(
  account: Account,
  hear: (stanza: Element) => void
): Effect.fn.Return<Link, LinkError, Scope.Scope> {
  const online = Deferred.makeUnsafe<void>()
  const ended = Deferred.makeUnsafe<never, LinkError>()
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() => connect({ host: account.host, port: account.port, noDelay: true, keepAlive: true })),
    (socket) => Effect.sync(() => hangUp(socket))
  )
  const end = (error: LinkError) => {
    Deferred.doneUnsafe(ended, Effect.fail(error))
    socket.destroy()
  }
  listen(socket, account, { hear, end, online: () => Deferred.doneUnsafe(online, Effect.void) })
  yield* Effect.raceFirst(Deferred.await(online), Deferred.await(ended)).pipe(
    Effect.timeoutOrElse({
      duration: handshakeTimeout,
      orElse: () => Effect.fail(because("unreachable", `no handshake within ${handshakeTimeout / 1000} s`))
    })
  )
  let unreadAnswers = 0
  return {
    write: (text) => void socket.write(finished(text)),
    answer: (text) => {
      const bytes = Buffer.from(finished(text))
      unreadAnswers += bytes.length
      socket.write(bytes, () => unreadAnswers -= bytes.length)
    },
    unread: () => socket.writableLength,
    unreadAnswers: () => unreadAnswers,
    ended: Deferred.await(ended)
  }
})

/** Characters of a tag that no server reads in more than two parts. */
const shortTag = 512

/**
 * With as much white space behind it as its longest tag has characters, unless that is short.
 *
 * Expat, which reads XMPP in most servers, looks at a tag that was not complete again only when twice as much of it is there (2.6, and what
 * distributions patch): without more to come it would never see the end of a long one, and the stream of all would stand still.
 */
const finished = (text: string): string => {
  let longest = 0
  for (let start = text.indexOf("<"), end = 0; start >= 0 && end >= 0; start = text.indexOf("<", end)) {
    end = text.indexOf(">", start) // never in a value: it is escaped there
    longest = Math.max(longest, end - start)
  }
  return longest < shortTag ? text : text + " ".repeat(longest + 1)
}

/** The end of the stream is polite; nobody waits for its answer, and not for long until it is read. */
const hangUp = (socket: Socket) => {
  if (socket.connecting || !socket.writable) return void socket.destroy()
  socket.setTimeout(1_000, () => socket.destroy())
  socket.end("</stream:stream>")
  socket.destroySoon()
}

const because = (reason: LinkError["reason"], message: string) => new LinkError({ reason, message })

interface Listener {
  readonly hear: (stanza: Element) => void
  readonly online: () => void
  readonly end: (error: LinkError) => void
}

const listen = (socket: Socket, account: Account, { end, hear, online }: Listener): void => {
  const parser = new xml.Parser()
  const tokens = new Tokens()
  let isOnline = false
  let read = 0
  parser.on("start", ({ attrs: { id = "" } }: Element) => socket.write(handshake(id, account.secret)))
  parser.on("element", (element: Element) => {
    read = 0
    if (element.getName() === "error") return end(streamError(element))
    if (isOnline) return hear(element)
    if (element.getName() !== "handshake") return
    isOnline = true
    online()
  })
  parser.on("end", () => end(because("closed", "the server closed the stream")))
  parser.on("error", (error: Error) => end(because("closed", `the server sent no XML: ${error.message}`)))

  socket.setEncoding("utf8") // a character may be spread over two reads
  socket.on("connect", () => socket.write(header(account)))
  socket.on("data", (text: string) => {
    read += text.length
    if (read > maxStanzaRead) {
      return end(because("closed", `the server sent a stanza of more than ${maxStanzaRead} characters`))
    }
    try {
      for (const token of tokens.add(text)) parser.write(token)
    } catch (error) { // the parser throws at what it does not know, an entity for instance
      end(because("closed", `the server sent no XML: ${error instanceof Error ? error.message : String(error)}`))
    }
  })
  socket.on("error", ({ message }) => end(because(isOnline ? "closed" : "unreachable", message)))
  socket.on("close", () => end(because(isOnline ? "closed" : "unreachable", "the connection was closed")))
}

const header = ({ component }: Account): string =>
  `<?xml version="1.0"?><stream:stream xmlns="jabber:component:accept" xmlns:stream="http://etherx.jabber.org/streams"${
    renderAttribute("to", component)
  }>`

const handshake = (id: string, secret: Redacted.Redacted): string =>
  `<handshake>${hash("sha1", id + Redacted.value(secret))}</handshake>`

/** Conditions that are about something we sent (RFC 6120, 4.9.3). */
const ours: ReadonlySet<string> = new Set([
  "bad-format",
  "bad-namespace-prefix",
  "improper-addressing",
  "invalid-from",
  "invalid-namespace",
  "invalid-xml",
  "not-well-formed",
  "policy-violation",
  "restricted-xml",
  "undefined-condition",
  "unsupported-encoding",
  "unsupported-stanza-type"
])

const streamError = (error: Element): LinkError => {
  const conditions = error.children.filter((child) => typeof child !== "string").map((child) => child.getName())
  const condition = conditions.find((name) => name !== "text") ?? "undefined-condition"
  const text = error.getChildText("text", ns.streamErrors)
  const message = `the server closed the stream: ${condition}${text === null ? "" : ` (${text})`}`
  if (condition === "not-authorized") return because("refused", message)
  if (condition === "conflict") return because("replaced", message)
  return because(ours.has(condition) ? "blamed" : "closed", message)
}
