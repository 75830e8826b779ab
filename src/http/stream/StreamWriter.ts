import type { ServerResponse } from "node:http"

/** Bytes that Node is given at once: each piece that it has passed on shows that the client reads. */
const piece = 65_536

/**
 * The open end of a stream: writes what it is given, bounded by how fast the client reads.
 *
 * Node's response is used as it is: what a stack of streams costs for each of ten thousand connections, is paid for each event.
 */
export class StreamWriter {
  readonly #response: ServerResponse
  /** Called when there is room again after `write` was false. */
  onRoom: () => void = () => {}
  /** Looks at the connection since it has taken no more; 0 while it does. */
  #stalled = 0
  #full = false
  /** What Node was not given yet, in order. */
  readonly #waiting: Array<Uint8Array> = []

  constructor(response: ServerResponse, headers: { readonly [name: string]: string }) {
    this.#response = response
    response.on("error", ignored)
    response.on("drain", () => this.#drained())
    response.writeHead(200, headers)
    response.flushHeaders()
  }

  /** False when no more is to be written until there is room: at most one document, and what fits Node's buffer, wait. */
  write(bytes: Uint8Array | string): boolean {
    if (this.#response.writableEnded || this.#response.destroyed) return false
    if (bytes.length <= piece && this.#waiting.length === 0) this.#full = !this.#response.write(bytes)
    else {
      this.#waiting.push(typeof bytes === "string" ? Buffer.from(bytes) : bytes)
      if (!this.#full) this.#writeWaiting()
    }
    return !this.#full
  }

  /** Piece after piece, as long as there is room. */
  #writeWaiting(): void {
    this.#full = false
    for (let [next] = this.#waiting; next !== undefined && !this.#full; [next] = this.#waiting) {
      this.#full = !this.#response.write(next.subarray(0, piece))
      if (next.length > piece) this.#waiting[0] = next.subarray(piece)
      else this.#waiting.shift()
    }
  }

  get full(): boolean {
    return this.#full
  }

  #drained(): void {
    this.#stalled = 0
    if (!this.#full) return
    this.#writeWaiting()
    if (!this.#full) this.onRoom()
  }

  /** Who has read nothing between two looks, although something waits for it, is cut off; who reads slowly is not. */
  look(): void {
    if (!this.#full) this.#stalled = 0
    else if (++this.#stalled > 1) this.#response.destroy()
  }

  /** The end of the stream, in good order; a client that does not take it any more is not waited for. */
  end(): void {
    if (this.#full) this.#response.destroy()
    else this.#response.end()
  }
}

/** What happens to the connection is seen by its close. */
const ignored = () => undefined
