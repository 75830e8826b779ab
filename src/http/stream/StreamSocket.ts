import { Effect } from "effect"
import type { ServerResponse } from "node:http"
import { takenEvent } from "#domain/ports/TakenConnection.ts"

/** The part of Node's socket that a stream uses. */
interface Socket {
  readonly destroyed: boolean
  readonly writable: boolean
  readonly write: (bytes: Uint8Array) => boolean
  /** Ends the connection behind the last bytes, at once. */
  readonly destroy: () => unknown
  /** Ends the connection as soon as the last bytes are sent. */
  readonly destroySoon: () => void
  readonly on: (event: "drain", listener: () => void) => unknown
  readonly once: (event: "close", listener: () => void) => unknown
}

/** The connection of a stream. */
export interface StreamSocket {
  readonly socket: Socket
  /** HTTP/1.0 has no chunks: its body ends with the connection. */
  readonly isChunked: boolean
}

/** Waits until a pipelined request has its turn. A response without a connection after that has lost its client. */
export const awaitTurn = (response: ServerResponse): Effect.Effect<void> =>
  response.socket !== null || response.destroyed
    ? Effect.void
    : Effect.callback<void>((resume) => void response.once("socket", () => resume(Effect.void)))

/**
 * Writes the header of a stream, and takes the connection from Node's response; undefined when the client has gone.
 *
 * A stream needs nothing of request, response and fiber after its header. Together they take four times the memory of the connection. The
 * response counts as ended, so that the server ends its fiber without a further byte. Its last bytes are never sent, so that no listener waits for its `finish`.
 */
export const takeSocket = (
  response: ServerResponse,
  headers: { readonly [name: string]: string }
): StreamSocket | undefined => {
  const { socket } = response
  if (socket === null || socket.destroyed) return undefined
  response.writeHead(200, headers)
  response.flushHeaders()
  const isChunked = response.chunkedEncoding
  response.detachSocket(socket)
  response.removeAllListeners("finish").end()
  response.emit(takenEvent)
  return { socket, isChunked }
}
