import { Duplex } from "node:stream"
import type { Worker } from "node:worker_threads"
import type { FromWorker, ToWorker } from "./Messages.ts"

/** Opens connections to the database in a thread: each is to its client what a socket would be. */
export class Connector {
  readonly #worker: Worker
  readonly #open = new Map<number, Duplex>()
  #last = 0

  constructor(worker: Worker) {
    this.#worker = worker
    worker.on("message", (message: FromWorker) => this.#receive(message))
  }

  connect(): Duplex {
    const id = ++this.#last
    const connection = new Duplex({
      read: () => undefined, // answers are pushed as they come; the client has asked for all of them
      write: (bytes: Uint8Array, _encoding, done) => {
        this.#tell({ _tag: "Data", id, bytes })
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
    this.#tell({ _tag: "Open", id })
    return connection
  }

  /** The thread is gone: so are all connections. */
  fail(error: Error): void {
    const lost = [...this.#open.values()]
    this.#open.clear()
    for (const connection of lost) connection.destroy(error)
  }

  #tell(message: ToWorker): void {
    this.#worker.postMessage(message)
  }

  #close(id: number): void {
    if (this.#open.delete(id)) this.#tell({ _tag: "Close", id })
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
