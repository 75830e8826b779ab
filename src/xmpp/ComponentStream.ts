import xml, { type Element } from "@xmpp/xml"
import { Deferred, Effect, Redacted, Schema, type Scope } from "effect"
import { hash } from "node:crypto"
import { connect, type Socket } from "node:net"
import { reasonOf } from "#domain/ports/Reason.ts"
import { renderAttribute } from "#domain/render/Xml.ts"
import type { ComponentConfig } from "./ComponentConfig.ts"
import { ns } from "./Namespaces.ts"
import { XmlTokenizer } from "./XmlTokenizer.ts"

/**
 * End of a connection, or a failed attempt.
 *
 * `Unauthorized`: the secret is wrong. `Replaced`: another component uses the name. `StanzaRejected`: the server reports an error in a
 * stanza of Windhover. `PolicyViolated`: the server names its policy, such as a limit on the size or the rate. `Closed`: any other end.
 */
export class StreamError extends Schema.TaggedError<StreamError>()("StreamError", {
  reason: reasonOf(["Unreachable", "Unauthorized", "Replaced", "StanzaRejected", "PolicyViolated", "Closed"])
}) {
  override get message(): string {
    return this.reason.message
  }
}

const streamError = (_tag: StreamError["reason"]["_tag"], message: string) =>
  new StreamError({ reason: { _tag, message } })

export const closed = (message: string) => streamError("Closed", message)

/** One connection of a component (XEP-0114) after its handshake. */
export interface ComponentStream {
  /** Writes text to the socket. Only an answer of the server, or `ended`, tells whether the server has read the text. */
  readonly write: (text: string) => void
  /** Writes a reply, and counts its bytes until they have left the socket. */
  readonly writeReply: (text: string) => void
  /** Bytes that the server has not read yet. */
  readonly unreadBytes: () => number
  /** Bytes of replies that the server has not read yet. Earlier deliveries do not count. */
  readonly unreadReplyBytes: () => number
  /** Fails when the connection ends. */
  readonly ended: Effect.Effect<never, StreamError>
}

/** Time for connection, stream header and handshake together, in ms. */
const handshakeTimeoutMs = 10_000

/**
 * Maximum of characters in a received stanza.
 *
 * Servers accept 512 KiB from a client, and six times as much when they write each quote as `&quot;`. With a smaller maximum, any client
 * could end the stream of all subscribers.
 */
const maxReceivedStanza = 4 * 1024 * 1024

/** Connects and authenticates. From then on, `onStanza` gets each stanza in order; the function must not throw. */
export const open = Effect.fnUntraced(function*(
  config: ComponentConfig,
  onStanza: (stanza: Element) => void
): Effect.fn.Return<ComponentStream, StreamError, Scope.Scope> {
  const authenticated = Deferred.makeUnsafe<void>()
  const ended = Deferred.makeUnsafe<never, StreamError>()
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() => connect({ host: config.host, port: config.port, noDelay: true, keepAlive: true })),
    (socket) => Effect.sync(() => closeSocket(socket))
  )
  const end = (error: StreamError) => {
    Deferred.doneUnsafe(ended, Effect.fail(error))
    socket.destroy()
  }
  readStream(socket, config, {
    onStanza,
    onEnd: end,
    onAuthenticated: () => Deferred.doneUnsafe(authenticated, Effect.void)
  })
  yield* Effect.raceFirst(Deferred.await(authenticated), Deferred.await(ended)).pipe(
    Effect.timeoutOrElse({
      duration: handshakeTimeoutMs,
      orElse: () => Effect.fail(streamError("Unreachable", `no handshake within ${handshakeTimeoutMs / 1000} s`))
    })
  )
  let unreadReplyBytes = 0
  return {
    write: (text) => void socket.write(padLongTags(text)),
    writeReply: (text) => {
      const bytes = Buffer.from(padLongTags(text))
      unreadReplyBytes += bytes.length
      socket.write(bytes, () => unreadReplyBytes -= bytes.length)
    },
    unreadBytes: () => socket.writableLength,
    unreadReplyBytes: () => unreadReplyBytes,
    ended: Deferred.await(ended)
  }
})

/** Time for the server to answer a probe, in ms. */
const probeTimeoutMs = 3_000

/** True when the server answers a stream header. Sends no handshake, so that a component that is connected stays connected. */
export const probe = (config: ComponentConfig): Effect.Effect<boolean> =>
  Effect.callback<boolean>((resume) => {
    const socket = connect({ host: config.host, port: config.port, noDelay: true })
    socket.on("connect", () => socket.write(renderHeader(config)))
    socket.on("data", () => {
      resume(Effect.succeed(true))
      socket.destroy()
    })
    socket.on("error", () => {}) // followed by `close`
    socket.on("close", () => resume(Effect.succeed(false)))
    return Effect.sync(() => socket.destroy())
  }).pipe(
    Effect.timeoutOrElse({ duration: probeTimeoutMs, orElse: () => Effect.succeed(false) })
  )

/** Maximum of characters in a tag that every server reads in at most two parts. */
const maxUnpaddedTag = 512

/**
 * Appends as many spaces as the longest tag has characters, unless all tags are short.
 *
 * Most servers read XMPP with Expat. From version 2.6 on (also in patched older versions), Expat looks at an incomplete tag again only
 * after twice as many bytes. Without the spaces, the parser would miss the end of a long tag, and the stream of all subscribers would stop.
 */
const padLongTags = (text: string): string => {
  let longest = 0
  for (let start = text.indexOf("<"), end = 0; start >= 0 && end >= 0; start = text.indexOf("<", end)) {
    end = text.indexOf(">", start) // never inside a value, where the character is escaped
    longest = Math.max(longest, end - start)
  }
  return longest < maxUnpaddedTag ? text : text + " ".repeat(longest + 1)
}

/** Ends the stream without waiting for the server's end tag. The server has 1 s to read the last bytes. */
const closeSocket = (socket: Socket) => {
  if (socket.connecting || !socket.writable) return void socket.destroy()
  socket.setTimeout(1_000, () => socket.destroy())
  socket.end("</stream:stream>")
  socket.destroySoon()
}

interface StreamListener {
  readonly onStanza: (stanza: Element) => void
  readonly onAuthenticated: () => void
  readonly onEnd: (error: StreamError) => void
}

const readStream = (socket: Socket, config: ComponentConfig, listener: StreamListener): void => {
  const { onAuthenticated, onEnd, onStanza } = listener
  const parser = new xml.Parser()
  const tokenizer = new XmlTokenizer()
  let isAuthenticated = false
  let stanzaLength = 0
  parser.on("start", ({ attrs: { id = "" } }: Element) => socket.write(renderHandshake(id, config.secret)))
  parser.on("element", (element: Element) => {
    stanzaLength = 0
    if (element.getName() === "error") return onEnd(parseStreamError(element))
    if (isAuthenticated) return onStanza(element)
    if (element.getName() !== "handshake") return
    isAuthenticated = true
    onAuthenticated()
  })
  parser.on("end", () => onEnd(closed("the server closed the stream")))
  parser.on("error", (error: Error) => onEnd(closed(`the server sent invalid XML: ${error.message}`)))

  socket.setEncoding("utf8") // a character may span two reads
  socket.on("connect", () => socket.write(renderHeader(config)))
  socket.on("data", (text: string) => {
    stanzaLength += text.length
    if (stanzaLength > maxReceivedStanza) {
      return onEnd(closed(`the server sent a stanza of more than ${maxReceivedStanza} characters`))
    }
    try {
      for (const token of tokenizer.push(text)) parser.write(token)
    } catch (error) { // the parser throws at an unknown entity, for instance
      onEnd(closed(`the server sent invalid XML: ${error instanceof Error ? error.message : String(error)}`))
    }
  })
  socket.on("error", ({ message }) => onEnd(streamError(isAuthenticated ? "Closed" : "Unreachable", message)))
  socket.on("close", () => onEnd(streamError(isAuthenticated ? "Closed" : "Unreachable", "the connection was closed")))
}

const renderHeader = ({ component }: ComponentConfig): string =>
  `<?xml version="1.0"?><stream:stream xmlns="jabber:component:accept" xmlns:stream="http://etherx.jabber.org/streams"${
    renderAttribute("to", component)
  }>`

const renderHandshake = (id: string, secret: Redacted.Redacted): string =>
  `<handshake>${hash("sha1", id + Redacted.value(secret))}</handshake>`

/** Stream errors about a stanza that Windhover sent (RFC 6120, 4.9.3). `undefined-condition` names no stanza. */
const stanzaConditions: ReadonlySet<string> = new Set([
  "bad-format",
  "bad-namespace-prefix",
  "improper-addressing",
  "invalid-from",
  "invalid-namespace",
  "invalid-xml",
  "not-well-formed",
  "restricted-xml",
  "unsupported-encoding",
  "unsupported-stanza-type"
])

const parseStreamError = (error: Element): StreamError => {
  const conditions = error.children.filter((child) => typeof child !== "string").map((child) => child.getName())
  const condition = conditions.find((name) => name !== "text") ?? "undefined-condition"
  const text = error.getChildText("text", ns.streamErrors)
  const message = `the server closed the stream: ${condition}${text === null ? "" : ` (${text})`}`
  if (condition === "not-authorized") return streamError("Unauthorized", message)
  if (condition === "conflict") return streamError("Replaced", message)
  if (condition === "policy-violation") return streamError("PolicyViolated", message)
  return streamError(stanzaConditions.has(condition) ? "StanzaRejected" : "Closed", message)
}
