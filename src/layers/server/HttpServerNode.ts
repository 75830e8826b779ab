import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer, Result } from "effect"
import { HttpServer } from "effect/http"
import { IpNetwork, NetAddress } from "effect/net"
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { Settings } from "#domain/ports/Settings.ts"
import { ConnectionLimits, type ConnectionLimitsOptions } from "./ConnectionLimits.ts"
import { listenError } from "./ListenError.ts"
import { defaultBaseUrl } from "#layers/Settings.ts"

/** Milliseconds, from the start of a request. */
export interface Timeouts {
  /** For its header: who sends it byte by byte holds a connection no longer. */
  readonly header: number
  /** For header and body. */
  readonly request: number
  /** Between two looks at what has run out. */
  readonly check: number
  /** In which no byte comes or goes: who reads nothing keeps no answer in memory for ever. */
  readonly silence: number
}

/** A long poll is silent for 55 s; streams have their heartbeats. */
const defaultTimeouts: Timeouts = { header: 15_000, request: 60_000, check: 2_000, silence: 120_000 }

/** A connection may wait for its next request longer than the usual proxies keep it (60 s), so that the proxy closes first. */
const keepAlive = 65_000

/** A topic of 2048 characters, percent-encoded, and a callback fit into the line of a GET. */
const maxHeaderSize = 32 * 1024

/** Connections beyond those of streams: of one address, and of all. */
const defaultSpare: ConnectionLimitsOptions = { each: 1_024, all: 8_192 }

/** Milliseconds that running requests have to finish when the server stops. */
const grace = 10_000

/** The HTTP server at the address of the settings. */
export const layerWith = (timeouts: Timeouts, spare: ConnectionLimitsOptions = defaultSpare) =>
  Layer.unwrap(Effect.gen(function*() {
    const { host, maxStreams, maxStreamsPerAccount, port, trustedProxies } = yield* Settings
    const limits = { each: maxStreamsPerAccount + spare.each, all: maxStreams + spare.all }
    const connections = new ConnectionLimits(limits, isIn(trustedProxies))
    const make = () => makeServer(timeouts, connections)
    const listening = NodeHttpServer.layer(make, { host, port, gracefulShutdownTimeout: grace })
    const place = { host, port, hostVariable: "WINDHOVER_HOST", portVariable: "WINDHOVER_PORT" }
    return Layer.effectContext(
      Effect.mapError(Layer.build(listening), ({ cause }) => listenError(place, cause))
    )
  }))

export const layer = layerWith(defaultTimeouts)

const isIn = (networks: ReadonlyArray<string>) => {
  const known = networks.map(IpNetwork.fromStringUnsafe)
  return (address: string): boolean => {
    const read = NetAddress.ipFromString(address.replace(/^::ffff:(?=\d+\.)/i, ""))
    return Result.isSuccess(read) && known.some((network) => IpNetwork.contains(network, read.success))
  }
}

/** Settings above a server that listens: a port that the system chose is known then, and so is the base URL that was not set. */
export const layerSettings = Layer.effect(
  Settings,
  Effect.gen(function*() {
    const settings = yield* Settings
    const { address } = yield* HttpServer.HttpServer
    return settings.baseUrl === defaultBaseUrl(0) && "port" in address
      ? { ...settings, baseUrl: defaultBaseUrl(address.port) }
      : settings
  })
)

const makeServer = (timeouts: Timeouts, connections: ConnectionLimits): Server => {
  const server = createServer({
    headersTimeout: timeouts.header,
    requestTimeout: timeouts.request,
    connectionsCheckingInterval: timeouts.check,
    keepAliveTimeout: keepAlive,
    maxHeaderSize,
    // Nothing here depends on the name that the caller used, and HTTP/1.0 has none.
    requireHostHeader: false
  })
  server.timeout = timeouts.silence
  // nothing that comes over a connection too many is read as a request
  const serving = server.listeners("connection")
  server.removeAllListeners("connection").on("connection", (socket: Socket) => {
    const leave = connections.enter(socket.remoteAddress ?? "")
    if (leave === undefined) return refuseConnection(socket)
    socket.once("close", leave)
    for (const serve of serving) Reflect.apply(serve, server, [socket])
  })
  const answering = new WeakMap<Duplex, ServerResponse>()
  // The port is open before there is anything to answer with: who asks during a start is answered when it is done.
  const early: Array<readonly [IncomingMessage, ServerResponse]> = []
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    answering.set(request.socket, response)
    if (server.listenerCount("request") === 1) early.push([request, response])
  })
  server.on("newListener", (event) => {
    if (event !== "request") return
    setImmediate(() => {
      for (const [request, response] of early.splice(0)) server.emit("request", request, response)
    })
  })
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(417, { "content-type": "text/plain; charset=utf-8" })
    response.end("The only expectation that is met here is 100-continue; leave the Expect header out.")
  })
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    const answer = answering.get(socket)
    // In the middle of an answer a second one would be read as a part of the first.
    if (!socket.writable || error.code === "ECONNRESET" || answer?.headersSent === true && !answer.writableFinished) {
      return void socket.destroy()
    }
    const [status, sentence] = unreadable(error.code)
    socket.end(lastWords(status, sentence))
  })
  return server
}

/** It counts in no limit, and so goes as soon as it was told why. */
const refuseConnection = (socket: Socket): void => {
  const words = "Too many connections are open. Please close some, or connect again later."
  socket.on("error", () => socket.destroy()).resume()
  socket.end(lastWords(503, words, "Retry-After: 10\r\n"), () => socket.destroy())
}

const lastWords = (status: number, sentence: string, headers = ""): string =>
  `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
  `Content-Length: ${Buffer.byteLength(sentence)}\r\n${headers}Connection: close\r\n\r\n${sentence}`

/** What is said to bytes that were no request, by the parser's code. */
const unreadable = (code: string | undefined): readonly [status: number, sentence: string] => {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [
        431,
        `The header of the request has more than ${maxHeaderSize} bytes; send the parameters as a form with POST.`
      ]
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return [413, "The chunks of the body have too many extensions; send the body without them."]
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [408, "The request did not arrive in time; send it again."]
    default:
      return [400, "This is no HTTP/1.1 request that can be read; nothing was done."]
  }
}
