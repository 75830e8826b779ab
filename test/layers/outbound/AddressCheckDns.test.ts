import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { AddressCheck } from "#domain/ports/AddressCheck.ts"
import * as AddressCheckDns from "#layers/outbound/AddressCheckDns.ts"
import * as Network from "#layers/outbound/Network.ts"
import { nameServer, type Zone } from "#test/support/NameServer.ts"

const setting = "Windhover connects to public addresses only, unless its operator sets WINDHOVER_ALLOW_PRIVATE=true."

const explain = (url: string, options: Partial<Network.NetworkOptions> = {}) =>
  AddressCheck.use((check) => check.explain(url)).pipe(
    Effect.provide(
      AddressCheckDns.layer.pipe(
        Layer.provide(Network.layerWith({ allowPrivate: false, baseUrl: "http://windhover.example", ...options }))
      )
    )
  )

/** Answers for the names of the tests; `silent.example` gets none. */
const zone: Zone = (type, name) => {
  const addresses = {
    "inside.example": ["10.0.0.5"],
    "both.example": ["10.0.0.5", "93.184.216.34"],
    "outside.example": ["93.184.216.34"]
  }[name]
  if (name === "silent.example") return undefined
  if (name === "failing.example") return { code: "SERVFAIL" }
  if (addresses === undefined) return { code: "NXDOMAIN" }
  return { addresses: type === "A" ? addresses : [], ttl: 60 }
}

const explainName = (name: string) =>
  Effect.flatMap(nameServer(zone), ({ address }) => explain(`http://${name}/feed`, { nameServers: [address] }))

describe("AddressCheckDns", () => {
  const literals: ReadonlyArray<readonly [url: string, text: string]> = [
    ["http://127.0.0.1:8080/", "127.0.0.1 is a loopback address."],
    ["http://127.1/", "127.0.0.1 is a loopback address."],
    ["http://2130706433/", "127.0.0.1 is a loopback address."],
    ["http://[::1]/", "::1 is a loopback address."],
    ["http://[::ffff:10.0.0.1]/", "::ffff:a00:1 is an IPv4-mapped address."],
    ["https://10.1.2.3/", "10.1.2.3 is a private address."],
    ["http://169.254.169.254/", "169.254.169.254 is a link-local address."],
    ["http://localhost/", "localhost is this machine itself."],
    ["http://LOCALHOST.:3000/", "localhost is this machine itself."],
    ["http://app.localhost/", "app.localhost is this machine itself."]
  ]

  for (const [url, text] of literals) {
    it.live(`explains ${url}`, () =>
      Effect.map(explain(url), (explained) => assert.strictEqual(explained, `${text} ${setting}`)))
  }

  it.live("explains a port of another protocol, and passes the ports of HTTP", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* explain("http://93.184.216.34:25/"),
        "The port 25 belongs to another protocol than HTTP."
      )
      assert.isUndefined(yield* explain("http://93.184.216.34:8080/"))
      assert.isUndefined(yield* explain("https://93.184.216.34/"))
    }))

  it.live("explains a name without public addresses, and keeps the addresses to itself", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* explainName("inside.example"),
        `The name inside.example has addresses of this machine, of a private network or of special use only. ${setting}`
      )
    }).pipe(Effect.scoped))

  it.live("explains addresses of this machine, of a metadata service and of the base URL", () =>
    Effect.gen(function*() {
      const { address } = yield* nameServer(zone)
      const options = {
        baseUrl: "http://outside.example:8080",
        nameServers: [address],
        listAddresses: () => ["198.41.0.4", "2a00:1450:0::99"]
      }
      assert.strictEqual(
        yield* explain("http://198.41.0.4/", options),
        `198.41.0.4 is an address of this service itself. ${setting}`
      )
      assert.strictEqual(
        yield* explain("http://[2a00:1450::99]/", options),
        `2a00:1450::99 is an address of this service itself. ${setting}`
      )
      assert.strictEqual(
        yield* explain("http://168.63.129.16/", options),
        `168.63.129.16 is an address of a cloud's metadata service. ${setting}`
      )
      assert.isUndefined(yield* explain("http://198.41.0.4/", { ...options, allowPrivate: true }))
      assert.isUndefined(yield* explain("http://198.41.0.4/", { ...options, allowedAddresses: ["198.41.0.0/24"] }))
    }).pipe(Effect.scoped))

  for (const name of ["both.example", "outside.example", "missing.example", "failing.example"]) {
    it.live(`passes ${name}`, () =>
      Effect.scoped(Effect.map(explainName(name), (explained) => assert.isUndefined(explained))))
  }

  it.live("passes a name whose name server is silent", () =>
    Effect.scoped(Effect.map(explainName("silent.example"), (explained) => assert.isUndefined(explained))))

  it.live("passes each address when private addresses are allowed", () =>
    Effect.gen(function*() {
      for (const [url] of literals) assert.isUndefined(yield* explain(url, { allowPrivate: true }))
    }))
})
