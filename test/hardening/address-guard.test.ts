import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, References, Schedule } from "effect"
import * as DelivererHttp from "#layers/outbound/DelivererHttp.ts"
import * as FetcherUndici from "#layers/outbound/FetcherUndici.ts"
import * as Network from "#layers/outbound/Network.ts"
import { failureOf, fetch, live, outside, postTo } from "#test/support/Fetching.ts"
import { nameServer, type Zone } from "#test/support/NameServer.ts"
import { serve } from "#test/support/Servers.ts"

/** No URL and no DNS response leads a connection to services of this machine. */
const closed = { allowPrivate: false }

describe("address guard", () => {
  const literals: ReadonlyArray<readonly [host: string, address: string]> = [
    ["127.0.0.1", "127.0.0.1"],
    ["127.1", "127.0.0.1"],
    ["2130706433", "127.0.0.1"],
    ["0x7f000001", "127.0.0.1"],
    ["0x7f.0x0.0x0.0x1", "127.0.0.1"],
    ["0177.0.0.01", "127.0.0.1"],
    ["017700000001", "127.0.0.1"],
    ["127.0.0.1.", "127.0.0.1"],
    ["%31%32%37.0.0.1", "127.0.0.1"],
    ["１２７.0.0.1", "127.0.0.1"],
    ["①②⑦。0。0。1", "127.0.0.1"],
    ["0", "0.0.0.0"],
    ["10.1", "10.0.0.1"],
    ["169.254.169.254", "169.254.169.254"],
    ["[::1]", "::1"],
    ["[::]", "::"],
    ["[::ffff:127.0.0.1]", "::ffff:7f00:1"],
    ["[::127.0.0.1]", "::7f00:1"],
    ["[64:ff9b::127.0.0.1]", "64:ff9b::7f00:1"],
    ["[2002:7f00:1::]", "2002:7f00:1::"],
    ["[fd00::1]", "fd00::1"],
    ["[fe80::1]", "fe80::1"]
  ]

  for (const [host, address] of literals) {
    live(`rejects ${host}`, () =>
      Effect.gen(function*() {
        const failure = yield* failureOf(`http://${host}:8080/`)
        assert.isTrue(
          failure.startsWith(`RefusedAddress: ${address}: refused, an `) || failure.includes("refused, a "),
          failure
        )
        assert.include(failure, address)
        assert.include(failure, "only public addresses are connected to")
        assert.isTrue((yield* postTo(`http://${host}:8080/`)).startsWith("RefusedAddress: "))
      }), closed)
  }

  live("rejects localhost and names of this machine in the hosts file", () =>
    Effect.gen(function*() {
      const origin = yield* serve((_, response) => response.end("secret"))
      for (const host of ["localhost", "LOCALHOST", "app.localhost", "localhost."]) {
        assert.match(
          yield* failureOf(`http://${host}:${origin.port}/`),
          /^RefusedAddress: .*: refused, the name has no public address/
        )
      }
      assert.strictEqual(origin.connections(), 0)
    }), closed)

  const answering = (addresses: ReadonlyArray<string>): Zone => (type) => ({
    addresses: type === "A" ? addresses : [],
    ttl: 1
  })

  const withNames = (zone: Zone) =>
    Effect.map(nameServer(zone), ({ address }) => outside({ ...closed, nameServers: [address] }))

  it.live("rejects a name that resolves to a private address", () =>
    Effect.gen(function*() {
      const names = yield* withNames(answering(["10.0.0.5"]))
      const failure = yield* failureOf("http://intranet.example/").pipe(Effect.provide(names))
      assert.strictEqual(
        failure,
        "RefusedAddress: intranet.example: refused, the name has no public address; only public addresses are connected to unless WINDHOVER_ALLOW_PRIVATE is true"
      )
    }).pipe(Effect.scoped))

  /** 127.0.0.2 plays the public Internet; all other addresses are forbidden. */
  const publicSite = "127.0.0.2"
  const split = {
    guard: {
      explainAddress: (address: string) => (address === publicSite ? undefined : "a private address"),
      explainPort: () => undefined
    }
  }

  it.live("dials the checked address, so that a name cannot change in between", () =>
    Effect.gen(function*() {
      const victim = yield* serve((_, response) => response.end("secret"))
      let asked = 0
      const names = yield* nameServer((type) => ({
        addresses: type === "AAAA" ? [] : asked++ === 0 ? [publicSite] : ["127.0.0.1"],
        ttl: 0
      }))
      const layer = outside({ ...split, nameServers: [names.address], minTtlMs: 0 })
      const [first, second] = yield* Effect.gen(function*() {
        const url = `http://rebind.example:${victim.port}/`
        return [yield* failureOf(url), yield* failureOf(url)] as const
      }).pipe(Effect.provide(layer))
      // No server listens at the site's address and this port. After a second lookup the victim would have responded.
      assert.strictEqual(first, "Connect: rebind.example: connection refused")
      assert.match(second, /^RefusedAddress: rebind\.example: refused, the name has no public address/)
      assert.strictEqual(asked, 2)
      assert.strictEqual(victim.connections(), 0)
    }).pipe(Effect.scoped))

  it.live("dials only the public addresses of a name", () =>
    Effect.gen(function*() {
      const site = yield* serve((_, response) => response.end("public"), { host: publicSite })
      const { address } = yield* nameServer(answering(["127.0.0.1", publicSite]))
      const layer = outside({ ...split, nameServers: [address] })
      const fetched = yield* fetch(`http://both.example:${site.port}/`).pipe(Effect.provide(layer))
      assert.strictEqual(Buffer.from(fetched.body).toString(), "public")
    }).pipe(Effect.scoped))

  it.live("tells the address of a name to the operator's log alone", () =>
    Effect.gen(function*() {
      const lines: Array<unknown> = []
      const logger = Logger.make(({ fiber, message }) =>
        void lines.push([message, fiber.getRef(References.CurrentLogAnnotations)])
      )
      const { address } = yield* nameServer(answering(["10.1.2.3"]))
      const layer = outside({ ...closed, nameServers: [address] }).pipe(Layer.provide(Logger.layer([logger])))
      const failures = yield* Effect.gen(function*() {
        const url = "http://intranet.example/"
        return [yield* failureOf(url), yield* postTo(url), yield* failureOf("http://other.example/")]
      }).pipe(Effect.provide(layer))
      for (const failure of failures) assert.notInclude(failure, "10.1.2.3")
      assert.deepStrictEqual(lines, [
        [["A name without an allowed address is not connected to"], {
          name: "intranet.example",
          address: "10.1.2.3",
          reason: "a private address"
        }]
      ])
    }).pipe(Effect.scoped))

  it.live("connects to no address of this machine, which a name could turn into a loop", () =>
    Effect.gen(function*() {
      const own = "93.184.216.10"
      const { address } = yield* nameServer(answering([own]))
      const options = { ...closed, nameServers: [address], listAddresses: () => [own] }
      const refused = "RefusedAddress: again.example: refused, the name has no public address"
      yield* Effect.gen(function*() {
        assert.isTrue((yield* failureOf("http://again.example/")).startsWith(refused))
        assert.isTrue((yield* postTo("http://again.example/")).startsWith(refused))
        assert.match(yield* failureOf(`http://${own}/`), /^RefusedAddress: .*an address of this service itself/)
      }).pipe(Effect.provide(outside(options)))
    }).pipe(Effect.scoped))

  it.live("connects to no address of the base URL's name, such as that of a proxy before this machine", () =>
    Effect.gen(function*() {
      const { address } = yield* nameServer(answering(["93.184.216.34"]))
      const network = Network.layerWith({
        ...closed,
        baseUrl: "http://windhover.example",
        nameServers: [address],
        listAddresses: () => []
      })
      yield* Effect.gen(function*() {
        const { guard } = yield* Network.Network
        yield* Effect.sync(() => guard.explainAddress("93.184.216.34")).pipe(
          Effect.repeat({ until: (text) => text !== undefined, schedule: Schedule.spaced("10 millis") }),
          Effect.timeout("5 seconds")
        )
        assert.match(
          yield* failureOf("http://93.184.216.34/"),
          /^RefusedAddress: 93\.184\.216\.34: refused, an address of this service itself/
        )
        assert.match(yield* postTo("http://again.example/"), /^RefusedAddress: again\.example/)
      }).pipe(
        Effect.provide(Layer.mergeAll(FetcherUndici.layer, DelivererHttp.layer).pipe(Layer.provideMerge(network)))
      )
    }).pipe(Effect.scoped))

  live("connects to no metadata service of a cloud, also at its public address", () =>
    Effect.gen(function*() {
      for (const host of ["168.63.129.16", "0xa83f8110", "169.254.169.254", "100.100.100.200", "[fd00:ec2::254]"]) {
        assert.match(yield* failureOf(`http://${host}/metadata`), /^RefusedAddress: /)
      }
    }), closed)

  live("connects to the addresses that the operator names", () =>
    Effect.gen(function*() {
      const origin = yield* serve((_, response) => response.end("mine"))
      assert.strictEqual((yield* fetch(origin.url)).status, 200)
      assert.match(yield* failureOf("http://127.0.0.2/"), /^RefusedAddress: /)
    }), { ...closed, allowedAddresses: ["127.0.0.1/32"] })

  live("follows no redirect to a private address", () =>
    Effect.gen(function*() {
      const victim = yield* serve((_, response) => response.end("secret"))
      const targets = [
        victim.url,
        `http://localhost:${victim.port}/`,
        `http://0x7f.1:${victim.port}/`,
        `//[::1]:${victim.port}/`
      ]
      const site = yield* serve(({ path }, response) => {
        response.writeHead(302, { Location: targets[Number(path.slice(1))] }).end()
      }, { host: publicSite })
      for (const i of targets.keys()) {
        assert.match(
          yield* failureOf(`${site.url}/${i}`),
          /^RefusedAddress: .*: refused, (a private|the name has no public) address/
        )
      }
      assert.strictEqual(site.seen.length, targets.length)
      assert.strictEqual(victim.connections(), 0)
    }), split)

  live("follows no redirect to another scheme, or to a port of another protocol", () =>
    Effect.gen(function*() {
      const targets = ["file:///etc/passwd", "gopher://127.0.0.1:70/", "ftp://127.0.0.1/"]
      const origin = yield* serve(({ path }, response) => {
        response.writeHead(302, { Location: targets[Number(path.slice(1))] }).end()
      })
      for (const i of targets.keys()) {
        const failure = yield* failureOf(`${origin.url}/${i}`)
        assert.strictEqual(
          failure,
          "Redirects: 127.0.0.1: redirects to an address that is not a usable http or https URL"
        )
      }
      const ports = yield* serve((_, response) => response.writeHead(302, { Location: "http://127.0.0.1:25/" }).end())
      assert.match(yield* failureOf(ports.url), /^RefusedAddress: 127\.0\.0\.1: refused, port 25 /)
    }))

  live("ignores proxies in the environment, which would bypass the guard", () =>
    Effect.gen(function*() {
      const proxy = yield* serve((_, response) => response.end("from the proxy"))
      const names = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "NODE_USE_ENV_PROXY"]
      const before = names.map((name) => process.env[name])
      names.forEach((name) => process.env[name] = name === "NODE_USE_ENV_PROXY" ? "1" : proxy.url)
      const failure = yield* failureOf("http://10.0.0.1/").pipe(
        Effect.ensuring(Effect.sync(() =>
          names.forEach((name, i) => {
            const value = before[i]
            if (value === undefined) delete process.env[name]
            else process.env[name] = value
          })
        ))
      )
      assert.match(failure, /^RefusedAddress: 10\.0\.0\.1: /)
      assert.strictEqual(proxy.connections(), 0)
    }), closed)

  live("posts to no port of another protocol", () =>
    Effect.gen(function*() {
      assert.match(yield* postTo("http://127.0.0.1:25/"), /^RefusedAddress: .*port 25 belongs to another protocol/)
      assert.match(yield* failureOf("http://127.0.0.1:6667/"), /^RefusedAddress: .*port 6667/)
    }))

  live("connects to the same addresses if the operator allows it", () =>
    Effect.gen(function*() {
      const origin = yield* serve((_, response) => response.end("mine"))
      assert.strictEqual((yield* fetch(`http://localhost:${origin.port}/`)).status, 200)
      assert.strictEqual((yield* fetch(`http://0x7f.1:${origin.port}/`)).status, 200)
    }))
})
