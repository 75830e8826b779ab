import { hash } from "node:crypto"
import { once } from "node:events"
import { connect } from "node:net"

/** A minimal component: a socket after its handshake. */
export interface Peer {
  readonly name: string
  /** Resolves when the socket accepts more. */
  readonly write: (text: string) => Promise<void>
  /** Numbers of received stanzas. */
  readonly received: { messages: number; iqs: number }
  readonly close: () => void
}

/** Counts a text in a stream of pieces. */
const makeCounter = (wanted: string) => {
  let rest = ""
  return (piece: string): number => {
    const text = rest + piece
    rest = text.slice(Math.max(0, text.length - wanted.length + 1))
    return text.split(wanted).length - 1
  }
}

export const openPeer = async (port: number, name: string, secret: string): Promise<Peer> => {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true }).setEncoding("utf8")
  await once(socket, "connect")
  socket.write(
    `<stream:stream xmlns="jabber:component:accept" xmlns:stream="http://etherx.jabber.org/streams" to="${name}">`
  )
  let opening = ""
  while (!/id='[^']*'[^>]*>/.test(opening)) opening += String((await once(socket, "data"))[0])
  socket.write(`<handshake>${hash("sha1", `${/ id='([^']*)'/.exec(opening)?.[1]}${secret}`)}</handshake>`)
  await once(socket, "data")
  const received = { messages: 0, iqs: 0 }
  const [messages, iqs] = [makeCounter("<message "), makeCounter("<iq ")]
  socket.on("data", (piece: string) => {
    received.messages += messages(piece)
    received.iqs += iqs(piece)
  })
  return {
    name,
    write: async (text) => {
      if (!socket.write(text)) await once(socket, "drain")
    },
    received,
    close: () => void socket.destroy()
  }
}
