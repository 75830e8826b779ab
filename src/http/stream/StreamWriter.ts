import type { ServerResponse } from "node:http"
import type { StreamMemory } from "./StreamMemory.ts"

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
  /** Chunks that Node has not received yet, in order: the frame of each, and its rest. */
  readonly #waiting: Array<{ readonly frame: Uint8Array; rest: Uint8Array }> = []
  readonly #memory: StreamMemory
  readonly #accountKey: string

  /** `key` is the account's key in the budget of memory. */
  constructor(
    response: ServerResponse,
    headers: { readonly [name: string]: string },
    { key, memory }: { readonly memory: StreamMemory; readonly key: string }
  ) {
    this.#response = response
    this.#memory = memory
    this.#accountKey = key
    response.on("error", ignore)
    response.once("close", () => this.#forgetWaiting())
    response.on("drain", () => this.#onDrain())
    response.writeHead(200, headers)
    response.flushHeaders()
  }

  /**
   * Writes a document. False when the caller has to wait for `onRoom`: at most one document waits, besides Node's buffer.
   *
   * Without memory for a waiting document, the client is disconnected. It resumes after its last event.
   */
  write(bytes: Uint8Array | string): boolean {
    if (this.#response.writableEnded || this.#response.destroyed) return false
    if (bytes.length <= maxPieceBytes && this.#waiting.length === 0) this.#isFull = !this.#response.write(bytes)
    else {
      const frame = typeof bytes === "string" ? Buffer.from(bytes) : bytes
      if (!this.#memory.tryHold(frame, this.#accountKey)) {
        this.#response.destroy()
        return false
      }
      this.#waiting.push({ frame, rest: frame })
      if (!this.#isFull) this.#writeWaiting()
    }
    return !this.#isFull
  }

  /** Writes waiting chunks piece by piece while Node has room. */
  #writeWaiting(): void {
    this.#isFull = false
    for (let [next] = this.#waiting; next !== undefined && !this.#isFull; [next] = this.#waiting) {
      const { frame, rest } = next
      this.#isFull = !this.#response.write(rest.subarray(0, maxPieceBytes))
      next.rest = rest.subarray(maxPieceBytes)
      if (next.rest.length > 0) continue
      this.#waiting.shift()
      this.#memory.release(frame)
    }
  }

  /** Returns the room of the waiting chunks after the end of the connection. */
  #forgetWaiting(): void {
    for (const { frame } of this.#waiting.splice(0)) this.#memory.release(frame)
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
