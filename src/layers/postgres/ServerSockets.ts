import { Context, Redacted } from "effect"
import * as net from "node:net"
import { Duplex } from "node:stream"

/**
 * The sockets to a PostgreSQL server: those of sessions, and those of requests that cancel a statement.
 *
 * An interruption waits for the server: 5 s for each statement under way. A stop with a silent server abandons all sockets instead.
 */
export interface ServerSockets {
  /** Opens a socket to the server of a URL. */
  readonly connect: (url: Redacted.Redacted) => Duplex
  /** Destroys all sockets, and opens no more. Statements fail at once, and their interruptions end. */
  readonly abandon: () => void
}

/** Idle time before the kernel checks a connection, in ms: reveals a vanished server. */
const keepAliveMs = 30_000

export const make = (): ServerSockets => {
  const open = new Set<net.Socket>()
  let isAbandoned = false
  return {
    connect: (url) => {
      if (isAbandoned) {
        return new Duplex().destroy(new Error("The service stops without its database, which does not answer."))
      }
      const socket = net.connect(addressOf(new URL(Redacted.value(url))))
      open.add(socket)
      return socket.on("close", () => open.delete(socket))
    },
    abandon: () => {
      isAbandoned = true
      for (const socket of open) socket.destroy()
    }
  }
}

export const ServerSockets = Context.Reference<ServerSockets>("windhover/layers/postgres/ServerSockets", {
  defaultValue: make
})

/** The address that the client reads from a URL: a parameter replaces its part of the URL, and a directory holds a Unix socket. */
export const addressOf = (url: URL): net.NetConnectOpts => {
  const named = decodeURIComponent(url.hostname.replace(/^\[(.*)\]$/, "$1"))
  const host = url.searchParams.getAll("host").at(-1) ?? (named === "" ? "localhost" : named)
  const port = Number(url.searchParams.getAll("port").at(-1) ?? (url.port === "" ? 5432 : url.port))
  return host.startsWith("/")
    ? { path: `${host}/.s.PGSQL.${port}` }
    : { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs }
}
