import { once } from "node:events"
import { type AddressInfo, createServer, type Socket } from "node:net"

/** The server's end of a component stream (XEP-0114). Accepts every handshake, because only the stanzas are of interest. */
export interface ComponentServer {
  readonly port: number
  /** False while the component is not connected. */
  readonly send: (stanza: string) => boolean
  readonly counts: ReadonlyMap<string, number>
  readonly close: () => void
}

export const openComponentServer = async (component: string): Promise<ComponentServer> => {
  const counts = new Map<string, number>()
  const count = (name: string) => void counts.set(name, (counts.get(name) ?? 0) + 1)
  let current: Socket | undefined
  const server = createServer((socket) => {
    count("connections")
    socket.setEncoding("utf8")
    socket.on("error", () => {})
    socket.on("close", () => {
      if (current === socket) current = undefined
    })
    socket.on("data", (data: string) => {
      if (data.includes("<stream:stream")) {
        socket.write(
          `<?xml version='1.0'?><stream:stream xmlns='jabber:component:accept' ` +
            `xmlns:stream='http://etherx.jabber.org/streams' id='fuzz' from='${component}'>`
        )
      }
      if (data.includes("</handshake>")) {
        socket.write("<handshake/>")
        current = socket
      }
      for (const [, type] of data.matchAll(/<iq[^>]* type=["'](\w+)["']/g)) count(`iq ${type}`)
      for (const [, condition] of data.matchAll(/<(internal-server-error)/g)) count(condition ?? "")
      // The component asks from time to time whether the server reads: answer, or the component connects anew.
      for (const [, iq] of data.matchAll(/<iq([^>]*)>\s*<ping/g)) {
        const id = /id=["']([^"']*)/.exec(iq ?? "")?.[1]
        const to = /to=["']([^"']*)/.exec(iq ?? "")?.[1]
        socket.write(`<iq type='result' id='${id}' from='${to}' to='${component}'/>`)
      }
    })
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    port: (server.address() as AddressInfo).port,
    send: (stanza) => current !== undefined && (current.write(stanza), true),
    counts,
    close: () => {
      server.close()
      current?.destroy()
    }
  }
}
