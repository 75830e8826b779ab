import { Effect, Queue } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { httpServer } from "./HttpServer.ts"

/** A request that came to a callback. */
export interface Received {
  readonly line: string
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

export interface Page {
  readonly status: number
  readonly contentType: string
  readonly body: string
  /** Of a redirect. */
  readonly location?: string
}

/** The rest of the web, on 127.0.0.1: publishers, whose pages a test puts there, and callbacks. */
export interface Outside {
  readonly url: string
  readonly publish: (path: string, page: Page) => void
  /** How a callback answers from now on; without it 200, and the challenge when it is asked. */
  readonly answer: (path: string, page: Page) => void
  /** The next request to a callback, as soon as it is there. */
  readonly received: Effect.Effect<Received>
}

/** Opened until the end of the test's scope. */
export const openOutside = Effect.gen(function*() {
  const pages = new Map<string, Page>()
  const answers = new Map<string, Page>()
  const received = yield* Queue.unbounded<Received>()

  const answerCallback = (request: IncomingMessage, url: URL, body: string): Page => {
    const challenge = url.searchParams.get("hub.challenge")
    // The challenge is another one each time.
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
  } satisfies Outside
})
