import type { ServerResponse } from "node:http"

/** Maximum bytes per write to Node. Each drained piece proves that the client reads. */
const maxPieceBytes = 65_536

/**
 * Writes a stream to Node's response, no faster than the client reads.
 *
 * The class uses the response directly, because a stack of streams would cost time for each event of ten thousand connections.
 */
export class StreamWriter {
  readonly #response: ServerResponse
  /** Called when the stream has room again after `write` has returned false. */
  onRoom: () => void = () => {}
  /** Progress checks in a row without progress. */
  #stalledChecks = 0
  #isFull = false
  /** Chunks that Node has not received yet, in order. */
  readonly #waiting: Array<Uint8Array> = []

  constructor(response: ServerResponse, headers: { readonly [name: string]: string }) {
    this.#response = response
    response.on("error", ignore)
    response.on("drain", () => this.#onDrain())
    response.writeHead(200, headers)
    response.flushHeaders()
  }

  /**
   * Writes a document. False when the caller has to wait for `onRoom`: at most one document waits, besides Node's buffer.
   */
  write(bytes: Uint8Array | string): boolean {
    if (this.#response.writableEnded || this.#response.destroyed) return false
    if (bytes.length <= maxPieceBytes && this.#waiting.length === 0) this.#isFull = !this.#response.write(bytes)
    else {
      this.#waiting.push(typeof bytes === "string" ? Buffer.from(bytes) : bytes)
      if (!this.#isFull) this.#writeWaiting()
    }
    return !this.#isFull
  }

  /** Writes waiting chunks piece by piece while Node has room. */
  #writeWaiting(): void {
    this.#isFull = false
    for (let [next] = this.#waiting; next !== undefined && !this.#isFull; [next] = this.#waiting) {
      this.#isFull = !this.#response.write(next.subarray(0, maxPieceBytes))
      if (next.length > maxPieceBytes) this.#waiting[0] = next.subarray(maxPieceBytes)
      else this.#waiting.shift()
    }
  }

  get isFull(): boolean {
    return this.#isFull
  }

  #onDrain(): void {
    this.#stalledChecks = 0
    if (!this.#isFull) return
    this.#writeWaiting()
    if (!this.#isFull) this.onRoom()
  }

  /** Disconnects a client that has read no byte between two checks although bytes wait. A slow reader stays connected. */
  checkProgress(): void {
    if (!this.#isFull) this.#stalledChecks = 0
    else if (++this.#stalledChecks > 1) this.#response.destroy()
  }

  /** Ends the stream. Disconnects a client that does not read, instead of waiting for its last bytes. */
  end(): void {
    if (this.#isFull) this.#response.destroy()
    else this.#response.end()
  }
}

/** The `close` event reports every end of the connection. */
const ignore = () => undefined
