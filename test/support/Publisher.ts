import { Effect, type Scope } from "effect"
import * as http from "node:http"
import type * as net from "node:net"

/** A publisher with a page, its feed and a JSON document, and a webhook that can break. */
export interface Publisher {
  readonly url: string
  readonly callback: string
  /** Adds an entry to the feed. */
  readonly publish: (title: string, content?: string) => void
  /** Replaces the price on the page `/shop`. */
  readonly setPrice: (price: string) => void
  /** Answer of the webhook. */
  webhook: { status: number; body: string }
  /** Bodies that the webhook got. */
  readonly received: Array<string>
}

/** Serves on loopback until the end of the scope. */
export const publisher: Effect.Effect<Publisher, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.callback<{ readonly server: http.Server; readonly state: State }>((resume) => {
      const state: State = {
        entries: [],
        price: "12.00",
        webhook: { status: 204, body: "" },
        received: []
      }
      const server = http.createServer((request, response) => answer(state, request, response))
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed({ server, state })))
    }),
    ({ server }) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  ),
  ({ server, state }) => {
    const url = `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`
    return {
      url,
      callback: `${url}/hook`,
      publish: (title, content = "<p>Text</p>") => void state.entries.unshift({ title, content, at: Date.now() }),
      setPrice: (price) => void (state.price = price),
      get webhook() {
        return state.webhook
      },
      set webhook(webhook) {
        state.webhook = webhook
      },
      received: state.received
    }
  }
)

interface State {
  readonly entries: Array<{ readonly title: string; readonly content: string; readonly at: number }>
  price: string
  webhook: { status: number; body: string }
  readonly received: Array<string>
}

const answer = (state: State, request: http.IncomingMessage, response: http.ServerResponse): void => {
  if (request.method === "POST") {
    let body = ""
    request.setEncoding("utf8").on("data", (chunk: string) => body += chunk).on("end", () => {
      state.received.push(body)
      response.statusCode = state.webhook.status
      response.end(state.webhook.body)
    })
    return
  }
  const [type, text] = documentAt(state, request.url ?? "")
  response.setHeader("content-type", type)
  if (text === "") response.statusCode = 404
  response.end(text)
}

const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

const documentAt = ({ entries, price }: State, path: string): readonly [type: string, text: string] => {
  switch (path) {
    case "/":
      return [
        "text/html; charset=utf-8",
        `<!doctype html><title>Birds of prey</title><link rel="alternate" type="application/rss+xml" href="/feed.xml">
        <main id="main"><h1>Birds of prey</h1><p>Notes from the field.</p></main>`
      ]
    case "/feed.xml":
      return [
        "application/rss+xml",
        `<rss version="2.0"><channel><title>Birds of prey</title><description>Notes</description>${
          entries.map(({ at, content, title }, i) =>
            `<item><guid isPermaLink="false">e${entries.length - i}</guid><title>${escape(title)}</title>
            <pubDate>${new Date(at).toUTCString()}</pubDate><description>${escape(content)}</description></item>`
          ).join("")
        }</channel></rss>`
      ]
    case "/shop":
      return [
        "text/html; charset=utf-8",
        `<!doctype html><title>Shop</title><main id="main"><h1>Field glasses</h1><ul><li>8 × 42</li><li>Waterproof</li></ul>
        <p class="price">€ ${price}</p><p>In stock</p></main>`
      ]
    default:
      return ["text/plain", ""]
  }
}
