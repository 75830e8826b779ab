import { assert, describe, it } from "@effect/vitest"
import { ConnectionLimits } from "#layers/server/ConnectionLimits.ts"

const enter = (count: number, connections: ConnectionLimits, address: string) =>
  Array.from({ length: count }, () => connections.tryEnter(address)).filter((leave) => leave !== undefined)

describe("ConnectionLimits", () => {
  it.each([
    ["an address", "203.0.113.1", "203.0.113.2"],
    ["an IPv4-mapped address", "::ffff:203.0.113.1", "::ffff:203.0.113.2"],
    ["an IPv6 network", "2a00:1:2:3::1", "2a00:1:2:4::1"]
  ])("limits the connections of %s", (_, one, other) => {
    const connections = new ConnectionLimits({ maxPerAddress: 2, maxTotal: 10 }, () => false)
    const [leave] = enter(3, connections, one)
    assert.isUndefined(connections.tryEnter(one))
    assert.isDefined(connections.tryEnter(other))
    leave?.()
    assert.isDefined(connections.tryEnter(one))
    assert.isUndefined(connections.tryEnter(one))
  })

  it("counts an IPv6 /64 network as one address", () => {
    const connections = new ConnectionLimits({ maxPerAddress: 2, maxTotal: 10 }, () => false)
    assert.strictEqual(enter(2, connections, "2a00:1:2:3::1").length, 2)
    assert.isUndefined(connections.tryEnter("2a00:1:2:3:ffff::"))
  })

  it.each(["127.0.0.1", "::1", "10.0.0.1", "172.17.0.1", "fd00::1", "198.51.99.9", ""])(
    "limits %s, a possible proxy, by the total only",
    (address) => {
      const connections = new ConnectionLimits({ maxPerAddress: 2, maxTotal: 10 }, (one) => one === "198.51.99.9")
      assert.strictEqual(enter(12, connections, address).length, 10)
      assert.isUndefined(connections.tryEnter("203.0.113.1"))
    }
  )
})
