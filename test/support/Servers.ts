import { Effect, type Scope } from "effect"
import http from "node:http"
import https from "node:https"
import net from "node:net"
import type { AddressInfo } from "node:net"

/** A request to an origin of a test. */
export interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: Buffer
}

export interface TestServer {
  readonly port: number
  /** `http://address:port`, without a slash. */
  readonly url: string
  /** Requests in order of arrival. */
  readonly seen: ReadonlyArray<Seen>
  /** Number of connections so far. */
  readonly connections: () => number
  /** Resolves when no connection is open. */
  readonly quiet: Effect.Effect<void>
}

type Scoped<A> = Effect.Effect<A, never, Scope.Scope>

/** Answers each request after its complete body. */
export type Answer = (request: Seen, response: http.ServerResponse) => void

/** Starts an HTTP server on a free port of 127.0.0.1 (or of another `host`), stopped with the test. */
export const serve = (
  answer: Answer,
  { host, ...options }: http.ServerOptions & { readonly host?: string } = {}
): Scoped<TestServer> => {
  const seen: Array<Seen> = []
  const server = http.createServer(options, (request, response) => collect(seen, answer, request, response))
  return listen(server, "http", seen, host)
}

export const serveTls = (answer: Answer, options: https.ServerOptions): Scoped<TestServer> => {
  const seen: Array<Seen> = []
  return listen(
    https.createServer(options, (request, response) => collect(seen, answer, request, response)),
    "https",
    seen
  )
}

/** Starts a server of bytes: `converse` gets each connection with the client's first bytes. */
export const serveRaw = (converse: (socket: net.Socket, request: string) => void): Scoped<TestServer> => {
  const server = net.createServer((socket) => {
    socket.on("error", () => undefined)
    socket.once("data", (data) => converse(socket, data.toString("latin1")))
  })
  return listen(server, "http", [])
}

const collect = (seen: Array<Seen>, answer: Answer, request: http.IncomingMessage, response: http.ServerResponse) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    const one = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body: Buffer.concat(chunks)
    }
    seen.push(one)
    answer(one, response)
  })
}

const listen = (
  server: net.Server,
  scheme: string,
  seen: ReadonlyArray<Seen>,
  host = "127.0.0.1"
): Scoped<TestServer> =>
  Effect.acquireRelease(
    Effect.callback<TestServer & { readonly sockets: Set<net.Socket> }>((resume) => {
      const sockets = new Set<net.Socket>()
      const waiting = new Set<() => void>()
      let connections = 0
      server.on("connection", (socket) => {
        connections++
        sockets.add(socket)
        socket.on("error", () => undefined).on("close", () => {
          sockets.delete(socket)
          if (sockets.size === 0) { for (const resolve of waiting) resolve() }
        })
      })
      const quiet = Effect.callback<void>((resume) => {
        if (sockets.size === 0) return resume(Effect.void)
        waiting.add(() => resume(Effect.void))
      })
      server.listen(0, host, () => {
        const { port } = server.address() as AddressInfo
        resume(
          Effect.succeed({
            port,
            url: `${scheme}://${host}:${port}`,
            seen,
            connections: () => connections,
            quiet,
            sockets
          })
        )
      })
    }),
    ({ sockets }) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        for (const socket of sockets) socket.destroy()
      })
  )
