import { type buildConnector, Pool } from "undici"

export interface OriginsOptions {
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

/** What takes a turn at an origin: one exchange. */
export interface Turn {
  readonly begin: (origin: Origin) => void
}

export interface Origin {
  readonly name: string
  readonly pool: Pool
  readonly waiting: Set<Turn>
  active: number
  /** Open connections; undici's own `stats` are counted anew at each look. */
  connected: number
  /** A turn has just ended, and its connection is not yet free for the next. */
  settling: boolean
}

/**
 * The connections to all origins, bounded.
 *
 * undici's Agent bounds each origin only; a poller of a million hosts needs a bound on all of them together.
 */
export interface Origins {
  /** Begins the turn now, or when one of the origin's turns ends. `leave` must follow once, whether it has begun or waits. */
  readonly enter: (origin: string, turn: Turn) => Origin
  readonly leave: (origin: Origin, turn: Turn) => void
  readonly close: () => Promise<void>
}

export const make = (options: OriginsOptions): Origins => {
  const origins = new Map<string, Origin>()
  /** In order of their last use. */
  const idle = new Map<string, Origin>()
  /** With those that are still closing. */
  const pools = new Set<Pool>()

  const open = (name: string): Origin => {
    const pool = new Pool(name, {
      connect: options.connect,
      connections: options.connectionsPerOrigin,
      pipelining: 1,
      keepAliveTimeout: options.keepAlive,
      keepAliveMaxTimeout: options.keepAlive,
      maxHeaderSize,
      // One deadline covers connection, headers and body: these timers would be a second and a third.
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false
    })
    const origin: Origin = { name, pool, waiting: new Set(), active: 0, connected: 0, settling: false }
    pool.on("connect", () => origin.connected++)
    pool.on("disconnect", () => {
      origin.connected--
      if (origin.active === 0 && origin.waiting.size === 0 && origin.connected === 0) forget(origin)
    })
    origins.set(name, origin)
    pools.add(pool)
    return origin
  }

  const forget = (origin: Origin) => {
    if (origins.get(origin.name) === origin) {
      origins.delete(origin.name)
      idle.delete(origin.name)
    }
    if (!origin.pool.closed) origin.pool.close(() => pools.delete(origin.pool))
  }

  /** Nothing happens there any more. */
  const rest = (origin: Origin) => {
    if (origin.connected === 0) return forget(origin)
    idle.set(origin.name, origin)
    if (idle.size <= options.maxIdleOrigins) return
    for (const oldest of idle.values()) return forget(oldest)
  }

  const settled = eachAfterNextTurn((origin) => {
    origin.settling = false
    for (const turn of origin.waiting) {
      if (origin.active >= options.connectionsPerOrigin) return
      origin.waiting.delete(turn)
      origin.active++
      turn.begin(origin)
    }
    if (origin.active === 0 && !origin.settling) rest(origin)
  })

  return {
    enter: (name, turn) => {
      const origin = origins.get(name) ?? open(name)
      if (origin.settling || origin.active >= options.connectionsPerOrigin) {
        origin.waiting.add(turn)
        return origin
      }
      if (origin.active++ === 0) idle.delete(name)
      turn.begin(origin)
      return origin
    },
    leave: (origin, turn) => {
      if (origin.waiting.delete(turn)) return
      origin.active--
      origin.settling = true
      settled(origin)
    },
    close: async () => {
      await Promise.all([...pools].map((pool) => pool.destroy()))
    }
  }
}

/**
 * Calls `handle` for each origin given, once undici has seen the end of its exchange.
 *
 * undici frees a connection in the event loop's turn after the answer's end. Who asks again at once (the next hop of a redirect, the next
 * delivery) would be given a second connection, with a second TLS handshake.
 */
const eachAfterNextTurn = (handle: (origin: Origin) => void): (origin: Origin) => void => {
  let fresh = new Set<Origin>()
  let ripe = new Set<Origin>()
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
