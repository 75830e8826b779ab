import { assert, describe, it } from "@effect/vitest"
import { Hosts, perHost } from "#actors/Hosts.ts"

const full = (hosts: Hosts, name = "a.example") => {
  for (let id = 1; id <= perHost; id++) assert.isTrue(hosts.enter(name, id))
}

describe("Hosts", () => {
  it("lets two in, and calls who waits in order, each once", () => {
    const hosts = new Hosts()
    full(hosts)
    for (const id of [3, 4, 3, 5]) assert.isFalse(hosts.enter("a.example", id))
    assert.deepStrictEqual(hosts.leave("a.example"), [3])
    assert.isTrue(hosts.enter("a.example", 3))
    assert.deepStrictEqual(hosts.leave("a.example"), [4])
    assert.deepStrictEqual(hosts.leave("a.example"), [5])
  })

  it("a call that nobody follows blocks nothing", () => {
    const hosts = new Hosts()
    full(hosts)
    for (const id of [3, 4, 5]) hosts.enter("a.example", id)
    assert.deepStrictEqual([hosts.leave("a.example"), hosts.leave("a.example")], [[3], [4, 5]])
    assert.isTrue(hosts.enter("a.example", 5))
  })

  it("hosts do not stand in each other's way, and cost nothing once nobody is there", () => {
    const hosts = new Hosts()
    full(hosts, "a.example")
    full(hosts, "b.example")
    assert.strictEqual(hosts.size, 2)
    for (const name of ["a.example", "b.example"]) for (let i = 0; i < perHost; i++) hosts.leave(name)
    assert.strictEqual(hosts.size, 0)
  })

  it("a host is left alone until the latest time that it asked for", () => {
    const hosts = new Hosts()
    hosts.holdOff("a.example", 2000)
    hosts.holdOff("a.example", 1000)
    assert.deepStrictEqual([hosts.heldUntil("a.example", 1999), hosts.heldUntil("a.example", 2000), hosts.size], [
      2000,
      undefined,
      0
    ])
    assert.strictEqual(hosts.heldUntil("b.example", 0), undefined)
  })
})
