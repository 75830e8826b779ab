import type { IncomingMessage, ServerResponse } from "node:http"
import type { Receiver } from "./Receiver.ts"
import { ReceiverError } from "./ReceiverError.ts"

/** A request of Node's server, or of Express, whose parsers add `body` and `originalUrl`. */
export interface NodeRequest extends IncomingMessage {
  readonly originalUrl?: string
  readonly body?: unknown
  /** The raw bytes, which some hosts keep beside a parsed body. */
  readonly rawBody?: unknown
}

/** Listener for `http.createServer`, and handler for `app.all(path, …)` of Express, before or without `express.json()`. */
export const toNodeListener =
  (receiver: Pick<Receiver, "fetch">) => async (request: NodeRequest, response: ServerResponse): Promise<void> => {
    const answer = await answerOf(receiver, request)
    if (response.destroyed) return
    response.statusCode = answer.status
    answer.headers.forEach((value, name) => response.setHeader(name, value))
    response.end(new Uint8Array(await answer.arrayBuffer()))
  }

const answerOf = async (receiver: Pick<Receiver, "fetch">, request: NodeRequest): Promise<Response> => {
  try {
    return await receiver.fetch(toRequest(request))
  } catch (error) {
    if (error instanceof ReceiverError) {
      console.error(`Windhover's notification could not be read: ${error.message}`)
      return new Response(error.message, { status: error.status, headers: { "content-type": "text/plain" } })
    }
    return new Response("The request cannot be read.", { status: 400, headers: { "content-type": "text/plain" } })
  }
}

/** Only the path and the query are used; the host of a request is any text. */
const origin = "http://receiver.invalid"

const toRequest = (request: NodeRequest): Request => {
  const path = request.originalUrl ?? request.url ?? "/"
  const url = new URL(origin + (path.startsWith("/") ? path : "/"))
  const headers = new Headers()
  for (let i = 0; i + 1 < request.rawHeaders.length; i += 2) {
    headers.append(request.rawHeaders[i] ?? "", request.rawHeaders[i + 1] ?? "")
  }
  const method = request.method ?? "GET"
  if (method === "GET" || method === "HEAD") return new Request(url, { method, headers })
  const init: RequestInit & { readonly duplex: "half" } = { method, headers, body: bodyOf(request), duplex: "half" }
  return new Request(url, init)
}

const bodyOf = (request: NodeRequest): Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> => {
  for (const bytes of [request.rawBody, request.body]) {
    if (bytes instanceof Uint8Array) return new Uint8Array(bytes)
  }
  if (request.body !== undefined || request.readableEnded) {
    throw new ReceiverError(
      "parsed-body",
      "The body was parsed before the signature was checked. Mount the receiver before express.json() and similar parsers."
    )
  }
  return toStream(request)
}

/** `Readable.toWeb` destroys the connection when the stream is cancelled, so that a client would miss the response. */
const toStream = (request: IncomingMessage): ReadableStream<Uint8Array> => {
  let isOpen = true
  const close = (end: () => void) => {
    if (isOpen) end()
    isOpen = false
  }
  return new ReadableStream({
    start: (controller) => {
      request.on("data", (chunk: Buffer) => {
        if (!isOpen) return
        controller.enqueue(chunk)
        if ((controller.desiredSize ?? 0) <= 0) request.pause()
      })
      request.once("end", () => close(() => controller.close()))
      request.once("error", (error) => close(() => controller.error(error)))
      request.once("close", () => close(() => controller.error(new Error("The connection was closed."))))
      request.pause()
    },
    pull: () => void request.resume(),
    // the rest is read and dropped
    cancel: () => close(() => request.resume())
  })
}
