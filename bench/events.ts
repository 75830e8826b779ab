/**
 * Lower bound of a stream: Node's server alone, which writes the same bytes to every open response. The server reports its port to the
 * parent process, and gets the number of bytes from there.
 */
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

const open = new Set<ServerResponse>()
const server = createServer((_, response) => {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" }).flushHeaders()
  open.add(response)
  response.on("close", () => open.delete(response))
}).listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))

process.on("message", (length: number) => {
  const head = "event: notification\nid: 1\ndata: "
  const frame = Buffer.from(`${head}${"x".repeat(length - head.length - 2)}\n\n`)
  for (const response of open) response.write(frame)
})
process.once("disconnect", () => process.exit(0))
