import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { anyAddress, publicAddressesOnly } from "#layers/outbound/AddressGuard.ts"

describe("AddressGuard", () => {
  const rejected: ReadonlyArray<readonly [address: string, word: string]> = [
    ["127.0.0.1", "loopback"],
    ["127.255.255.254", "loopback"],
    ["0.0.0.0", "unspecified"],
    ["0.1.2.3", "unspecified"],
    ["10.0.0.1", "private"],
    ["172.16.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.168.1.1", "private"],
    ["169.254.169.254", "link-local"],
    ["100.64.0.1", "carrier-grade NAT"],
    ["224.0.0.1", "multicast"],
    ["255.255.255.255", "broadcast"],
    ["240.0.0.1", "reserved"],
    ["192.0.2.1", "reserved"],
    ["198.51.100.7", "reserved"],
    ["203.0.113.9", "reserved"],
    ["198.18.0.1", "reserved"],
    ["192.0.0.8", "reserved"],
    ["::", "unspecified"],
    ["::1", "loopback"],
    ["::127.0.0.1", "IPv4-mapped"],
    ["::7f00:1", "reserved"],
    ["::ffff:127.0.0.1", "IPv4-mapped"],
    ["::ffff:8.8.8.8", "IPv4-mapped"],
    ["::ffff:0:10.0.0.1", "IPv4-translated"],
    ["64:ff9b::7f00:1", "NAT64"],
    ["64:ff9b:1::a00:1", "NAT64"],
    ["2002:7f00:1::1", "6to4"],
    ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"],
    ["fc00::1", "unique local"],
    ["fd12:3456::1", "unique local"],
    ["fe80::1", "link-local"],
    ["fe80::1%eth0", "link-local"],
    ["fec0::1", "site-local"],
    ["ff02::1", "multicast"],
    ["2001:db8::1", "reserved"],
    ["3fff::1", "reserved"],
    ["4000::1", "reserved"],
    ["5f00::1", "special use"],
    ["not an address", "not an IP address"]
  ]

  for (const [address, word] of rejected) {
    it(`rejects ${address} as ${word}`, () => {
      assert.include(publicAddressesOnly.explainAddress(address) ?? "allowed", word)
    })
  }

  for (
    const address of [
      "8.8.8.8",
      "1.1.1.1",
      "172.15.0.1",
      "172.32.0.1",
      "100.128.0.1",
      "2606:4700::1111",
      "2a00:1450::1"
    ]
  ) {
    it(`allows ${address}`, () => {
      assert.isUndefined(publicAddressesOnly.explainAddress(address))
    })
  }

  it("rejects every address in 10/8, 127/8 and 192.168/16, also in IPv6 notation", () => {
    const octet = fc.integer({ min: 0, max: 255 })
    const head = fc.constantFrom("10", "127")
    fc.assert(fc.property(head, octet, octet, octet, (a, b, c, d) => {
      const quad = `${a}.${b}.${c}.${d}`
      const hex = `${(Number(a) * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
      for (
        const address of [quad, `192.168.${c}.${d}`, `::ffff:${quad}`, `::${hex}`, `64:ff9b::${hex}`, `2002:${hex}::1`]
      ) {
        assert.isDefined(publicAddressesOnly.explainAddress(address), address)
      }
    }))
  })

  it("rejects the ports of other protocols on any address", () => {
    for (const guard of [publicAddressesOnly, anyAddress]) {
      assert.include(guard.explainPort(25) ?? "", "port 25 belongs to another protocol")
      assert.isDefined(guard.explainPort(6667))
      assert.isUndefined(guard.explainPort(80))
      assert.isUndefined(guard.explainPort(443))
      assert.isUndefined(guard.explainPort(8080))
    }
  })

  it("allows all addresses if the operator permits it", () => {
    assert.isUndefined(anyAddress.explainAddress("127.0.0.1"))
    assert.isUndefined(anyAddress.explainAddress("10.0.0.1"))
  })
})
