import { assert, describe, it } from "@effect/vitest"
import { StrangerLedger } from "#domain/limits/StrangerLedger.ts"

const gibibyte = 1 << 30
const hourMs = 3_600_000

/** Milliseconds of the pause of a topic; 0 without one. */
const pauseMs = (ledger: StrangerLedger, host: string, now = 0, askers?: ReadonlyArray<string>): number =>
  ledger.findPause({ host, askers }, now)?.waitMs ?? 0

const fetchOf = (host: string, bytes: number, askers?: ReadonlyArray<string>) => ({
  url: `http://${host}/`,
  host,
  askers,
  server: undefined,
  bytes
})

describe("StrangerLedger", () => {
  it("lets the topics of a site fetch a gibibyte, and then four an hour", () => {
    const ledger = new StrangerLedger()
    const fetched = fetchOf("a.evil.example", gibibyte)
    ledger.recordFetch(fetched, 0)
    assert.strictEqual(pauseMs(ledger, "a.evil.example"), 0)
    ledger.recordFetch(fetched, 0)
    assert.deepStrictEqual(
      ["a.evil.example", "b.evil.example", "c.example"].map((host) => pauseMs(ledger, host)),
      [hourMs / 4, hourMs / 4, 0]
    )
    assert.strictEqual(
      ledger.findPause({ host: "a.evil.example" }, 0)?.reason,
      "the topics of evil.example have used up their bytes on this hub"
    )
    assert.strictEqual(pauseMs(ledger, "a.evil.example", hourMs / 4), 0)
    for (let i = 0; i < 100; i++) ledger.recordFetch(fetched, hourMs)
    assert.strictEqual(pauseMs(ledger, "a.evil.example", hourMs), hourMs, "the debt has a bound")
  })

  it("counts four sites under one address together", () => {
    const ledger = new StrangerLedger()
    const fetch = (n: number) => ledger.recordFetch({ ...fetchOf(`evil${n}.example`, gibibyte), server: "5.5.5.5" }, 0)
    for (let n = 0; n < 4; n++) fetch(n)
    assert.deepStrictEqual([0, 3].map((n) => pauseMs(ledger, `evil${n}.example`)), [0, 0])
    fetch(4)
    assert.deepStrictEqual([0, 4].map((n) => pauseMs(ledger, `evil${n}.example`)), [hourMs / 16, hourMs / 16])
    assert.strictEqual(pauseMs(ledger, "evil5.example"), 0, "an unknown host has no address yet")
  })

  it("lets the subscriptions of a client network fetch 4 GiB from any number of sites, and then 16 an hour", () => {
    const ledger = new StrangerLedger()
    const client = ["192.0.2.0/24"]
    const fetch = (n: number) => ledger.recordFetch(fetchOf(`site${n}.example`, gibibyte, client), 0)
    for (let n = 0; n < 4; n++) fetch(n)
    assert.strictEqual(pauseMs(ledger, "other.example", 0, client), 0)
    fetch(4)
    assert.deepStrictEqual(ledger.findPause({ host: "other.example", askers: client }, 0), {
      waitMs: hourMs / 16,
      reason: "the clients that subscribed to this topic have used up their bytes on this hub"
    })
    assert.strictEqual(pauseMs(ledger, "other.example", 0, ["198.51.100.0/24"]), 0)
    assert.strictEqual(pauseMs(ledger, "other.example"), 0, "the askers are unknown")
    assert.strictEqual(pauseMs(ledger, "other.example", hourMs / 16, client), 0)
  })

  it("divides the cost of a topic among its askers, and goes on for the last one with an allowance", () => {
    const ledger = new StrangerLedger()
    const both = ["192.0.2.0/24", "198.51.100.0/24"]
    for (let n = 0; n < 8; n++) ledger.recordFetch(fetchOf(`site${n}.example`, gibibyte, both), 0)
    assert.strictEqual(pauseMs(ledger, "a.example", 0, both), 0, "each has used its 4 GiB")
    ledger.recordFetch(fetchOf("a.example", gibibyte, both.slice(0, 1)), 0)
    assert.deepStrictEqual(
      [both.slice(0, 1), both.slice(1), both].map((askers) => pauseMs(ledger, "a.example", 0, askers)),
      [hourMs / 16, 0, 0]
    )
  })

  it("lets a site, and the subscriptions of a client network, use a quarter of the time for reading", () => {
    const ledger = new StrangerLedger()
    const topic = { host: "a.evil.example", askers: ["192.0.2.0/24"] }
    ledger.recordReading(topic, 120_000, 0)
    assert.strictEqual(pauseMs(ledger, topic.host, 0, topic.askers), 0)
    ledger.recordReading(topic, 15_000, 0)
    assert.deepStrictEqual(ledger.findPause({ host: "b.evil.example" }, 0), {
      waitMs: 60_000,
      reason: "the topics of evil.example have used up their time for reading on this hub"
    })
    assert.deepStrictEqual(ledger.findPause({ host: "other.example", askers: topic.askers }, 0), {
      waitMs: 60_000,
      reason: "the clients that subscribed to this topic have used up their time for reading on this hub"
    })
    assert.strictEqual(pauseMs(ledger, topic.host, 60_000, topic.askers), 0)
  })

  it("forgets a topic whose document is small again", () => {
    const ledger = new StrangerLedger()
    const url = "http://a.example/"
    const record = (bytes: number) => ledger.recordFetch({ url, host: "a.example", server: undefined, bytes }, 0)
    record(100 * gibibyte)
    ledger.recordPing("client", url, "a.example", 0)
    assert.isAbove(ledger.pingWaitMs("client", url, "a.example", 0), 0)
    assert.strictEqual(ledger.pingWaitMs("other", url, "a.example", 0), 0)
    record(1_000)
    assert.strictEqual(ledger.pingWaitMs("client", url, "a.example", 0), 0)
  })
})
