import { type Frame, lastChunk } from "./Frame.ts"
import type { StreamMemory } from "./StreamMemory.ts"
import type { StreamSocket } from "./StreamSocket.ts"

/** Maximum bytes per write to Node. Each drained piece proves that the client reads. */
const maxPieceBytes = 65_536

/** A frame that Node has not received yet, and its rest. */
interface WaitingFrame {
  readonly bytes: Uint8Array
  rest: Uint8Array
}

/**
 * Writes a stream to its socket, no faster than the client reads.
 *
 * The class uses the socket directly, because a stack of streams would cost time for each event of ten thousand connections.
 */
export class StreamWriter {
  readonly #connection: StreamSocket
  /** Called when the stream has room again after `write` has returned false. */
  onRoom: () => void = ignore
  /** Called once after the end of the connection. */
  onClose: () => void = ignore
  /** Progress checks in a row without progress. */
  #stalledChecks = 0
  #isFull = false
  #hasEnded = false
  /** Frames of a slow client, in order; undefined before the first one. */
  #waiting: Array<WaitingFrame> | undefined
  readonly #memory: StreamMemory
  readonly #accountKey: string

  /** `key` is the account's key in the budget of memory. */
  constructor(
    connection: StreamSocket,
    { key, memory }: { readonly memory: StreamMemory; readonly key: string }
  ) {
    this.#connection = connection
    this.#memory = memory
    this.#accountKey = key
    connection.socket.once("close", () => {
      this.#forgetWaiting()
      this.onClose()
    })
    connection.socket.on("drain", () => this.#onDrain())
  }

  /**
   * Writes a frame. False when the caller has to wait for `onRoom`: at most one frame waits, besides Node's buffer.
   *
   * Without memory for a waiting frame, the client is disconnected. It resumes after its last event.
   */
  write(frame: Frame): boolean {
    const { isChunked, socket } = this.#connection
    if (!socket.writable) return false
    const bytes = isChunked ? frame.chunk : frame.body
    if (bytes.length <= maxPieceBytes && !this.#hasWaiting) this.#isFull = !socket.write(bytes)
    else {
      if (!this.#memory.tryHold(bytes, this.#accountKey)) {
        socket.destroy()
        return false
      }
      this.#waiting ??= []
      this.#waiting.push({ bytes, rest: bytes })
      if (!this.#isFull) this.#writeWaiting(this.#waiting)
    }
    return !this.#isFull
  }

  get #hasWaiting(): boolean {
    return this.#waiting !== undefined && this.#waiting.length > 0
  }

  /** Writes waiting frames piece by piece while Node has room. */
  #writeWaiting(waiting: Array<WaitingFrame>): void {
    this.#isFull = false
    for (let [next] = waiting; next !== undefined && !this.#isFull; [next] = waiting) {
      this.#isFull = !this.#connection.socket.write(next.rest.subarray(0, maxPieceBytes))
      next.rest = next.rest.subarray(maxPieceBytes)
      if (next.rest.length > 0) continue
      waiting.shift()
      this.#memory.release(next.bytes)
    }
  }

  /** Returns the room of the waiting frames after the end of the connection. */
  #forgetWaiting(): void {
    for (const { bytes } of this.#waiting?.splice(0) ?? []) this.#memory.release(bytes)
  }

  get isFull(): boolean {
    return this.#isFull
  }

  get isClosed(): boolean {
    return this.#connection.socket.destroyed
  }

  #onDrain(): void {
    this.#stalledChecks = 0
    if (!this.#isFull) return
    if (this.#waiting === undefined) this.#isFull = false
    else this.#writeWaiting(this.#waiting)
    if (!this.#isFull) this.onRoom()
  }

  /** Disconnects a client that has read no byte between two checks although bytes wait. A slow reader stays connected. */
  checkProgress(): void {
    if (!this.#isFull) this.#stalledChecks = 0
    else if (++this.#stalledChecks > 1) this.#connection.socket.destroy()
  }

  /** Ends the stream. Disconnects a client that does not read, instead of waiting for its last bytes. */
  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    const { isChunked, socket } = this.#connection
    if (this.#isFull || !socket.writable) return void socket.destroy()
    if (isChunked) socket.write(lastChunk)
    socket.destroySoon()
  }
}

const ignore = () => undefined
