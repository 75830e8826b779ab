/**
 * Many clients of one stream of server-sent events, in a separate process: `listeners.ts URL COUNT AUTHORIZATION`.
 *
 * Prints `ready` when all clients have their headers. Answers each message of its parent with the numbers of received events and bytes.
 */
import { connect, type Socket } from "node:net"

const [, , address = "", countText = "0", authorization = ""] = process.argv
const { hostname, pathname, port, search } = new URL(address)
const request = `GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: ${authorization}\r\n` +
  "Accept: text/event-stream\r\n\r\n"
const mark = "event: notification"
const received = { events: 0, bytes: 0, ended: 0 }

const listen = () =>
  new Promise<Socket>((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write(request))
    socket.on("data", (bytes: Buffer) => {
      if (bytes.includes("HTTP/1.1 200")) resolve(socket)
      received.bytes += bytes.length
      for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + mark.length)) received.events++
    })
    socket.on("error", () => undefined).on("close", () => received.ended++)
  })

let left = Number(countText)
const worker = async () => {
  while (left-- > 0) await listen()
}
await Promise.all(Array.from({ length: 50 }, worker))
process.stdout.write("ready\n")
process.on("message", () => process.send?.(received))
process.once("disconnect", () => process.exit(0))
