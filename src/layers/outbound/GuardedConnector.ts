import net from "node:net"
import type { LookupFunction } from "node:net"
import tls from "node:tls"
import type { buildConnector } from "undici"
import type { Guard } from "./AddressGuard.ts"
import type { TimerWheel } from "./TimerWheel.ts"
import { explain, NetworkError } from "./NetworkError.ts"
import type { Address } from "./Address.ts"
import type { DnsResolver } from "./DnsResolver.ts"

export interface ConnectorOptions {
  readonly guard: Guard
  readonly resolver: DnsResolver
  readonly deadlines: TimerWheel
  /** Milliseconds for name, connection and TLS handshake together. */
  readonly connectTimeout?: number
  /** Milliseconds for one of several addresses. Node's own 250 is less than a connection across the world with one lost packet. */
  readonly attemptTimeout?: number
  /** Authorities to trust instead of node's (PEM). */
  readonly ca?: string
  /** TLS sessions kept, one a host and port. */
  readonly maxSessions?: number
}

/**
 * Dials for undici: resolve, check every address, connect to a checked one, shake hands for the host's name.
 *
 * All connections share one `SecureContext` (making one costs as much as a handshake), and the last session of each server is kept:
 * undici's own connector holds a hundred of them weakly, so a poller of many hosts would never resume one.
 */
export const make = (options: ConnectorOptions): buildConnector.connector => {
  const { deadlines } = options
  const connectTimeout = options.connectTimeout ?? 10_000
  const secureContext = tls.createSecureContext(options.ca === undefined ? {} : { ca: options.ca })
  const sessions = makeSessions(options.maxSessions ?? 10_000)
  const lookup = guardedLookup(options.guard, options.resolver)

  const dial = (target: Target, reached: (stage: Stage) => void): net.Socket => {
    const tcp = {
      host: target.host,
      port: target.port,
      lookup: lookup(reached),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: options.attemptTimeout ?? 3_000,
      noDelay: true
    }
    if (!target.secure) return net.connect(tcp)
    const name = `${target.host}:${target.port}`
    const session = sessions.get(name)
    const socket = tls.connect({
      ...tcp,
      secureContext,
      // No h2: see docs/decisions/0011. An address is no server name (RFC 6066); the certificate is checked against it all the same.
      ALPNProtocols: ["http/1.1"],
      servername: net.isIP(target.host) === 0 ? target.host : "",
      ...(session === undefined ? {} : { session })
    })
    keepSessions(socket, (fresh) => sessions.set(name, fresh))
    return socket
  }

  const connect: buildConnector.connector = (wanted, callback) => {
    const target = targetOf(wanted)
    const refusal = refusalOf(options.guard, target)
    if (refusal !== undefined) return queueMicrotask(() => callback(refusal, null))
    let stage: Stage = net.isIP(target.host) === 0 ? "Dns" : "Connect"
    const socket = dial(target, (reached) => void (stage = reached))
    socket.once("connect", () => void (stage = "Tls"))

    const settle = (failure: NetworkError | undefined) => {
      deadlines.cancel(deadline)
      socket.off("error", failed).off("close", closed).off(ready, succeeded)
      if (failure === undefined) return callback(null, socket)
      socket.on("error", () => undefined).destroy()
      callback(failure, null)
    }
    const ready = target.secure ? "secureConnect" : "connect"
    const succeeded = () => settle(undefined)
    const failed = (error: Error) => settle(explainDial(error, target.host, stage))
    const closed = () => settle(new NetworkError("Connect", target.host, "the connection was given up"))
    const deadline = deadlines.add(connectTimeout, () => settle(timeout(target.host, stage, connectTimeout)))
    socket.once(ready, succeeded).once("error", failed).once("close", closed)
    // undici ends an attempt that no request waits for any more through the socket that is returned.
    return socket
  }
  return connect
}

/** How far a connection has come. */
type Stage = "Dns" | "Connect" | "Tls"

interface Target {
  readonly host: string
  readonly port: number
  readonly secure: boolean
}

const targetOf = ({ hostname, port, protocol }: buildConnector.Options): Target => {
  const secure = protocol === "https:"
  return { host: hostname, port: port === "" ? (secure ? 443 : 80) : Number(port), secure }
}

/** An address literal never passes through `lookup`, so it is judged before the dial. */
const refusalOf = (guard: Guard, { host, port }: Target): NetworkError | undefined => {
  const foreign = guard.port(port)
  if (foreign !== undefined) return new NetworkError("RefusedAddress", host, `refused, ${foreign}`)
  const private_ = net.isIP(host) === 0 ? undefined : guard.address(host)
  return private_ === undefined ? undefined : refused(host, private_)
}

const refused = (what: string, reason: string) =>
  new NetworkError(
    "RefusedAddress",
    what,
    `refused, ${reason}; only public addresses are connected to unless WINDHOVER_ALLOW_PRIVATE is true`
  )

/** Node dials exactly what this answers: nothing is resolved a second time between the check and the connection. */
const guardedLookup =
  (guard: Guard, resolver: DnsResolver) => (reached: (stage: Stage) => void): LookupFunction => (host, _, callback) => {
    resolver.resolve(host).then(
      (addresses) => {
        const allowed = addresses.filter(({ address }) => guard.address(address) === undefined)
        if (allowed.length === 0) return callback(refusedName(guard, host, addresses), [])
        reached("Connect")
        callback(null, [...allowed])
      },
      (error: NetworkError) => callback(error, [])
    )
  }

const refusedName = (guard: Guard, host: string, addresses: ReadonlyArray<Address>): NetworkError => {
  const address = addresses[0]?.address ?? ""
  return refused(`${host} (${address})`, guard.address(address) ?? "no address")
}

const timeout = (host: string, stage: Stage, milliseconds: number) =>
  new NetworkError("Timeout", host, `${timeouts[stage]} within ${milliseconds / 1000} s`)

const timeouts: Readonly<Record<Stage, string>> = {
  Dns: "its name was not resolved",
  Connect: "no connection",
  Tls: "no end of the TLS handshake"
}

/** A connection that is lost in the handshake is TLS's matter: mostly a server that wants another protocol version or name. */
const explainDial = (error: Error, host: string, stage: Stage): NetworkError => {
  const failure = explain(error, host)
  if (stage !== "Tls" || failure.kind !== "Protocol") return failure
  return new NetworkError("Tls", host, "the connection was closed in the TLS handshake", { cause: error })
}

/** The last session of each server, the longest unused forgotten first. A name's session serves that name only: it was verified for it. */
const makeSessions = (most: number) => {
  const sessions = new Map<string, Buffer>()
  return {
    get: (name: string) => sessions.get(name),
    set: (name: string, session: Buffer) => {
      sessions.delete(name)
      sessions.set(name, session)
      if (sessions.size > most) sessions.delete(sessions.keys().next().value ?? name)
    }
  }
}

/** TLS 1.2 issues its session before the certificate is judged, TLS 1.3 after: keep none of a server that was turned away. */
const keepSessions = (socket: tls.TLSSocket, keep: (session: Buffer) => void) => {
  let early: Buffer | undefined
  socket.on("session", (session) => {
    if (socket.authorized) keep(session)
    else early = session
  })
  socket.once("secureConnect", () => {
    if (early !== undefined) keep(early)
  })
}
