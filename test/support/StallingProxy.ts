import { Effect, type Scope } from "effect"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"

/** A proxy to a server on loopback. */
export interface StallingProxy {
  readonly port: number
  /** Closes the blocked connections, and passes later connections through. */
  readonly release: Effect.Effect<void>
}

/** Passes about `most` messages and then blocks, so that the sender stays in the middle of its messages for as long as the test needs. */
export const makeStallingProxy = (target: number, most: number): Effect.Effect<StallingProxy, never, Scope.Scope> => {
  const sockets = new Set<Socket>()
  let left = most
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  const server = createServer((near) => {
    const far = connect(target, "127.0.0.1")
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on("error", () => {}).on("close", () => sockets.delete(socket))
    }
    near.on("close", () => far.destroy())
    far.on("close", () => near.destroy()).pipe(near)
    near.on("data", (bytes) => {
      far.write(bytes)
      left -= bytes.toString("latin1").split("<message").length - 1
      if (left <= 0) near.pause()
    })
  })
  return Effect.acquireRelease(
    Effect.callback<StallingProxy>((resume) => {
      server.listen(0, "127.0.0.1", () =>
        resume(Effect.succeed({
          port: (server.address() as AddressInfo).port,
          release: Effect.sync(() => {
            left = Infinity
            cut()
          })
        })))
    }),
    () =>
      Effect.sync(() => {
        server.close()
        cut()
      })
  )
}
