import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import {
  findCommonHost,
  hashWithoutScheme,
  noSeenIds,
  pack,
  remember,
  type SeenDocument,
  type SeenIds,
  type Trace,
  unpack
} from "#domain/feed/SeenIds.ts"

const trace = (id: number): Trace => ({
  id: BigInt(id),
  form: BigInt(id + 1_000_000),
  essence: BigInt(id + 2_000_000),
  content: 0
})
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => trace(from + index))

const DAY = 86_400_000
const NOW = 20_000 * DAY
const see = (previous: SeenIds, traces: ReadonlyArray<Trace>, host = "", others: Partial<SeenDocument> = {}): SeenIds =>
  remember(previous, { traces, size: traces.length, host, now: NOW, ...others })

describe("SeenIds", () => {
  it("unpacks packed ids", () => {
    const hash = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
    const content = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2 ** 32 - 1 }))
    const traces = fc.uniqueArray(fc.record({ id: hash, form: hash, essence: hash, content }), {
      selector: ({ id }) => id
    })
    fc.assert(fc.property(traces, traces, traces, fc.domain(), fc.array(hash), (first, before, now, site, strays) => {
      const seen = see(see(see(noSeenIds, first), before), now, site, { strays, now: NOW + 40 * DAY })
      const read = unpack(pack(seen))
      assert.isDefined(read)
      const plain = ({ getContent: _, has: __, ...fields }: SeenIds) => fields
      assert.deepStrictEqual(plain(read), plain(seen))
      assert.isTrue(strays.every((stray) => read.has(stray)))
      assert.isTrue([...first, ...before, ...now].every(({ id }) => read.has(id)))
      assert.isTrue(now.every(({ content, id }) => read.getContent(id) === content))
    }))
  })

  it("gives the same answers for any number of lookups", () => {
    const seen = unpack(pack(see(see(noSeenIds, range(0, 10), ""), range(5, 15), "", { strays: [77n] })))
    const asked = [20n, 0n, 14n, 77n, 21n, 4n, 5n, 78n, 9n, 77n, 22n, 0n]
    assert.deepStrictEqual(
      asked.map((id) => seen?.has(id)),
      [false, true, true, true, false, true, true, false, true, true, false, true]
    )
  })

  it("packs like earlier versions", () => {
    const [one, two] = [{ id: 1n, form: 2n, essence: 3n, content: 9 }, { id: 6n, form: 7n, essence: 8n, content: 0 }]
    const seen = see(see(noSeenIds, [one]), [two], "a.example", { strays: [5n] })
    const packed = "020901000100000001000000" + "0100000000000000" + "00000000ccbfd941" +
      Buffer.from("a.example").toString("hex") + [6, 7, 8, 5, 1].map((hash) => `0${hash}00000000000000`).join("") +
      "0000000009000000"
    assert.strictEqual(Buffer.from(pack(seen)).toString("hex"), packed)
    const read = unpack(Buffer.from(packed, "hex"))
    assert.deepStrictEqual(
      [read?.host, read?.window, read?.previousWindow, read?.periodStart, read?.recent, read?.strays, read?.tombstones],
      ["a.example", 1, 0, NOW / 1000, [two], [5n], [{ id: 1n, content: 9 }]]
    )
    assert.deepStrictEqual([read?.getContent(1n), read?.getContent(6n), read?.getContent(77n)], [9, 0, 0])
  })

  it("unpacks a part of a larger buffer, at any offset", () => {
    const packed = pack(see(noSeenIds, range(0, 3), "a.example"))
    const whole = new Uint8Array(packed.length + 5)
    whole.set(packed, 3)
    assert.deepStrictEqual(unpack(whole.subarray(3, 3 + packed.length))?.recent, range(0, 3))
  })

  it("treats empty and unknown bytes as a first fetch", () => {
    const packed = pack(see(noSeenIds, range(0, 3), ""))
    assert.isUndefined(unpack(new Uint8Array()))
    assert.isUndefined(unpack(packed.subarray(0, packed.length - 1)))
    assert.isUndefined(unpack(packed.subarray(0, 40)))
    assert.isUndefined(unpack(packed.with(0, 9)))
    assert.isUndefined(unpack(packed.with(2, 1))) // a stray that is not there
    assert.isDefined(unpack(pack(noSeenIds)))
  })

  it("takes 28 bytes per recent entry and 8 bytes per tombstone, or 12 if an entry had an update date", () => {
    const first = pack(see(noSeenIds, range(0, 25)))
    assert.strictEqual(first.length, 28 + 25 * 28)
    const second = see(see(noSeenIds, range(0, 25)), range(5, 30))
    assert.strictEqual(pack(second).length, first.length + 5 * 8)
    const dated = see(second, [{ ...trace(30), content: 7 }, ...range(6, 30)])
    assert.strictEqual(pack(dated).length, first.length + 6 * 8)
    assert.strictEqual(pack(see(dated, range(40, 65))).length, first.length + 31 * 12)
  })

  it("remembers an id for three windows, and no longer", () => {
    const window = 100
    let seen = see(noSeenIds, range(0, window))
    for (let gone = 1; gone <= 3 * window; gone++) {
      seen = see(seen, range(gone, gone + window))
      assert.isTrue(seen.has(0n))
    }
    for (let gone = 3 * window + 1; gone <= 10 * window; gone++) seen = see(seen, range(gone, gone + window))
    assert.isFalse(seen.has(0n))
    assert.strictEqual(seen.tombstones.length, 3 * window)
    assert.deepStrictEqual(seen.tombstones.slice(0, 2).map(({ id }) => id), [
      BigInt(10 * window - 1),
      BigInt(10 * window - 2)
    ])
  })

  it("keeps at least 200 tombstones of a small document", () => {
    let seen = see(noSeenIds, range(0, 2))
    for (let gone = 1; gone <= 300; gone++) seen = see(seen, range(gone, gone + 2))
    assert.strictEqual(seen.tombstones.length, 200)
  })

  it.each([300, 1_300, 5_000])("keeps all %i ids over any number of empty or short documents", (size) => {
    const whole = range(0, size)
    let seen = see(noSeenIds, whole)
    for (let minute = 0; minute < 100; minute++) {
      seen = see(seen, minute % 2 === 0 ? [] : whole.slice(0, 10), "", { now: NOW + minute * 60_000 })
    }
    assert.isTrue(whole.every(({ id }) => seen.has(id)))
    assert.deepStrictEqual(new Set(seen.recent.map(({ essence }) => essence)).size, size)
  })

  it("keeps a window for a month after the last large document, and then shrinks", () => {
    let seen = see(noSeenIds, range(0, 5000))
    for (let day = 1; day < 60; day++) {
      seen = see(seen, range(day, 10 + day), "", { now: NOW + day * DAY })
      assert.isTrue(seen.has(4_999n))
    }
    for (let day = 60; day < 70; day++) seen = see(seen, range(day, 10 + day), "", { now: NOW + day * DAY })
    assert.deepStrictEqual([seen.recent.length, seen.tombstones.length], [10, 200])
  })

  it("learns no smaller window from a part of a feed", () => {
    let seen = see(noSeenIds, range(0, 500))
    for (let day = 1; day < 200; day++) seen = see(seen, [trace(0)], "", { now: NOW + day * DAY, isPartial: true })
    assert.deepStrictEqual([seen.window, seen.recent.length, seen.has(499n)], [500, 500, true])
  })

  it("is bounded for any documents", () => {
    let seen = noSeenIds
    for (let round = 0; round < 12; round++) {
      const document = range(round * 5_000, (round + 1) * 5_000).map((one) => ({ ...one, content: 1 }))
      seen = see(seen, document, "a.example", { strays: document.map(({ id }) => id) })
    }
    assert.deepStrictEqual([seen.recent.length, seen.tombstones.length], [5_000, 15_000])
    assert.strictEqual(pack(seen).length, 28 + 9 + 5_000 * 28 + 15_000 * 12 + 256 * 8)
  })

  it("keeps the newest 256 strays while entries leave the document", () => {
    let seen = see(noSeenIds, range(0, 2), "", { strays: [7_000n, 8_000n] })
    for (let gone = 1; gone <= 1000; gone++) seen = see(seen, range(gone, gone + 2), "")
    assert.deepStrictEqual(seen.strays, [7_000n, 8_000n])
    const more = Array.from({ length: 254 }, (_, i) => BigInt(9_000 + i))
    assert.isTrue(see(seen, [], "", { strays: more }).has(8_000n))
    const full = see(seen, [], "", { strays: [...more, 8_000n, 9_999n] })
    assert.deepStrictEqual([full.strays.length, full.has(8_000n), full.has(7_000n)], [256, true, false])
  })

  it("gives one form to http and https, and none to other ids", () => {
    assert.strictEqual(hashWithoutScheme("http://A.example/1?x"), hashWithoutScheme("https://a.example/1?x"))
    assert.notStrictEqual(hashWithoutScheme("http://a.example/1"), hashWithoutScheme("http://a.example/2"))
    assert.notStrictEqual(hashWithoutScheme("http://a.example/a"), hashWithoutScheme("http://a.example/A"))
    assert.strictEqual(hashWithoutScheme("tag:a.example,2005:1"), 0n)
    assert.strictEqual(hashWithoutScheme("http-a-example-1"), 0n)
  })

  it("gives the form of an id on another host, but none to a home page", () => {
    assert.strictEqual(
      hashWithoutScheme("https://new.example/1", "old.example"),
      hashWithoutScheme("http://old.example/1")
    )
    assert.strictEqual(hashWithoutScheme("https://new.example/", "old.example"), 0n)
  })

  it("knows the host of a document only if there is one host", () => {
    assert.strictEqual(findCommonHost(["http://a.example/1", "https://A.example/2", "guid"]), "a.example")
    assert.strictEqual(findCommonHost(["http://a.example/1", "http://b.example/2"]), "")
    assert.strictEqual(findCommonHost(["guid"]), "")
  })
})
