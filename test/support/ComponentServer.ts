import xml, { type Element } from "@xmpp/xml"
import { Effect, Queue } from "effect"
import { hash } from "node:crypto"
import { type AddressInfo, createServer, type Socket } from "node:net"
import { XmlTokenizer } from "#xmpp/XmlTokenizer.ts"

/** One connection of a component, from the side of a scripted server. */
export interface ServerConnection {
  readonly send: (text: string | Uint8Array) => void
  /** The next stanza or handshake. */
  readonly take: Effect.Effect<Element>
  /** Opens the stream, takes the handshake and returns its digest. */
  readonly shake: Effect.Effect<string>
  /** Answers the next ping of the component. */
  readonly fence: Effect.Effect<void>
  readonly close: () => void
  readonly socket: Socket
}

const streamId = "an id of the stream"

export const digest = (secret: string) => hash("sha1", streamId + secret)

export interface ComponentServer {
  readonly port: number
  readonly accept: Effect.Effect<ServerConnection>
}

/** A server on loopback; `accept` returns its connections, one after the other. */
export const componentServer = Effect.gen(function*() {
  const connections = yield* Queue.unbounded<ServerConnection>()
  const sockets = new Set<Socket>()
  const server = yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((socket) => {
        sockets.add(socket)
        Queue.offerUnsafe(connections, serve(socket))
      }).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.sync(() => {
        server.close()
        for (const socket of sockets) socket.destroy()
      })
  )
  return { port: (server.address() as AddressInfo).port, accept: Queue.take(connections) } satisfies ComponentServer
})

const serve = (socket: Socket): ServerConnection => {
  const elements = Effect.runSync(Queue.unbounded<Element>())
  const parser = new xml.Parser()
  const tokens = new XmlTokenizer()
  parser.on("element", (element: Element) => Queue.offerUnsafe(elements, element))
  parser.on("error", () => {})
  socket.setEncoding("utf8").on("data", (text: string) => {
    for (const token of tokens.push(text)) parser.write(token)
  }).on("error", () => {})
  const send = (text: string | Uint8Array) => void socket.write(text)
  const take = Queue.take(elements)
  return {
    send,
    take,
    shake: Effect.gen(function*() {
      send(
        `<?xml version='1.0'?><stream:stream xmlns='jabber:component:accept' xmlns:stream='http://etherx.jabber.org/streams' ` +
          `id='${streamId}' from='push.xmpp.test'>`
      )
      const handshake = yield* take
      send("<handshake/>")
      return handshake.children.join("")
    }),
    fence: Effect.map(take, ({ attrs: { id } }) => send(pingAnswer(id))),
    close: () => socket.destroy(),
    socket
  }
}

/** The answer to a ping, from the server's domain or another sender. */
export const pingAnswer = (id: string | undefined, from = "xmpp.test", type = "result") =>
  `<iq type='${type}' id='${id}' from='${from}' to='push.xmpp.test'/>`
