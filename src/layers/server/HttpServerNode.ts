import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer, Result } from "effect"
import { HttpServer } from "effect/http"
import { IpNetwork, NetAddress } from "effect/net"
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { AttachedValue } from "#domain/AttachedValue.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { takenEvent } from "#domain/ports/TakenConnection.ts"
import { ConnectionLimits, type ConnectionLimitsOptions } from "./ConnectionLimits.ts"
import { toListenError } from "./ListenError.ts"
import { defaultBaseUrl } from "#layers/Settings.ts"

/** Timeouts of connections; header and request count from the start of a request. */
export interface ServerTimeouts {
  /** For the header, so that a slow sender does not hold a connection. */
  readonly headerMs: number
  /** For header and body. */
  readonly requestMs: number
  /** Interval between the checks of both. */
  readonly checkIntervalMs: number
  /** Without a byte in either direction. A client that stops reading is disconnected then. */
  readonly idleMs: number
}

/** Long polls are silent for 55 s; streams send heartbeats. */
const defaultTimeouts: ServerTimeouts = { headerMs: 15_000, requestMs: 60_000, checkIntervalMs: 2_000, idleMs: 120_000 }

/** Longer than common proxies keep idle connections (60 s), so that the proxy closes first. */
const keepAliveMs = 65_000

/** The line of a GET has room for a percent-encoded topic of 2048 characters and a callback. */
const maxRequestHeaderSize = 32 * 1024

/** Connections beyond those of streams. */
const defaultSpare: ConnectionLimitsOptions = { maxPerAddress: 1_024, maxTotal: 8_192 }

/** Time for running requests to finish at shutdown. */
const shutdownTimeoutMs = 10_000

/** The HTTP server at the address of the settings. */
export const layerWith = (timeouts: ServerTimeouts, spare: ConnectionLimitsOptions = defaultSpare) =>
  Layer.unwrap(Effect.gen(function*() {
    const { host, maxStreams, maxStreamsPerAccount, port, trustedProxies } = yield* Settings
    const limits = { maxPerAddress: maxStreamsPerAccount + spare.maxPerAddress, maxTotal: maxStreams + spare.maxTotal }
    const connections = new ConnectionLimits(limits, isWithin(trustedProxies))
    return listen({ host, port, portVariable: "WINDHOVER_PORT" }, timeouts, connections)
  }))

const listen = (
  { host, port, portVariable }: { readonly host: string; readonly port: number; readonly portVariable: string },
  timeouts: ServerTimeouts,
  connections: ConnectionLimits
) => {
  const server = NodeHttpServer.layer(() => makeServer(timeouts, connections), {
    host,
    port,
    gracefulShutdownTimeout: shutdownTimeoutMs
  })
  return Layer.effectContext(
    Effect.mapError(
      Layer.build(server),
      ({ cause }) => toListenError({ host, port, hostVariable: "WINDHOVER_HOST", portVariable }, cause)
    )
  )
}

/** Connections of a server that answers monitoring only. */
const metricsConnections: ConnectionLimitsOptions = { maxPerAddress: 32, maxTotal: 64 }

/** Serves `routes` on a port of their own, for monitoring. */
export const provideMetricsPort = <A, E, R>(routes: Layer.Layer<A, E, R>, port: number) =>
  routes.pipe(Layer.provide(Layer.unwrap(Settings.useSync(({ host, trustedProxies }) =>
    listen(
      { host, port, portVariable: "WINDHOVER_METRICS_PORT" },
      defaultTimeouts,
      new ConnectionLimits(metricsConnections, isWithin(trustedProxies))
    )
  ))))

export const layer = layerWith(defaultTimeouts)

const isWithin = (networks: ReadonlyArray<string>) => {
  const parsed = networks.map(IpNetwork.fromStringUnsafe)
  return (address: string): boolean => {
    const ip = NetAddress.ipFromString(address.replace(/^::ffff:(?=\d+\.)/i, ""))
    return Result.isSuccess(ip) && parsed.some((network) => IpNetwork.contains(network, ip.success))
  }
}

/** Settings on top of a listening server. Its port, if chosen by the system, completes a base URL that is not configured. */
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

const makeServer = (timeouts: ServerTimeouts, connections: ConnectionLimits): Server => {
  const server = createServer({
    headersTimeout: timeouts.headerMs,
    requestTimeout: timeouts.requestMs,
    connectionsCheckingInterval: timeouts.checkIntervalMs,
    keepAliveTimeout: keepAliveMs,
    maxHeaderSize: maxRequestHeaderSize,
    // No route depends on the Host header, and HTTP/1.0 has none.
    requireHostHeader: false,
    // No route switches protocols, and an upgrade would have no timeouts.
    shouldUpgradeCallback: () => false
  })
  server.timeout = timeouts.idleMs
  limitConnections(server, connections)
  closeUnusedAtShutdown(server)
  const requests = trackRequests(server)
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(417, { "content-type": "text/plain; charset=utf-8" })
    response.end("This server supports no expectation except 100-continue; leave the Expect header out.")
  })
  explainUnreadableRequests(server, requests)
  return server
}

/** Rejects connections beyond a limit before Node reads a request from them. */
const limitConnections = (server: Server, connections: ConnectionLimits): void => {
  const listeners = server.listeners("connection")
  server.removeAllListeners("connection").on("connection", (socket: Socket) => {
    const leave = connections.tryEnter(socket.remoteAddress ?? "")
    if (leave === undefined) return rejectConnection(socket)
    socket.once("close", leave)
    for (const listener of listeners) Reflect.apply(listener, server, [socket])
  })
}

/**
 * Closes the connections without any byte when the server closes.
 *
 * Browsers open connections in advance. Node closes an idle connection only after its first request, and the shutdown would wait for the others.
 */
const closeUnusedAtShutdown = (server: Server): void => {
  const sockets = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  const close = server.close.bind(server)
  server.close = (callback) => {
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    return close(callback)
  }
}

/** The latest response of each connection, and the connections that a stream has taken from its response. */
interface Connections {
  readonly responses: AttachedValue<Duplex, ServerResponse>
  readonly taken: WeakSet<Duplex>
}

/**
 * Returns the responses of the connections.
 *
 * A further request on the connection of a stream ends the connection, because its response would appear within the stream.
 *
 * The port opens before the routes exist. Requests during the start wait, and are answered when the routes are ready.
 */
const trackRequests = (server: Server): Connections => {
  const responses = new AttachedValue<Duplex, ServerResponse>()
  const taken = new WeakSet<Duplex>()
  const early: Array<readonly [IncomingMessage, ServerResponse]> = []
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    if (taken.has(socket)) return void socket.destroy()
    // Node drops the bytes behind such a request.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
    responses.set(socket, response)
    response.once(takenEvent, () => {
      taken.add(socket)
      responses.delete(socket)
    })
    const hasRoutes = server.listenerCount("request") > 1
    if (!hasRoutes) early.push([request, response])
  })
  server.on("newListener", (event) => {
    if (event !== "request") return
    setImmediate(() => {
      for (const [request, response] of early.splice(0)) server.emit("request", request, response)
    })
  })
  return { responses, taken }
}

const explainUnreadableRequests = (server: Server, { responses, taken }: Connections): void => {
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    const response = responses.get(socket)
    // A client would read a second response within an unfinished one as its part.
    const isUnfinished = taken.has(socket) || response?.headersSent === true && !response.writableFinished
    if (!socket.writable || error.code === "ECONNRESET" || isUnfinished) return void socket.destroy()
    const [status, sentence] = parserResponse(error.code)
    socket.end(finalResponse(status, sentence))
  })
}

/** The connection counts in no limit, so it closes right after the explanation. */
const rejectConnection = (socket: Socket): void => {
  const sentence = "Too many connections are open. Please close some, or connect again later."
  socket.on("error", () => socket.destroy()).resume()
  socket.end(finalResponse(503, sentence, "Retry-After: 10\r\n"), () => socket.destroy())
}

const finalResponse = (status: number, sentence: string, headers = ""): string =>
  `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
  `Content-Length: ${Buffer.byteLength(sentence)}\r\n${headers}Connection: close\r\n\r\n${sentence}`

/** The response to an unreadable request, by the error code of Node's parser. */
const parserResponse = (code: string | undefined): readonly [status: number, sentence: string] => {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [
        431,
        `The header of the request has more than ${maxRequestHeaderSize} bytes; send the parameters as a form with POST.`
      ]
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return [413, "The chunks of the body have too many extensions; send the body without them."]
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [408, "The request did not arrive in time; send it again."]
    default:
      return [400, "The request is not readable as HTTP/1.1; it had no effect."]
  }
}
