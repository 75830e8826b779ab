import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  fetchRecordBytes,
  fetchRecordOf,
  maxFetchRecords,
  packFetchRecord,
  unpackFetchRecords
} from "#domain/poll/FetchRecord.ts"
import type { PollWrite } from "#domain/ports/ResourceStore.ts"
import { initialState } from "#test/support/Resources.ts"

const record = fc.record({
  at: fc.integer({ min: 1, max: 8.64e15 }),
  trigger: fc.constantFrom("ring" as const, "ping" as const, "push" as const, "late" as const),
  code: fc.integer({ min: 0, max: 999 }),
  news: fc.integer({ min: 0, max: 0xffff }),
  failures: fc.integer({ min: 0, max: 0xffff })
})

const write = (change: Partial<PollWrite["state"]>, more: Partial<PollWrite> = {}): PollWrite => ({
  state: { ...initialState(), ...change },
  entries: [],
  updated: [],
  announce: undefined,
  ...more
})

describe("FetchRecord", () => {
  it("gives back packed records, newest first, and no part of one", () => {
    fc.assert(fc.property(fc.array(record, { maxLength: maxFetchRecords }), (records) => {
      const bytes = Buffer.concat([...records.map(packFetchRecord), Buffer.alloc(fetchRecordBytes - 1)])
      assert.deepStrictEqual(unpackFetchRecords(bytes), records)
    }))
  })

  it("tells time, trigger, status and news of a write", () => {
    const fetched = {
      lastFetch: 5_000,
      lastParse: 4_000,
      code: 200,
      http: "Fetched (late) 200 60 and parsed 2/2 entries"
    }
    assert.deepStrictEqual(
      fetchRecordOf(write(fetched, { entries: [{ id: "a" }], updated: [{ id: "b" }] })),
      { at: 5_000, trigger: "late", code: 200, news: 2, failures: 0 }
    )
    const document = { contentType: "text/html", body: new Uint8Array(1) }
    assert.strictEqual(fetchRecordOf(write(fetched, { announce: { _tag: "Document", document } }))?.news, 1)
    assert.strictEqual(fetchRecordOf(write(fetched, { document }))?.news, 1)
    assert.strictEqual(fetchRecordOf(write(fetched))?.news, 0)
    assert.deepStrictEqual(
      fetchRecordOf(write({ lastFetch: 1_000, failures: 3, http: "DNS" })),
      { at: 1_000, trigger: "ring", code: 0, news: 0, failures: 3 }
    )
    assert.strictEqual(fetchRecordOf(write({ http: "Waiting" })), undefined)
  })

  it("bounds numbers that do not fit", () => {
    const packed = packFetchRecord({ at: 1, trigger: "push", code: 200, news: 70_000, failures: 70_000 })
    assert.deepStrictEqual(unpackFetchRecords(packed), [
      { at: 1, trigger: "push", code: 200, news: 65_535, failures: 65_535 }
    ])
  })
})
