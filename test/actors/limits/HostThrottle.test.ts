import { assert, describe, it } from "@effect/vitest"
import { HostThrottle } from "#actors/limits/HostThrottle.ts"
import { maxFetchesPerHost } from "#domain/limits/HostPoliteness.ts"

const fill = (throttle: HostThrottle, name = "a.example") => {
  for (let id = 1; id <= maxFetchesPerHost; id++) assert.strictEqual(throttle.enter(name, id, 0), 0)
}

describe("HostThrottle", () => {
  it("runs two fetches of a host, and calls waiting resources in order, each once", () => {
    const throttle = new HostThrottle(0)
    fill(throttle)
    for (const id of [3, 4, 3, 5]) assert.strictEqual(throttle.enter("a.example", id, 0), 60_000)
    assert.deepStrictEqual(throttle.leave("a.example", 0), [3])
    assert.strictEqual(throttle.enter("a.example", 3, 0), 0)
    assert.deepStrictEqual(throttle.leave("a.example", 0), [4])
    assert.deepStrictEqual(throttle.leave("a.example", 0), [5])
  })

  it("is not blocked by a resource that ignores its call", () => {
    const throttle = new HostThrottle(0)
    fill(throttle)
    for (const id of [3, 4, 5]) throttle.enter("a.example", id, 0)
    assert.deepStrictEqual([throttle.leave("a.example", 0), throttle.leave("a.example", 0)], [[3], [4, 5]])
    assert.strictEqual(throttle.enter("a.example", 5, 0), 0)
  })

  it("keeps hosts independent, and forgets hosts without fetches", () => {
    const throttle = new HostThrottle(50)
    fill(throttle, "a.example")
    fill(throttle, "b.example")
    assert.strictEqual(throttle.size, 2)
    for (const name of ["a.example", "b.example"]) {
      for (let i = 0; i < maxFetchesPerHost; i++) throttle.leave(name, 1_000)
    }
    for (let i = 0; i < 10_000; i++) {
      throttle.enter(`${i}.example`, i, i)
      throttle.leave(`${i}.example`, i)
      assert.isAtMost(throttle.size, 110) // each host is kept for the 50 ms after its fetch
    }
  })

  it("starts ten fetches of a host at once, and each further one 50 ms later", () => {
    const throttle = new HostThrottle(50)
    const started: Array<number> = []
    const alarms = new Map(Array.from({ length: 30 }, (_, id) => [id, 1_000]))
    for (let now = 1_000; alarms.size > 0; now++) {
      for (const [id, at] of alarms) {
        if (at > now) continue
        const wait = throttle.enter("a.example", id, now)
        if (wait > 0) {
          alarms.set(id, wait)
          continue
        }
        alarms.delete(id)
        started.push(now - 1_000)
        throttle.leave("a.example", now) // at once
      }
    }
    assert.deepStrictEqual(started.slice(0, 10), Array.from({ length: 10 }, () => 0))
    assert.deepStrictEqual(started.slice(10), Array.from({ length: 20 }, (_, i) => 50 * (i + 1)))
  })

  it("spaces fetches by at most five minutes", () => {
    const throttle = new HostThrottle(50)
    const waits = Array.from({ length: 20_000 }, (_, id) => {
      const wait = throttle.enter("a.example", id, 0)
      if (wait === 0) throttle.leave("a.example", 0)
      return wait
    })
    assert.deepStrictEqual([Math.max(...waits), waits.filter((wait) => wait === 300_000).length > 13_000], [
      300_000,
      true
    ])
  })

  it("pauses a host until the latest time that it asked for, and postpones due resources by the length of the pause", () => {
    const throttle = new HostThrottle(50)
    throttle.pause("a.example", 500, 2000)
    throttle.pause("a.example", 600, 1000)
    assert.deepStrictEqual(
      [500, 700, 1999, 2000].map((now) => throttle.postponeIfPaused("a.example", now, now)),
      [2000, 2200, 3499, undefined]
    )
    throttle.pause("a.example", 3000, 3000)
    assert.isUndefined(throttle.postponeIfPaused("b.example", 1, 0))
    // a much later pause postpones the resource again, although it has sat out the first pause
    throttle.pause("a.example", 10_000_000, 10_001_000)
    assert.strictEqual(throttle.postponeIfPaused("a.example", 500, 10_000_000), 10_001_000)
  })

  it("pauses a host for a minute after one refusal, and for the common time after refusals of two resources", () => {
    const throttle = new HostThrottle(50)
    const minute = 60_000
    const refuse = (id: number, since: number, until: number) => throttle.refuse("a.example", id, since, until)
    // the pause ends with a short time, and after a minute with a long one
    assert.strictEqual(throttle.refuse("b.example", 9, 0, 10_000), 10_000)
    assert.strictEqual(refuse(1, 0, 10 * minute), minute)
    assert.strictEqual(refuse(1, 2 * minute, 20 * minute), 2 * minute)
    assert.strictEqual(refuse(2, 3 * minute, 60 * minute), 20 * minute)
    assert.strictEqual(refuse(3, 4 * minute, 5 * minute), 5 * minute)
    // the earlier resource's time is over
    assert.strictEqual(refuse(4, 10 * minute, 30 * minute), 11 * minute)
    assert.strictEqual(refuse(4, 69 * minute, 90 * minute), 69 * minute)
    assert.strictEqual(refuse(4, 70 * minute, 90 * minute), 71 * minute)
    assert.strictEqual(throttle.postponeIfPaused("a.example", 4, 80 * minute), 90 * minute)
    assert.strictEqual(throttle.postponeIfPaused("a.example", 4, 90 * minute), undefined)
    assert.strictEqual(throttle.postponeIfPaused("a.example", 5, 80 * minute), undefined)
  })

  it("serves the other resources although one causes pauses for ever: a postponed resource probes the host, one a minute", () => {
    const throttle = new HostThrottle(50)
    const minute = 60_000
    const pause = 60 * minute
    const started = new Map<number, Array<number>>()
    const alarms = new Map(Array.from({ length: 20 }, (_, id) => [id, id * 1_000]))
    for (let now = 0; now < 4 * pause; now += 1_000) {
      for (const [id, at] of alarms) {
        if (at > now) continue
        const later = throttle.postponeIfPaused("a.example", id, now)
        const wait = later ?? throttle.enter("a.example", id, now)
        if (wait > 0) {
          alarms.set(id, wait)
          continue
        }
        throttle.leave("a.example", now)
        started.set(id, [...started.get(id) ?? [], now])
        if (id === 0) throttle.pause("a.example", now, now + pause) // each fetch of this resource is refused
        alarms.set(id, now + (id === 0 ? pause : minute))
      }
    }
    for (let id = 1; id < 20; id++) assert.isAtLeast(started.get(id)?.length ?? 0, 2, `resource ${id}`)
    const others = [...started].flatMap(([id, times]) => id === 0 ? [] : times).toSorted((a, b) => a - b)
    const minutes = Map.groupBy(others.filter((at) => at >= pause + minute), (at) => Math.floor(at / minute))
    assert.deepStrictEqual([...minutes.values()].filter((times) => times.length > 2), [])
  })
})
