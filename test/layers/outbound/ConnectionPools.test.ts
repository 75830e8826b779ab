import { assert, describe, it } from "@effect/vitest"
import { once } from "node:events"
import { createServer, type Server, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { buildConnector } from "undici"
import { type BodyLimit, HttpExchange, type ResponseHeaders } from "#layers/outbound/HttpExchange.ts"
import type { NetworkError } from "#layers/outbound/NetworkError.ts"
import { ConnectionPools } from "#layers/outbound/ConnectionPools.ts"

/** A server that holds its responses back until the test releases them, with its sockets. */
const startServer = async (host = "127.0.0.1") => {
  const sockets: Array<Socket> = []
  const held: Array<ServerResponse> = []
  const closed: Array<Promise<unknown>> = []
  const server: Server = createServer((request, response) => {
    if (request.url === "/held") held.push(response)
    else response.end(request.url)
  }).listen(0, host)
  server.on("connection", (socket: Socket) => {
    sockets.push(socket)
    closed.push(once(socket, "close"))
  })
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return { url: `http://${host}:${port}`, sockets, held, closed, close: () => server.close().closeAllConnections() }
}

const openPools = (
  bounds: { readonly perOrigin?: number; readonly idle?: number } = {},
  connect: buildConnector.connector = buildConnector({})
) =>
  new ConnectionPools({
    connect,
    maxConnectionsPerOrigin: bounds.perOrigin ?? 2,
    maxIdlePools: bounds.idle ?? 10,
    keepAliveMs: 60_000
  })

/** A running GET with its response and its abandonment. */
const get = (pools: ConnectionPools, url: string) => {
  const { promise, reject, resolve } = Promise.withResolvers<string>()
  const exchange = new HttpExchange(pools, { url: new URL(url), method: "GET", headers: [] }, {
    onHeaders: (_: number, __: ResponseHeaders): BodyLimit => ({ maxBytes: 1_000, onExcess: "fail" }),
    onBody: (body) => resolve(body.toString()),
    onFailure: (failure: NetworkError) => reject(failure),
    onTooLarge: () => reject(new Error("too large"))
  })
  exchange.start()
  return { answer: promise, abandon: () => exchange.abandon() }
}

describe("ConnectionPools", () => {
  it("uses one connection for consecutive requests", async () => {
    const server = await startServer()
    const pools = openPools()
    for (const path of ["/1", "/2", "/3"]) assert.strictEqual(await get(pools, server.url + path).answer, path)
    assert.strictEqual(server.sockets.length, 1)
    await pools.close()
    server.close()
  })

  it("opens the maximum of connections to an origin; further requests wait in order", async () => {
    const server = await startServer()
    const pools = openPools({ perOrigin: 2 })
    const ends: Array<string> = []
    const all = ["/held", "/held", "/3", "/4"].map((path) =>
      get(pools, server.url + path).answer.then((body) => ends.push(body))
    )
    while (server.held.length < 2) await new Promise(setImmediate)
    assert.deepStrictEqual(ends, [])
    server.held.forEach((response, i) => response.end(`/${i + 1}`))
    await Promise.all(all)
    assert.deepStrictEqual([ends.toSorted(), server.sockets.length], [["/1", "/2", "/3", "/4"], 2])
    await pools.close()
    server.close()
  })

  it("closes the connection of an abandoned exchange; the next exchange gets another connection", async () => {
    const server = await startServer()
    const pools = openPools({ perOrigin: 1 })
    const first = get(pools, `${server.url}/held`)
    while (server.held.length < 1) await new Promise(setImmediate)
    const second = get(pools, `${server.url}/2`)
    first.abandon()
    assert.strictEqual(await second.answer, "/2")
    await server.closed[0]
    assert.strictEqual(server.sockets.length, 2)
    await pools.close()
    server.close()
  })

  it("abandons an exchange that waits for a connection, and one whose connection is not open yet", async () => {
    const server = await startServer()
    const pools = openPools({ perOrigin: 1 })
    const first = get(pools, `${server.url}/1`)
    const second = get(pools, `${server.url}/2`)
    second.abandon()
    first.abandon() // before the connection is open
    assert.strictEqual(await get(pools, `${server.url}/3`).answer, "/3")
    await pools.close()
    server.close()
  })

  it("reconnects after the server has closed the connection", async () => {
    const server = await startServer()
    const dialled: Array<Socket> = []
    const connect = buildConnector({})
    const pools = openPools({}, (options, callback) =>
      connect(options, (...result) => {
        if (result[1] !== null) dialled.push(result[1])
        callback(...result)
      }))
    assert.strictEqual(await get(pools, `${server.url}/1`).answer, "/1")
    const [first = assert.fail("nothing was dialled")] = dialled
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    first.once("close", () => resolve())
    server.sockets[0]?.destroy()
    await closed
    assert.strictEqual(await get(pools, `${server.url}/2`).answer, "/2")
    assert.strictEqual(server.sockets.length, 2)
    await pools.close()
    server.close()
  })

  it("closes the least recently used pool beyond the maximum of idle pools", async () => {
    const servers = [await startServer(), await startServer("127.0.0.2"), await startServer("127.0.0.3")]
    const pools = openPools({ idle: 2 })
    for (const { url } of servers) await get(pools, `${url}/`).answer
    await servers[0]?.closed[0]
    assert.deepStrictEqual(servers.map(({ sockets }) => sockets[0]?.destroyed), [true, false, false])
    await pools.close()
    for (const server of servers) server.close()
  })
})
