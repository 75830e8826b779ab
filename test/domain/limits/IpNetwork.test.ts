import { assert, describe, it } from "@effect/vitest"
import { networksOf, ownerOf } from "#domain/limits/IpNetwork.ts"

describe("IpNetwork", () => {
  it.each([
    ["192.0.2.7", "192.0.2.7", "192.0.2.0/24"],
    ["::ffff:192.0.2.7", "192.0.2.7", "192.0.2.0/24"],
    ["[::ffff:c000:207]", "192.0.2.7", "192.0.2.0/24"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"],
    ["[2001:0DB8::7]", "2001:db8:0:0::/64", "2001:db8:0::/48"],
    ["fe80::1%eth0", "fe80:0:0:0::/64", "fe80:0:0::/48"],
    ["::1", "0:0:0:0::/64", "0:0:0::/48"]
  ])("counts %s as %s and %s", (address, host, customer) => {
    assert.deepStrictEqual(networksOf(address), { host, customer })
  })

  it("finds no network of a name", () => {
    assert.deepStrictEqual(["a.example", "", "1.2.3", "a:b.example"].map(networksOf), Array(4).fill(undefined))
  })

  it("counts names by their registrable domain, and addresses by their network", () => {
    assert.deepStrictEqual(
      ["a.b.example.com", "192.0.2.7", "[2001:db8::1]"].map(ownerOf),
      ["example.com", "192.0.2.0/24", "2001:db8:0::/48"]
    )
  })
})
