import { Duplex } from "node:stream"
import type { Worker } from "node:worker_threads"
import type { FromWorker, ToWorker } from "./Messages.ts"

/** From so many bytes on, a message hands its buffer over instead of a second copy. For few bytes a copy is faster. */
const minTransferBytes = 64 * 1024

/** The bytes, copied unless they fill their buffer: a message carries the whole buffer, which for few bytes is Node's pool. */
const inBufferOfItsOwn = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytes.buffer instanceof ArrayBuffer && bytes.length === bytes.buffer.byteLength
    ? new Uint8Array(bytes.buffer)
    : new Uint8Array(bytes)

/** Opens connections to the database in a thread. A connection replaces the client's socket. */
export class Connector {
  readonly #worker: Worker
  readonly #open = new Map<number, Duplex>()
  #lastId = 0

  constructor(worker: Worker) {
    this.#worker = worker
    worker.on("message", (message: FromWorker) => this.#receive(message))
  }

  connect(): Duplex {
    const id = ++this.#lastId
    const connection = new Duplex({
      read: () => undefined, // answers are pushed on arrival
      write: (bytes: Uint8Array, _encoding, done) => {
        const own = inBufferOfItsOwn(bytes)
        this.#send({ _tag: "Data", id, bytes: own }, own.length < minTransferBytes ? [] : [own.buffer])
        done()
      },
      final: (done) => {
        this.#close(id)
        done()
      },
      destroy: (error, done) => {
        this.#close(id)
        done(error)
      }
    })
    this.#open.set(id, connection)
    this.#send({ _tag: "Open", id })
    return connection
  }

  /** Closes all connections after the end of the thread. */
  fail(error: Error): void {
    const lost = [...this.#open.values()]
    this.#open.clear()
    for (const connection of lost) connection.destroy(error)
  }

  #send(message: ToWorker, transfer: ReadonlyArray<ArrayBuffer> = []): void {
    this.#worker.postMessage(message, transfer)
  }

  #close(id: number): void {
    if (this.#open.delete(id)) this.#send({ _tag: "Close", id })
  }

  #receive(message: FromWorker): void {
    if (message._tag !== "Data" && message._tag !== "Closed") return
    const connection = this.#open.get(message.id)
    if (connection === undefined) return
    if (message._tag === "Data") {
      connection.push(Buffer.from(message.bytes.buffer, message.bytes.byteOffset, message.bytes.byteLength))
    } else {
      this.#open.delete(message.id)
      connection.push(null)
      connection.destroy()
    }
  }
}
