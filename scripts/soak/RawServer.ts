import { once } from "node:events"
import net from "node:net"

/** A request as it arrived. Header names are lower-case. */
export interface RawRequest {
  readonly method: string
  readonly path: string
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/** Writes an answer to the socket, byte for byte, and may close it. */
export type RawHandler = (request: RawRequest, socket: net.Socket) => void

/** A server on all addresses of 127/8, whose answers are written by hand: `node:http` refuses to write odd ones. */
export const listen = async (handle: RawHandler): Promise<{ readonly port: number; readonly close: () => void }> => {
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    sockets.add(socket)
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket))
    let received = Buffer.alloc(0)
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk])
      for (;;) {
        const parsed = parseRequest(received)
        if (parsed === undefined) return
        received = received.subarray(parsed.length)
        handle(parsed.request, socket)
      }
    })
  })
  server.listen(0, "0.0.0.0")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("no port")
  return {
    port: address.port,
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    }
  }
}

/** The first request of the bytes and its length; undefined while it is not whole. */
const parseRequest = (bytes: Buffer): { readonly request: RawRequest; readonly length: number } | undefined => {
  const end = bytes.indexOf("\r\n\r\n")
  if (end < 0) return undefined
  const [line = "", ...fields] = bytes.subarray(0, end).toString("latin1").split("\r\n")
  const headers = new Map(fields.map((field) => {
    const colon = field.indexOf(":")
    return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()]
  }))
  const start = end + 4
  const length = start + Number(headers.get("content-length") ?? 0)
  if (bytes.length < length) return undefined
  const [method = "", path = ""] = line.split(" ")
  return { request: { method, path, headers, body: bytes.subarray(start, length) }, length }
}

/** An answer with correct framing. */
export const plain = (status: number, fields: ReadonlyArray<string>, body: string): string =>
  [`HTTP/1.1 ${status} X`, `Content-Length: ${Buffer.byteLength(body)}`, ...fields, "", body].join("\r\n")

/** Answers that curl and browsers read although HTTP forbids their form. Each has status 200. */
export const oddForms: ReadonlyArray<(fields: ReadonlyArray<string>, body: string) => string> = [
  (fields, body) =>
    [
      "HTTP/1.1 200 OK",
      `Content-Length: ${body.length + 7}`,
      ...fields,
      "Transfer-Encoding: chunked",
      "",
      chunked(body)
    ]
      .join("\r\n"),
  (fields, body) => ["HTTP/1.1 200 OK", ...fields, "Transfer-Encoding: chunked", "", chunked(body, "   ")].join("\r\n"),
  (fields, body) => plain(200, [...fields, "Set-Cookie: a\u0001b=c\u0007d"], body),
  (fields, body) => plain(200, [...fields, "X-Folded: one", "\ttwo"], body),
  (fields, body) => plain(200, [...fields, "X-Spaced : value"], body),
  (fields, body) =>
    plain(200, fields, body).replace(/\r\n(?=[^]*?\r\n\r\n)|\r\n\r\n/g, (found) => found.replaceAll("\r", "")),
  (fields, body) => plain(200, [...fields, `Content-Length: ${Buffer.byteLength(body)}`], body)
]

const chunked = (body: string, padding = ""): string =>
  body === "" ? "0\r\n\r\n" : `${Buffer.byteLength(body).toString(16)}${padding}\r\n${body}\r\n0\r\n\r\n`
