import net from "node:net"
import type { LookupFunction } from "node:net"
import tls from "node:tls"
import type { buildConnector } from "undici"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import type { AddressGuard } from "./AddressGuard.ts"
import type { DnsResolver, IpAddress } from "./DnsResolver.ts"
import { NetworkError, toNetworkError } from "./NetworkError.ts"
import type { TimerWheel } from "#layers/TimerWheel.ts"

export interface ConnectorOptions {
  readonly guard: AddressGuard
  readonly resolver: DnsResolver
  readonly timers: TimerWheel
  /** Called for a name without an allowed address, with its first address and the reason. */
  readonly onRefusedName?: (name: string, address: string, text: string) => void
  /** Time for name resolution, connection and TLS handshake together. */
  readonly connectTimeoutMs?: number
  /** Time for one of several addresses. Node's 250 ms are less than a connection across the world with one lost packet. */
  readonly attemptTimeoutMs?: number
  /** Trusted certificate authorities (PEM) instead of Node's. */
  readonly ca?: string
  /** Stored TLS sessions, one per host and port. */
  readonly maxSessions?: number
}

/**
 * Connects for undici: resolves the name, checks every address, dials a checked address, and does the TLS handshake.
 *
 * All connections share one `SecureContext`, because making one costs as much as a handshake. The last session of each server is stored:
 * undici's own connector holds a hundred sessions weakly, so a poller of many hosts would never resume one.
 */
export const make = (options: ConnectorOptions): buildConnector.connector => {
  const { guard, timers } = options
  const connectTimeoutMs = options.connectTimeoutMs ?? 10_000
  const dial = makeDialer(options)
  return (connectOptions, callback) => {
    const target = targetOf(connectOptions)
    const refusal = refusalOf(guard, target)
    if (refusal !== undefined) return queueMicrotask(() => callback(refusal, null))
    let stage: ConnectStage = net.isIP(target.host) === 0 ? "Dns" : "Connect"
    const socket = dial(target, () => void (stage = "Connect"))
    socket.once("connect", () => void (stage = "Tls"))

    const settle = (failure: NetworkError | undefined) => {
      timers.cancel(timer)
      socket.off("error", onError).off("close", onClose).off(readyEvent, onReady)
      if (failure === undefined) return callback(null, socket)
      socket.on("error", () => undefined).destroy()
      callback(failure, null)
    }
    const readyEvent = target.isSecure ? "secureConnect" : "connect"
    const onReady = () => settle(undefined)
    const onError = (error: Error) => settle(toConnectError(error, target.host, stage))
    const onClose = () => settle(new NetworkError("Connect", target.host, "the connection was closed"))
    const timer = timers.add(connectTimeoutMs, () => settle(timeoutError(target.host, stage, connectTimeoutMs)))
    socket.once(readyEvent, onReady).once("error", onError).once("close", onClose)
    // undici destroys the returned socket when no request waits for it any more.
    return socket
  }
}

/** Opens sockets, with TLS session resumption. `onResolved` is called after the name has been resolved. */
const makeDialer = (options: ConnectorOptions) => {
  const secureContext = tls.createSecureContext(options.ca === undefined ? {} : { ca: options.ca })
  // A session serves the host and port for which it was verified.
  const sessions = new BoundedMap<string, Buffer>(options.maxSessions ?? 10_000)
  const lookup = guardedLookup(options)

  return (target: Target, onResolved: () => void): net.Socket => {
    const tcp = {
      host: target.host,
      port: target.port,
      lookup: lookup(onResolved),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: options.attemptTimeoutMs ?? 3_000,
      noDelay: true
    }
    if (!target.isSecure) return net.connect(tcp)
    const name = `${target.host}:${target.port}`
    const session = sessions.get(name)
    const socket = tls.connect({
      ...tcp,
      secureContext,
      // No HTTP/2, see docs/decisions/0011.
      ALPNProtocols: ["http/1.1"],
      servername: serverNameOf(target.host),
      ...(session === undefined ? {} : { session })
    })
    onVerifiedSession(socket, (fresh) => sessions.set(name, fresh))
    return socket
  }
}

/**
 * Server name of the TLS handshake, without the dot at the end of a fully qualified name. The certificate is checked against it.
 *
 * RFC 6066, 3 allows neither the dot nor an address. Node checks the certificate of an address nevertheless.
 */
const serverNameOf = (host: string): string => net.isIP(host) === 0 ? host.replace(/\.$/, "") : ""

/** Progress of a connection. */
type ConnectStage = "Dns" | "Connect" | "Tls"

interface Target {
  readonly host: string
  readonly port: number
  readonly isSecure: boolean
}

const targetOf = ({ hostname, port, protocol }: buildConnector.Options): Target => {
  const isSecure = protocol === "https:"
  return { host: hostname, port: port === "" ? (isSecure ? 443 : 80) : Number(port), isSecure }
}

/** Judges ports and address literals before the dial, because literals never pass through `lookup`. */
const refusalOf = (guard: AddressGuard, { host, port }: Target): NetworkError | undefined => {
  const portText = guard.explainPort(port)
  if (portText !== undefined) return new NetworkError("RefusedAddress", host, `refused, ${portText}`)
  const addressText = net.isIP(host) === 0 ? undefined : guard.explainAddress(host)
  return addressText === undefined ? undefined : refusedAddress(host, addressText)
}

const refusedAddress = (host: string, text: string) =>
  new NetworkError(
    "RefusedAddress",
    host,
    `refused, ${text}; only public addresses are connected to unless WINDHOVER_ALLOW_PRIVATE is true`
  )

/** Node dials exactly the addresses returned here, so a name cannot change between check and connection. */
const guardedLookup =
  (options: ConnectorOptions) => (onResolved: () => void): LookupFunction => (host, _, callback) => {
    options.resolver.resolve(host).then(
      (addresses) => {
        const allowed = addresses.filter(({ address }) => options.guard.explainAddress(address) === undefined)
        if (allowed.length === 0) return callback(refuseName(options, host, addresses), [])
        onResolved()
        callback(null, [...allowed])
      },
      (error: NetworkError) => callback(error, [])
    )
  }

/** Accounts read the error, so that it leaves the address of the name out. */
const refuseName = (
  { guard, onRefusedName }: ConnectorOptions,
  host: string,
  addresses: ReadonlyArray<IpAddress>
): NetworkError => {
  const address = addresses[0]?.address ?? ""
  onRefusedName?.(host, address, guard.explainAddress(address) ?? "no address")
  return refusedAddress(host, "the name has no public address")
}

const timeoutError = (host: string, stage: ConnectStage, milliseconds: number) =>
  new NetworkError("Timeout", host, `${timeoutTexts[stage]} within ${milliseconds / 1000} s`)

const timeoutTexts: Readonly<Record<ConnectStage, string>> = {
  Dns: "its name was not resolved",
  Connect: "no connection",
  Tls: "no end of the TLS handshake"
}

/** A connection closed during the handshake is a TLS error: mostly the server wants another protocol version or name. */
const toConnectError = (error: Error, host: string, stage: ConnectStage): NetworkError => {
  const failure = toNetworkError(error, host)
  if (stage !== "Tls" || failure.reason._tag !== "Protocol") return failure
  return new NetworkError("Tls", host, "the connection was closed in the TLS handshake", { cause: error })
}

/** Passes on sessions of verified servers only. TLS 1.2 issues the session before certificate verification, TLS 1.3 after it. */
const onVerifiedSession = (socket: tls.TLSSocket, handle: (session: Buffer) => void) => {
  let unverified: Buffer | undefined
  socket.on("session", (session) => {
    if (socket.authorized) handle(session)
    else unverified = session
  })
  socket.once("secureConnect", () => {
    if (unverified !== undefined) handle(unverified)
  })
}
