import { Effect, type Scope } from "effect"
import dgram from "node:dgram"

export interface NameServer {
  /** Address in the form of `Resolver`. */
  readonly address: string
  /** Queries in order of arrival, as `A name` or `AAAA name`. */
  readonly queries: ReadonlyArray<string>
}

export type RecordType = "A" | "AAAA"

/** Addresses with their TTL in seconds, or a response code; undefined for no answer. */
export type Zone = (type: RecordType, name: string) => Reply | undefined
export type Reply = { readonly addresses: ReadonlyArray<string>; readonly ttl: number } | {
  readonly code: "SERVFAIL" | "NXDOMAIN"
}

/** A name server on a free UDP port of 127.0.0.1. */
export const nameServer = (zone: Zone): Effect.Effect<NameServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<NameServer & { readonly socket: dgram.Socket }>((resume) => {
      const queries: Array<string> = []
      const socket = dgram.createSocket("udp4")
      socket.on("message", (query, client) => {
        const { end, name, type } = question(query)
        queries.push(`${type} ${name}`)
        const reply = zone(type, name)
        if (reply !== undefined) socket.send(response(query, end, type, reply), client.port, client.address)
      })
      socket.bind(0, "127.0.0.1", () => {
        resume(Effect.succeed({ address: `127.0.0.1:${socket.address().port}`, queries, socket }))
      })
    }),
    ({ socket }) =>
      Effect.callback<void>((resume) => {
        socket.close(() => resume(Effect.void))
      })
  )

/** The question of a query: after a header of 12 bytes, labels with their lengths, then type and class. */
const question = (query: Buffer): { readonly name: string; readonly type: RecordType; readonly end: number } => {
  const labels: Array<string> = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join("."), type: query.readUInt16BE(at + 1) === 28 ? "AAAA" : "A", end: at + 5 }
}

const response = (query: Buffer, end: number, type: RecordType, reply: Reply): Buffer => {
  const addresses = "addresses" in reply ? reply.addresses : []
  const header = Buffer.from(query.subarray(0, 12))
  header.writeUInt16BE(0x8180 | ("code" in reply ? { SERVFAIL: 2, NXDOMAIN: 3 }[reply.code] : 0), 2)
  header.writeUInt16BE(addresses.length, 6)
  header.writeUInt32BE(0, 8)
  const ttl = "ttl" in reply ? reply.ttl : 0
  return Buffer.concat([header, query.subarray(12, end), ...addresses.map((address) => record(type, address, ttl))])
}

const record = (type: RecordType, address: string, ttl: number): Buffer => {
  const data = type === "A" ? Buffer.from(address.split(".").map(Number)) : ipv6(address)
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(type === "A" ? 1 : 28, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(ttl, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

const ipv6 = (address: string): Buffer => {
  const [left = "", right = ""] = address.split("::")
  const groups = (part: string) => part.split(":").filter((group) => group !== "")
  const middle = Array.from({ length: 8 - groups(left).length - groups(right).length }, () => "0")
  return Buffer.from(
    [...groups(left), ...middle, ...groups(right)].map((group) => group.padStart(4, "0")).join(""),
    "hex"
  )
}
