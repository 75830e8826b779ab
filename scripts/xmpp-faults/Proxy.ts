import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { type Ledger, makeTap } from "./Ledger.ts"

/** Bytes of the largest packet that passes a proxy in the mode `small-packets`. */
const smallPacket = 1_400

/**
 * Behavior of a proxy.
 *
 * `refused`: closes all connections. `black-hole`: passes nothing, and closes nothing. `small-packets`: a connection passes nothing more
 * after a large packet.
 */
export type Mode = "open" | "refused" | "black-hole" | "small-packets"

/** A network between one runner and the component port of the server. */
export class Proxy {
  mode: Mode = "open"
  delayMs = 0
  readonly port: number
  readonly #target: number
  readonly #ledger: Ledger
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer((socket) => this.#accept(socket))

  constructor(port: number, target: number, ledger: Ledger) {
    this.port = port
    this.#target = target
    this.#ledger = ledger
  }

  async listen(): Promise<void> {
    await once(this.#server.listen(this.port, "127.0.0.1"), "listening")
  }

  /** True while the runner has a connection that the server has not refused. */
  get isConnected(): boolean {
    return this.#sockets.size > 0
  }

  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  close(): void {
    this.#server.close()
    this.reset()
  }

  #accept(near: Socket): void {
    near.on("error", () => {})
    if (this.mode === "refused") return void near.resetAndDestroy()
    const far = connect(this.#target, "127.0.0.1")
    const tap = makeTap(this.#ledger)
    let isBlocked = this.mode === "black-hole"
    for (const socket of [near, far]) {
      this.#sockets.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => this.#sockets.delete(socket))
    }
    near.on("close", () => far.destroy())
    far.on("close", () => isBlocked || this.mode === "black-hole" ? undefined : near.destroy())
    const pass = (from: Socket, to: Socket, read: (bytes: Uint8Array) => void) => {
      let due = 0
      from.on("data", (bytes: Buffer) => {
        isBlocked ||= this.mode === "black-hole" || (this.mode === "small-packets" && bytes.length > smallPacket)
        if (isBlocked) return
        const now = performance.now()
        due = Math.max(due, now + this.delayMs) // in order, also when the delay shrinks
        setTimeout(() => {
          if (to.destroyed) return
          read(bytes)
          to.write(bytes)
        }, due - now)
      })
    }
    pass(near, far, tap.readRunner)
    pass(far, near, tap.readServer)
  }
}
