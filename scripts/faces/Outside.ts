import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** Publishers and callbacks in one server: feeds that change, a page, JSON, and answers that hang, break or redirect. */
export const openOutside = async (): Promise<{ readonly url: string; readonly close: () => void }> => {
  let version = 0
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://outside")
    const challenge = url.searchParams.get("hub.challenge")
    request.resume()
    if (url.pathname === "/hang") return
    if (url.pathname === "/broken") return void request.socket.destroy()
    if (url.pathname === "/redirect") return void response.writeHead(302, { location: "/feed/1" }).end()
    if (url.pathname === "/refusing") return void response.writeHead(404).end("no")
    if (url.pathname.startsWith("/hook")) return void response.writeHead(200).end(challenge ?? "")
    if (url.pathname === "/page") {
      return void response.writeHead(200, { "content-type": "text/html" })
        .end(`<h1>Page ${version++}</h1><div><p>one<p>two</div>`)
    }
    if (url.pathname === "/data") {
      return void response.writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ items: [{ title: `t${version++}`, price: 5 }] }))
    }
    response.writeHead(200, { "content-type": "application/atom+xml" }).end(
      `<feed xmlns="http://www.w3.org/2005/Atom"><title>Fuzz</title><id>urn:fuzz</id><entry><id>urn:feed:${version++}</id>` +
        `<title>News</title><link href="http://example.org/${version}"/><updated>2026-01-01T00:00:00Z</updated></entry></feed>`
    )
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}
