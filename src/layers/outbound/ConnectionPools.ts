import type { buildConnector } from "undici"
import Client from "undici/lib/dispatcher/client.js"
import { maxHeaderBytes } from "./ResponseFault.ts"
import { ResponseRecorder } from "./ResponseRecorder.ts"

export interface ConnectionPoolsOptions {
  readonly connect: buildConnector.connector
  /** Connections of one pool. Further exchanges wait for their turn. */
  readonly maxConnectionsPerOrigin: number
  /** Idle pools with open connections. Beyond it, the least recently used pool is closed. */
  readonly maxIdlePools: number
  /** Lifetime of an idle connection if the server announces none. */
  readonly keepAliveMs: number
}

/** A connection of undici that reopens itself, with the record of its current response. */
export class Connection extends Client {
  readonly recorder: ResponseRecorder

  constructor(origin: string, { connect, keepAliveMs }: ConnectionPoolsOptions) {
    const recorder = new ResponseRecorder()
    super(origin, {
      connect: recorder.wrap(connect),
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      maxHeaderSize: maxHeaderBytes,
      // The exchange's own deadline covers connection, headers and body.
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false
    })
    this.recorder = recorder
  }
}

/** A request for a connection. It has the connection exclusively until it gives the connection back. */
export interface PoolTicket {
  readonly onConnection: (pool: ConnectionPool, connection: Connection) => void
}

/** The connections of one origin (scheme, host and port). */
export interface ConnectionPool {
  readonly origin: string
  /** All connections, closed ones included: undici reopens them. */
  readonly connections: Set<Connection>
  /** Unused connections, the most recently used last. The last one is taken first, so that surplus connections become idle. */
  readonly free: Array<Connection>
  /** Connections whose exchange has just ended; free after undici's next turn. */
  readonly settling: Array<Connection>
  readonly waiting: Set<PoolTicket>
  /** Tickets that hold a connection. */
  active: number
  openConnections: number
}

/**
 * Connection pools of all origins, bounded together.
 *
 * undici's Agent bounds each origin only, and a poller of a million hosts needs a total bound. undici's Pool searches a free connection and
 * a waiting request anew for each request, which is a seventh of a request's cost.
 */
export class ConnectionPools {
  readonly #options: ConnectionPoolsOptions
  readonly #pools = new Map<string, ConnectionPool>()
  /** Idle pools by origin, the least recently used first. */
  readonly #idle = new Map<string, ConnectionPool>()
  /** Connections of all pools, closing ones included. */
  readonly #connections = new Set<Connection>()
  readonly #settle = eachAfterNextTurn((pool) => this.#onSettled(pool))

  constructor(options: ConnectionPoolsOptions) {
    this.#options = options
  }

  /** Gives the ticket a connection, now or later. Each ticket then needs one `release` or `destroy`, even a waiting one. */
  acquire(origin: string, ticket: PoolTicket): ConnectionPool {
    const pool = this.#pools.get(origin) ?? this.#addPool(origin)
    if (pool.settling.length > 0 || pool.active >= this.#options.maxConnectionsPerOrigin) {
      pool.waiting.add(ticket)
      return pool
    }
    if (pool.active === 0) this.#idle.delete(origin)
    this.#start(pool, ticket)
    return pool
  }

  /** Gives a connection back after a complete exchange. `connection` is undefined for a waiting ticket. */
  release(pool: ConnectionPool, ticket: PoolTicket, connection: Connection | undefined): void {
    if (pool.waiting.delete(ticket)) return
    pool.active--
    if (connection !== undefined) pool.settling.push(connection)
    this.#settle(pool)
  }

  /** Closes the connection of an incomplete exchange. */
  destroy(pool: ConnectionPool, ticket: PoolTicket, connection: Connection | undefined): void {
    this.release(pool, ticket, undefined)
    if (connection !== undefined) this.#drop(pool, connection, abandoned)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections].map((connection) => connection.destroy()))
  }

  #addPool(origin: string): ConnectionPool {
    const pool: ConnectionPool = {
      origin,
      connections: new Set(),
      free: [],
      settling: [],
      waiting: new Set(),
      active: 0,
      openConnections: 0
    }
    this.#pools.set(origin, pool)
    return pool
  }

  #start(pool: ConnectionPool, ticket: PoolTicket): void {
    pool.active++
    ticket.onConnection(pool, pool.free.pop() ?? this.#connect(pool))
  }

  #connect(pool: ConnectionPool): Connection {
    const connection = new Connection(pool.origin, this.#options)
    connection.on("connect", () => pool.openConnections++)
    connection.on("disconnect", () => this.#onDisconnect(pool, connection))
    pool.connections.add(connection)
    this.#connections.add(connection)
    return connection
  }

  #onDisconnect(pool: ConnectionPool, connection: Connection): void {
    pool.openConnections--
    const index = pool.free.indexOf(connection)
    if (index >= 0) {
      pool.free.splice(index, 1)
      this.#drop(pool, connection)
    }
    if (isUnused(pool) && pool.openConnections === 0) this.#removePool(pool)
  }

  #onSettled(pool: ConnectionPool): void {
    pool.free.push(...pool.settling.splice(0))
    for (const ticket of pool.waiting) {
      if (pool.active >= this.#options.maxConnectionsPerOrigin) return
      pool.waiting.delete(ticket)
      this.#start(pool, ticket)
    }
    if (isUnused(pool)) this.#park(pool)
  }

  /** Keeps an unused pool while it has open connections, and closes the pool beyond the maximum. */
  #park(pool: ConnectionPool): void {
    if (pool.openConnections === 0) return this.#removePool(pool)
    this.#idle.set(pool.origin, pool)
    if (this.#idle.size <= this.#options.maxIdlePools) return
    for (const leastRecentlyUsed of this.#idle.values()) return this.#removePool(leastRecentlyUsed)
  }

  #removePool(pool: ConnectionPool): void {
    if (this.#pools.get(pool.origin) === pool) {
      this.#pools.delete(pool.origin)
      this.#idle.delete(pool.origin)
    }
    pool.free.length = 0
    for (const connection of pool.connections) this.#drop(pool, connection)
  }

  /** Closes a connection after its last response, or at once with an error. */
  #drop(pool: ConnectionPool, connection: Connection, error?: Error): void {
    if (!pool.connections.delete(connection)) return
    const onClosed = () => this.#connections.delete(connection)
    if (error === undefined) connection.close(onClosed)
    else connection.destroy(error, onClosed)
  }
}

const abandoned = new Error("abandoned")

const isUnused = ({ active, settling, waiting }: ConnectionPool): boolean =>
  active === 0 && waiting.size === 0 && settling.length === 0

/**
 * Calls `handle` for each pool after undici has noticed the end of its exchange.
 *
 * undici frees a connection one turn of the event loop after the end of the response. An immediate next request (a redirect, the next
 * delivery) would otherwise open a second connection with a second TLS handshake.
 */
const eachAfterNextTurn = (handle: (pool: ConnectionPool) => void): (pool: ConnectionPool) => void => {
  /** Pools that were added in this turn, and in the turn before. */
  let added = new Set<ConnectionPool>()
  let addedBefore = new Set<ConnectionPool>()
  let isRunning = false
  const onTurn = () => {
    const due = addedBefore
    addedBefore = added
    added = new Set()
    isRunning = addedBefore.size > 0
    if (isRunning) setImmediate(onTurn)
    for (const pool of due) handle(pool)
  }
  return (pool) => {
    added.add(pool)
    if (isRunning) return
    isRunning = true
    setImmediate(onTurn)
  }
}
