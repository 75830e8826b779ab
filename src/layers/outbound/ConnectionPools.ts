import type { buildConnector } from "undici"
import Client from "undici/lib/dispatcher/client.js"

export interface ConnectionPoolsOptions {
  readonly connect: buildConnector.connector
  /** Connections of one origin, at most; exchanges beyond it wait their turn. */
  readonly connectionsPerOrigin: number
  /** Origins whose connections are kept open while nothing happens, at most: the longest unused is closed first. */
  readonly maxIdleOrigins: number
  /** Milliseconds for which an idle connection is kept when the server does not say. */
  readonly keepAlive: number
}

/** Bytes of an answer's header fields, at most. Node's 16 kB is less than some sites' Content-Security-Policy. */
const maxHeaderSize = 64 * 1024

/** What takes a turn at an origin: one exchange, over a connection that is its own until it leaves. */
export interface PoolTicket {
  readonly begin: (origin: ConnectionPool, connection: Client) => void
}

export interface ConnectionPool {
  readonly name: string
  /** All connections, with those that are not open at the moment. */
  readonly connections: Set<Client>
  /** Those of them that nobody uses, the last used at the end: it is taken first, and what is not needed any more falls idle. */
  readonly free: Array<Client>
  /** Those of turns that have just ended, and free for the next in a moment. */
  readonly settling: Array<Client>
  readonly waiting: Set<PoolTicket>
  active: number
  /** Open connections. */
  connected: number
}

/**
 * The connections to all origins, bounded.
 *
 * undici's Agent bounds each origin only; a poller of a million hosts needs a bound on all of them together. Its Pool would keep the
 * connections of one origin, but looks for a free one, and for what waits, at each request anew, which is a seventh of its cost.
 */
export interface ConnectionPools {
  /** Begins the turn now, or when one of the origin's turns ends. `leave` or `abandon` must follow once, whether it has begun or waits. */
  readonly enter: (origin: string, turn: PoolTicket) => ConnectionPool
  /** The exchange has come to its end; `connection` is the one that it was given, if it has begun. */
  readonly leave: (origin: ConnectionPool, turn: PoolTicket, connection: Client | undefined) => void
  /** The exchange is not to go on: its connection is closed. */
  readonly abandon: (origin: ConnectionPool, turn: PoolTicket, connection: Client | undefined) => void
  readonly close: () => Promise<void>
}

export const make = (options: ConnectionPoolsOptions): ConnectionPools => {
  const origins = new Map<string, ConnectionPool>()
  /** In order of their last use. */
  const idle = new Map<string, ConnectionPool>()
  /** Of all origins, with those that are still closing. */
  const connections = new Set<Client>()

  const open = (name: string): ConnectionPool => {
    const origin: ConnectionPool = {
      name,
      connections: new Set(),
      free: [],
      settling: [],
      waiting: new Set(),
      active: 0,
      connected: 0
    }
    origins.set(name, origin)
    return origin
  }

  const connect = (origin: ConnectionPool): Client => {
    const connection = new Client(origin.name, {
      connect: options.connect,
      pipelining: 1,
      keepAliveTimeout: options.keepAlive,
      keepAliveMaxTimeout: options.keepAlive,
      maxHeaderSize,
      // One deadline covers connection, headers and body: these timers would be a second and a third.
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false
    })
    connection.on("connect", () => origin.connected++)
    connection.on("disconnect", () => {
      origin.connected--
      const at = origin.free.indexOf(connection)
      if (at >= 0) {
        origin.free.splice(at, 1)
        drop(origin, connection)
      }
      if (isQuiet(origin) && origin.connected === 0) forget(origin)
    })
    origin.connections.add(connection)
    connections.add(connection)
    return connection
  }

  /** Closes a connection when its last answer has come; with `why` at once. */
  const drop = (origin: ConnectionPool, connection: Client, why?: Error) => {
    if (!origin.connections.delete(connection)) return
    const dropped = () => connections.delete(connection)
    if (why === undefined) connection.close(dropped)
    else connection.destroy(why, dropped)
  }

  const forget = (origin: ConnectionPool) => {
    if (origins.get(origin.name) === origin) {
      origins.delete(origin.name)
      idle.delete(origin.name)
    }
    origin.free.length = 0
    for (const connection of origin.connections) drop(origin, connection)
  }

  /** Nothing happens there any more. */
  const rest = (origin: ConnectionPool) => {
    if (origin.connected === 0) return forget(origin)
    idle.set(origin.name, origin)
    if (idle.size <= options.maxIdleOrigins) return
    for (const oldest of idle.values()) return forget(oldest)
  }

  const begin = (origin: ConnectionPool, turn: PoolTicket) => {
    origin.active++
    turn.begin(origin, origin.free.pop() ?? connect(origin))
  }

  const settled = eachAfterNextTurn((origin) => {
    origin.free.push(...origin.settling.splice(0))
    for (const turn of origin.waiting) {
      if (origin.active >= options.connectionsPerOrigin) return
      origin.waiting.delete(turn)
      begin(origin, turn)
    }
    if (isQuiet(origin)) rest(origin)
  })

  const end = (origin: ConnectionPool, turn: PoolTicket, reusable: Client | undefined) => {
    if (origin.waiting.delete(turn)) return
    origin.active--
    if (reusable !== undefined) origin.settling.push(reusable)
    settled(origin)
  }

  return {
    enter: (name, turn) => {
      const origin = origins.get(name) ?? open(name)
      if (origin.settling.length > 0 || origin.active >= options.connectionsPerOrigin) {
        origin.waiting.add(turn)
        return origin
      }
      if (origin.active === 0) idle.delete(name)
      begin(origin, turn)
      return origin
    },
    leave: end,
    abandon: (origin, turn, connection) => {
      end(origin, turn, undefined)
      if (connection !== undefined) drop(origin, connection, abandoned)
    },
    close: async () => {
      await Promise.all([...connections].map((connection) => connection.destroy()))
    }
  }
}

const abandoned = new Error("abandoned")

const isQuiet = ({ active, settling, waiting }: ConnectionPool): boolean =>
  active === 0 && waiting.size === 0 && settling.length === 0

/**
 * Calls `handle` for each origin given, once undici has seen the end of its exchange.
 *
 * undici frees a connection in the event loop's turn after the answer's end. Who asks again at once (the next hop of a redirect, the next
 * delivery) would be given a second connection, with a second TLS handshake.
 */
const eachAfterNextTurn = (handle: (origin: ConnectionPool) => void): (origin: ConnectionPool) => void => {
  let fresh = new Set<ConnectionPool>()
  let ripe = new Set<ConnectionPool>()
  let running = false
  const turn = () => {
    const due = ripe
    ripe = fresh
    fresh = new Set()
    running = ripe.size > 0
    if (running) setImmediate(turn)
    for (const origin of due) handle(origin)
  }
  return (origin) => {
    fresh.add(origin)
    if (running) return
    running = true
    setImmediate(turn)
  }
}
