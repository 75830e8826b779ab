import { Effect, Queue } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { httpServer } from "./HttpServer.ts"

/** A request to a callback. */
export interface Received {
  readonly line: string
  /** Headers by their lower-case names. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

export interface Page {
  readonly status: number
  readonly contentType: string
  readonly body: string
  /** Target of a redirect. */
  readonly location?: string
}

/** The rest of the web on 127.0.0.1: pages of publishers, and callbacks. */
export interface FakeWeb {
  readonly url: string
  readonly publish: (path: string, page: Page) => void
  /** Sets the answer of a callback. The default is 200 with the challenge, if there is one. */
  readonly answer: (path: string, page: Page) => void
  /** The next request to a callback. */
  readonly received: Effect.Effect<Received>
}

/** Opens the servers until the end of the test's scope. */
export const openFakeWeb = Effect.gen(function*() {
  const pages = new Map<string, Page>()
  const answers = new Map<string, Page>()
  const received = yield* Queue.unbounded<Received>()

  const answerCallback = (request: IncomingMessage, url: URL, body: string): Page => {
    const challenge = url.searchParams.get("hub.challenge")
    // The challenge differs in each request.
    const line = `${request.method} ${request.url?.replace(challenge ?? "\0", "CHALLENGE")}`
    const headers = new Map(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    Queue.offerUnsafe(received, { line, headers, body })
    return answers.get(url.pathname) ?? { status: 200, contentType: "text/plain", body: challenge ?? "" }
  }

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? "/", "http://outside.test")
    let body = ""
    for await (const chunk of request.setEncoding("utf8")) body += String(chunk)
    const page = pages.get(url.pathname) ?? answerCallback(request, url, body)
    const location = page.location === undefined ? {} : { location: page.location }
    response.writeHead(page.status, { "content-type": page.contentType, ...location })
    response.end(page.body)
  }

  const url = yield* httpServer(handle)
  return {
    url,
    publish: (path, page) => void pages.set(path, page),
    answer: (path, page) => void answers.set(path, page),
    received: Queue.take(received)
  } satisfies FakeWeb
})
