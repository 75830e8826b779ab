import { assert, describe, it } from "@effect/vitest"
import { HostThrottle, maxFetchesPerHost } from "#actors/limits/HostThrottle.ts"

const full = (hosts: HostThrottle, name = "a.example") => {
  for (let id = 1; id <= maxFetchesPerHost; id++) assert.strictEqual(hosts.enter(name, id, 0), 0)
}

describe("Hosts", () => {
  it("lets two in, and calls who waits in order, each once", () => {
    const hosts = new HostThrottle(0)
    full(hosts)
    for (const id of [3, 4, 3, 5]) assert.strictEqual(hosts.enter("a.example", id, 0), 60_000)
    assert.deepStrictEqual(hosts.leave("a.example", 0), [3])
    assert.strictEqual(hosts.enter("a.example", 3, 0), 0)
    assert.deepStrictEqual(hosts.leave("a.example", 0), [4])
    assert.deepStrictEqual(hosts.leave("a.example", 0), [5])
  })

  it("a call that nobody follows blocks nothing", () => {
    const hosts = new HostThrottle(0)
    full(hosts)
    for (const id of [3, 4, 5]) hosts.enter("a.example", id, 0)
    assert.deepStrictEqual([hosts.leave("a.example", 0), hosts.leave("a.example", 0)], [[3], [4, 5]])
    assert.strictEqual(hosts.enter("a.example", 5, 0), 0)
  })

  it("hosts do not stand in each other's way, and cost nothing once nobody is there", () => {
    const hosts = new HostThrottle(50)
    full(hosts, "a.example")
    full(hosts, "b.example")
    assert.strictEqual(hosts.size, 2)
    for (const name of ["a.example", "b.example"]) for (let i = 0; i < maxFetchesPerHost; i++) hosts.leave(name, 1_000)
    for (let i = 0; i < 10_000; i++) {
      hosts.enter(`${i}.example`, i, i)
      hosts.leave(`${i}.example`, i)
      assert.isAtMost(hosts.size, 110) // each is needed for the 50 ms after its fetch
    }
  })

  it("ten fetches of a host begin at once, each further one 50 ms after the one before it, at a time of its own", () => {
    const hosts = new HostThrottle(50)
    const begun: Array<number> = []
    const alarms = new Map(Array.from({ length: 30 }, (_, id) => [id, 1_000]))
    for (let now = 1_000; alarms.size > 0; now++) {
      for (const [id, at] of alarms) {
        if (at > now) continue
        const wait = hosts.enter("a.example", id, now)
        if (wait > 0) {
          alarms.set(id, wait)
          continue
        }
        alarms.delete(id)
        begun.push(now - 1_000)
        hosts.leave("a.example", now) // which takes no time here
      }
    }
    assert.deepStrictEqual(begun.slice(0, 10), Array.from({ length: 10 }, () => 0))
    assert.deepStrictEqual(begun.slice(10), Array.from({ length: 20 }, (_, i) => 50 * (i + 1)))
  })

  it("of very many nobody waits for longer than five minutes because of the spacing", () => {
    const hosts = new HostThrottle(50)
    const waits = Array.from({ length: 20_000 }, (_, id) => {
      const wait = hosts.enter("a.example", id, 0)
      if (wait === 0) hosts.leave("a.example", 0)
      return wait
    })
    assert.deepStrictEqual([Math.max(...waits), waits.filter((wait) => wait === 300_000).length > 13_000], [
      300_000,
      true
    ])
  })

  it("a host is left alone until the latest time that it asked for; who comes due meanwhile is put off by the length of that", () => {
    const hosts = new HostThrottle(50)
    hosts.pause("a.example", 500, 2000)
    hosts.pause("a.example", 600, 1000)
    assert.deepStrictEqual(
      [500, 700, 1999, 2000].map((now) => hosts.pausedUntil("a.example", now, now)),
      [2000, 2200, 3499, undefined]
    )
    hosts.pause("a.example", 3000, 3000)
    assert.isUndefined(hosts.pausedUntil("b.example", 1, 0))
    // who sat that pause out is no better off in one that begins long after it
    hosts.pause("a.example", 10_000_000, 10_001_000)
    assert.strictEqual(hosts.pausedUntil("a.example", 500, 10_000_000), 10_001_000)
  })

  it("a resource that is refused each time keeps nobody else away: who has sat one pause out is let in, one a minute", () => {
    const hosts = new HostThrottle(50)
    const minute = 60_000
    const pause = 60 * minute
    const begun = new Map<number, Array<number>>()
    const alarms = new Map(Array.from({ length: 20 }, (_, id) => [id, id * 1_000]))
    for (let now = 0; now < 4 * pause; now += 1_000) {
      for (const [id, at] of alarms) {
        if (at > now) continue
        const later = hosts.pausedUntil("a.example", id, now)
        const wait = later ?? hosts.enter("a.example", id, now)
        if (wait > 0) {
          alarms.set(id, wait)
          continue
        }
        hosts.leave("a.example", now)
        begun.set(id, [...begun.get(id) ?? [], now])
        if (id === 0) hosts.pause("a.example", now, now + pause) // refused, whenever it comes
        alarms.set(id, now + (id === 0 ? pause : minute))
      }
    }
    for (let id = 1; id < 20; id++) assert.isAtLeast(begun.get(id)?.length ?? 0, 2, `resource ${id}`)
    const others = [...begun].flatMap(([id, times]) => id === 0 ? [] : times).toSorted((a, b) => a - b)
    const minutes = Map.groupBy(others.filter((at) => at >= pause + minute), (at) => Math.floor(at / minute))
    assert.deepStrictEqual([...minutes.values()].filter((times) => times.length > 2), [])
  })
})
