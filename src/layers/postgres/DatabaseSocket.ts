import { PgClient } from "@effect/sql-pg"
import { Effect, type Layer, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import type { Duplex } from "node:stream"
import { patchPgClient } from "./PgClientPatches.ts"

/**
 * The embedded database of a running service, for commands of the data directory's owner.
 *
 * Each connection is one of PostgreSQL's own protocol. The mode of the socket admits the owner of the directory alone.
 */
const socketName = "database.sock"

/** Maximum length of a Unix socket's path. The kernels accept 108 bytes (Linux) or 104 (other systems). */
const maxSocketPath = 100

/** Connections at a time. A move needs four. */
const maxConnections = 8

const pathIn = (dataDir: string): string => path.join(path.resolve(dataDir), socketName)

/** Connections of commands to the database of this process. */
export type Guests = Set<net.Socket>

/**
 * Serves the socket until the scope closes. The directory is locked, so that an existing socket belongs to no process.
 *
 * Without the socket, as on file systems that hold none, the service runs, and backups need its stop.
 */
export const serve = Effect.fnUntraced(
  function*(dataDir: string, connect: () => Duplex, guests: Guests): Effect.fn.Return<void, never, Scope.Scope> {
    const socket = pathIn(dataDir)
    if (socket.length > maxSocketPath) return
    yield* Effect.acquireRelease(
      Effect.callback<net.Server>((resume) => {
        fs.rmSync(socket, { force: true })
        const server = net.createServer({ allowHalfOpen: false }, (guest) => admit(guest, connect(), guests))
        server.maxConnections = maxConnections
        server.once("error", () => resume(Effect.succeed(server)))
        server.listen(socket, () => {
          fs.chmodSync(socket, 0o600)
          resume(Effect.succeed(server))
        })
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          for (const guest of guests) guest.destroy()
        })
    )
  }
)

const admit = (guest: net.Socket, connection: Duplex, guests: Guests): void => {
  guests.add(guest)
  guest.once("close", () => {
    guests.delete(guest)
    connection.destroy()
  })
  connection.once("close", () => guest.destroy())
  guest.on("error", () => guest.destroy())
  connection.on("error", () => connection.destroy())
  guest.pipe(connection)
  connection.pipe(guest)
}

/** True while a service serves the socket of the directory. */
export const isServed = (dataDir: string): Effect.Effect<boolean> =>
  Effect.callback<boolean>((resume) => {
    const socket = net.connect(pathIn(dataDir))
    const complete = (served: boolean) => {
      socket.destroy()
      resume(Effect.succeed(served))
    }
    socket.once("connect", () => complete(true)).once("error", () => complete(false))
    return Effect.sync(() => void socket.destroy())
  })

/** A client of the running service's database. */
export const layer = (
  options: { readonly dataDir: string; readonly maxMessageSize: number }
): Layer.Layer<PgClient.PgClient | SqlClient.SqlClient> =>
  PgClient.layerFrom(Effect.gen(function*() {
    const client = yield* PgClient.make({
      stream: () => net.connect(pathIn(options.dataDir)),
      username: "postgres",
      database: "postgres",
      maxConnections: 3,
      connectTimeout: "1 minute", // a new connection waits behind open transactions
      maxMessageSize: options.maxMessageSize
    }).pipe(Effect.orDie) // the client connects at the first statement, so that this cannot fail
    return patchPgClient(client, "pglite")
  }))
