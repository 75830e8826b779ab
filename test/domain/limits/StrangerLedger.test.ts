import { assert, describe, it } from "@effect/vitest"
import { StrangerLedger } from "#domain/limits/StrangerLedger.ts"

const gibibyte = 1 << 30
const hourMs = 3_600_000

describe("StrangerLedger", () => {
  it("lets the topics of a site fetch a gibibyte, and then four an hour", () => {
    const ledger = new StrangerLedger()
    const fetched = { url: "http://a.evil.example/1", host: "a.evil.example", server: undefined, bytes: gibibyte }
    ledger.recordFetch(fetched, 0)
    assert.strictEqual(ledger.fetchWaitMs("a.evil.example", 0), 0)
    ledger.recordFetch(fetched, 0)
    assert.deepStrictEqual(
      ["a.evil.example", "b.evil.example", "c.example"].map((host) => ledger.fetchWaitMs(host, 0)),
      [hourMs / 4, hourMs / 4, 0]
    )
    assert.strictEqual(ledger.fetchWaitMs("a.evil.example", hourMs / 4), 0)
    for (let i = 0; i < 100; i++) ledger.recordFetch(fetched, hourMs)
    assert.strictEqual(ledger.fetchWaitMs("a.evil.example", hourMs), hourMs, "the debt has a bound")
  })

  it("counts four sites under one address together", () => {
    const ledger = new StrangerLedger()
    const fetch = (n: number) =>
      ledger.recordFetch({
        url: `http://evil${n}.example/`,
        host: `evil${n}.example`,
        server: "5.5.5.5",
        bytes: gibibyte
      }, 0)
    for (let n = 0; n < 4; n++) fetch(n)
    assert.deepStrictEqual([0, 3].map((n) => ledger.fetchWaitMs(`evil${n}.example`, 0)), [0, 0])
    fetch(4)
    assert.deepStrictEqual([0, 4].map((n) => ledger.fetchWaitMs(`evil${n}.example`, 0)), [hourMs / 16, hourMs / 16])
    assert.strictEqual(ledger.fetchWaitMs("evil5.example", 0), 0, "an unknown host has no address yet")
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
