import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import {
  findCommonHost,
  hashWithoutScheme,
  noSeenIds,
  pack,
  remember,
  type Trace,
  unpack
} from "#domain/feed/SeenIds.ts"

const trace = (id: number): Trace => ({ id: BigInt(id), form: BigInt(id + 1_000_000), essence: BigInt(id + 2_000_000) })
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => trace(from + index))

describe("SeenIds", () => {
  it("unpacks packed ids", () => {
    const hash = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
    const traces = fc.uniqueArray(fc.record({ id: hash, form: hash, essence: hash }), { selector: ({ id }) => id })
    fc.assert(fc.property(traces, traces, fc.domain(), fc.array(hash), (before, now, site, strays) => {
      const seen = remember(remember(noSeenIds, before, ""), now, site, { strays })
      const read = unpack(pack(seen))
      assert.isDefined(read)
      assert.deepStrictEqual(
        [read.host, read.window, read.document, read.strays, read.tombstones],
        [site, seen.window, seen.document, seen.strays, seen.tombstones]
      )
      assert.isTrue(strays.every((stray) => read.has(stray)))
      assert.isTrue([...before, ...now].every(({ id }) => read.has(id)))
    }))
  })

  it("gives the same answers for any number of lookups", () => {
    const seen = unpack(pack(remember(remember(noSeenIds, range(0, 10), ""), range(5, 15), "", { strays: [77n] })))
    const asked = [20n, 0n, 14n, 77n, 21n, 4n, 5n, 78n, 9n, 77n, 22n, 0n]
    assert.deepStrictEqual(
      asked.map((id) => seen?.has(id)),
      [false, true, true, true, false, true, true, false, true, true, false, true]
    )
  })

  it("packs like earlier versions", () => {
    const seen = remember(noSeenIds, [{ id: 1n, form: 2n, essence: 3n }], "a.example", { marks: [4n], strays: [5n] })
    const packed = "010901000100000001000000" + Buffer.from("a.example").toString("hex") +
      [1, 2, 3, 5, 4].map((hash) => `0${hash}00000000000000`).join("")
    assert.strictEqual(Buffer.from(pack(seen)).toString("hex"), packed)
    const read = unpack(Buffer.from(packed, "hex"))
    assert.deepStrictEqual([read?.host, read?.window, read?.document, read?.strays, read?.tombstones], [
      "a.example",
      1,
      [{ id: 1n, form: 2n, essence: 3n }],
      [5n],
      [4n]
    ])
  })

  it("unpacks a part of a larger buffer, at any offset", () => {
    const packed = pack(remember(noSeenIds, range(0, 3), "a.example"))
    const whole = new Uint8Array(packed.length + 5)
    whole.set(packed, 3)
    assert.deepStrictEqual(unpack(whole.subarray(3, 3 + packed.length))?.document, range(0, 3))
  })

  it("treats empty and unknown bytes as a first fetch", () => {
    const packed = pack(remember(noSeenIds, range(0, 3), ""))
    assert.isUndefined(unpack(new Uint8Array()))
    assert.isUndefined(unpack(packed.subarray(0, packed.length - 1)))
    assert.isUndefined(unpack(packed.subarray(0, 40)))
    assert.isUndefined(unpack(packed.with(0, 9)))
    assert.isUndefined(unpack(packed.with(2, 1))) // a stray that is not there
    assert.isDefined(unpack(pack(noSeenIds)))
  })

  it("takes 24 bytes per entry and 8 bytes per tombstone", () => {
    const first = pack(remember(noSeenIds, range(0, 25), ""))
    assert.strictEqual(first.length, 12 + 25 * 24)
    const second = pack(remember(remember(noSeenIds, range(0, 25), ""), range(5, 30), ""))
    assert.strictEqual(second.length, first.length + 5 * 8)
  })

  it("remembers an id for three windows, and no longer", () => {
    const window = 100
    let seen = remember(noSeenIds, range(0, window), "")
    for (let gone = 1; gone <= 3 * window; gone++) {
      seen = remember(seen, range(gone, gone + window), "")
      assert.isTrue(seen.has(0n))
    }
    for (let gone = 3 * window + 1; gone <= 10 * window; gone++) seen = remember(seen, range(gone, gone + window), "")
    assert.isFalse(seen.has(0n))
    assert.strictEqual(seen.tombstones.length, 3 * window)
    assert.deepStrictEqual(seen.tombstones.slice(0, 2), [BigInt(10 * window - 1), BigInt(10 * window - 2)])
  })

  it("keeps at least 200 tombstones of a small document", () => {
    let seen = remember(noSeenIds, range(0, 2), "")
    for (let gone = 1; gone <= 300; gone++) seen = remember(seen, range(gone, gone + 2), "")
    assert.strictEqual(seen.tombstones.length, 200)
  })

  it("keeps all ids over an empty document", () => {
    const whole = range(0, 500)
    let seen = remember(noSeenIds, whole, "")
    for (let day = 0; day < 5; day++) seen = remember(seen, [], "")
    assert.isTrue(whole.every(({ id }) => seen.has(id)))
  })

  it("shrinks a window that was large once", () => {
    let seen = remember(noSeenIds, range(0, 5000), "")
    for (let day = 0; day < 200; day++) seen = remember(seen, range(0, 10), "")
    assert.isAtMost(seen.tombstones.length, 200)
  })

  it("keeps marks beside the ids, newest first", () => {
    const seen = remember(remember(noSeenIds, range(0, 2), ""), range(1, 3), "", { marks: [77n] })
    assert.deepStrictEqual(seen.tombstones, [77n, 0n])
    assert.isTrue(seen.has(77n))
  })

  it("keeps the newest 256 strays while entries leave the document", () => {
    let seen = remember(noSeenIds, range(0, 2), "", { strays: [7_000n, 8_000n] })
    for (let gone = 1; gone <= 1000; gone++) seen = remember(seen, range(gone, gone + 2), "")
    assert.deepStrictEqual(seen.strays, [7_000n, 8_000n])
    const more = Array.from({ length: 254 }, (_, i) => BigInt(9_000 + i))
    assert.isTrue(remember(seen, [], "", { strays: more }).has(8_000n))
    const full = remember(seen, [], "", { strays: [...more, 8_000n, 9_999n] })
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
