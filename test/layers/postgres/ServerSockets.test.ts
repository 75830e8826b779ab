import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { once } from "node:events"
import * as net from "node:net"
import { addressOf, make } from "#layers/postgres/ServerSockets.ts"

describe("ServerSockets", () => {
  it("reads the address of a URL as the client does", () => {
    const options = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 }
    const tcp = (host: string, port: number) => ({ host, port, ...options })
    const addresses: ReadonlyArray<readonly [url: string, address: object]> = [
      ["postgres://u:p@db.example/windhover", tcp("db.example", 5432)],
      ["postgresql://u@[::1]:6543/windhover?sslmode=require", tcp("::1", 6543)],
      ["postgres://u@db.example/windhover?host=other.example&port=7", tcp("other.example", 7)],
      ["postgres:///windhover?user=u", tcp("localhost", 5432)],
      ["postgres://u@%2Fvar%2Frun%2Fpostgresql/windhover", { path: "/var/run/postgresql/.s.PGSQL.5432" }],
      ["postgres://u@x:5433/windhover?host=/run/pg", { path: "/run/pg/.s.PGSQL.5433" }]
    ]
    for (const [url, address] of addresses) assert.deepStrictEqual(addressOf(new URL(url)), address, url)
  })

  it.live("destroys open sockets when they are abandoned, and opens no more", () =>
    Effect.gen(function*() {
      const server = net.createServer((socket) => socket.resume()).listen(0, "127.0.0.1")
      yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
      yield* Effect.promise(() => once(server, "listening"))
      const url = Redacted.make(`postgres://u@127.0.0.1:${(server.address() as net.AddressInfo).port}/d`)
      const { abandon, connect } = make()
      const sockets = [connect(url), connect(url)]
      yield* Effect.promise(() => Promise.all(sockets.map((socket) => once(socket, "connect"))))
      const closed = Promise.all(sockets.map((socket) => once(socket, "close")))
      abandon()
      yield* Effect.promise(() => closed)
      const refused = connect(url)
      const [error] = yield* Effect.promise(() => once(refused, "error"))
      assert.strictEqual(
        (error as Error).message,
        "The service stops without its database, which does not answer."
      )
    }))
})
