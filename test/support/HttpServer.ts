import { Effect } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Ports of all servers of this process, closed ones too. */
const usedPorts = new Set<number>()

/**
 * Starts an HTTP server on a free port of loopback, closed with the scope. Returns the URL without a path.
 *
 * The system soon gives the port of a closed server again. Tests that share a service would then find the resources of an earlier test, so
 * each server gets a port of its own.
 */
export const httpServer = (handle: Handle) =>
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((request, response) => void handle(request, response))
      const listen = () =>
        void server.listen(0, "127.0.0.1", () => {
          const { port } = server.address() as AddressInfo
          if (usedPorts.has(port)) return void server.close(listen)
          usedPorts.add(port)
          resume(Effect.succeed(server))
        })
      listen()
    }),
    (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`))
