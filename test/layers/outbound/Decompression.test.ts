import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { randomBytes } from "node:crypto"
import zlib from "node:zlib"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import { codingsOf } from "#layers/outbound/CompressionFormat.ts"
import { decompress, DecompressionError } from "#layers/outbound/Decompression.ts"

const text = Buffer.from("<rss><channel><title>Grüße</title></channel></rss>".repeat(20))
const binary = Buffer.from([0, 1, 2, 3, 250, 251])

const read = (bytes: Uint8Array, encoding?: string, contentType = "text/xml", maxBytes = 1 << 20, whole = true) =>
  decompress({
    bytes,
    encoding,
    contentType,
    maxBytes,
    isComplete: whole,
    reservation: new MemoryBudget().reserve("a.example")
  })

/** A result that came synchronously. */
const now = (answer: Uint8Array | Promise<Uint8Array>): Buffer => {
  if (answer instanceof Promise) throw new Error("answered later")
  return Buffer.from(answer)
}

const failure = async (bytes: Uint8Array, encoding: string, maxBytes = 1 << 20) => {
  try {
    await read(bytes, encoding, "text/xml", maxBytes)
  } catch (error) {
    if (error instanceof DecompressionError) return error
  }
  throw new Error("no DecompressionError")
}

describe("Decompression", () => {
  it("decompresses gzip, br, zstd and deflate, with and without its frame", () => {
    assert.deepStrictEqual(now(read(zlib.gzipSync(text), "gzip")), text)
    assert.deepStrictEqual(now(read(zlib.gzipSync(text), "X-GZIP")), text)
    assert.deepStrictEqual(now(read(zlib.brotliCompressSync(text), "br")), text)
    assert.deepStrictEqual(now(read(zlib.zstdCompressSync(text), "zstd")), text)
    assert.deepStrictEqual(now(read(zlib.deflateSync(text), "deflate")), text)
    assert.deepStrictEqual(now(read(zlib.deflateRawSync(text), "deflate")), text)
  })

  it("decompresses a brotli stream that begins with a bracket", async () => {
    const large = Buffer.from(Array.from({ length: 20_000 }, (_, i) => `${i * i},`).join(""))
    const packed = zlib.brotliCompressSync(large)
    assert.strictEqual(packed.toString("latin1", 0, 1), "[")
    assert.isTrue(Buffer.from(await read(packed, "br")).equals(large))
  })

  it("removes several codings, the last first", () => {
    assert.deepStrictEqual(codingsOf("gzip, br,identity"), ["br", "gzip"])
    assert.deepStrictEqual(now(read(zlib.brotliCompressSync(zlib.gzipSync(text)), "gzip, br")), text)
    assert.deepStrictEqual(now(read(zlib.gzipSync(zlib.gzipSync(text)), "gzip, gzip")), text)
  })

  it("decompresses gzip that was applied twice and named once", () => {
    assert.deepStrictEqual(now(read(zlib.gzipSync(zlib.gzipSync(text)), "gzip")), text)
  })

  it("returns an uncompressed body unchanged if the header names a compression", () => {
    assert.deepStrictEqual(now(read(text, "gzip")), text)
    assert.deepStrictEqual(now(read(text, "br")), text)
    assert.deepStrictEqual(now(read(text, "zstd")), text)
    assert.deepStrictEqual(now(read(text, "deflate")), text)
    assert.deepStrictEqual(now(read(text, "utf-8")), text)
    assert.deepStrictEqual(now(read(Buffer.from("\ufeff {}"), "br")), Buffer.from("\ufeff {}"))
  })

  it("ignores names that are no compression", () => {
    const csv = Buffer.from("date,price\n2026-01-01,1.50\n")
    for (
      const name of ["aws-chunked", "UTF-8", "none", "binary", "", "ISO-8859-1", "text/csv", "7bit", "x".repeat(60_000)]
    ) {
      assert.deepStrictEqual(now(read(csv, name, "text/csv")), csv, name)
      assert.deepStrictEqual(now(read(binary, name, "application/octet-stream")), binary, name)
    }
    const utf16 = Buffer.from("\ufeffdate", "utf16le")
    assert.deepStrictEqual(now(read(utf16, "utf-16", "text/plain")), utf16)
    const packed = zlib.gzipSync(csv)
    for (
      const name of ["aws-chunked, gzip", "gzip,aws-chunked", "none, utf-8, gzip, binary, 8bit", "\"gzip\"", "gzip;q=1"]
    ) {
      assert.deepStrictEqual(now(read(packed, name, "application/octet-stream")), csv, name)
    }
    assert.deepStrictEqual(now(read(packed, "utf-8", "text/csv")), csv)
    assert.deepStrictEqual(now(read(zlib.zstdCompressSync(csv), "utf-8", "text/csv")), csv)
    assert.deepStrictEqual(now(read(packed, "binary", "application/octet-stream")), packed)
  })

  it("believes the bytes where the name of the compression is wrong", () => {
    const csv = Buffer.from("Kopf;Größe\n1;2\n".repeat(3))
    const short = Buffer.from("42 EUR")
    for (const name of ["gzip", "x-gzip", "br", "zstd", "deflate", "compress", "dcb", "gzip, br"]) {
      assert.deepStrictEqual(now(read(csv, name, "text/csv")), csv, name)
      assert.deepStrictEqual(now(read(short, name, "text/plain")), short, name)
      assert.deepStrictEqual(now(read(zlib.gzipSync(csv), name, "text/csv")), csv, name)
      assert.deepStrictEqual(now(read(zlib.zstdCompressSync(csv), name, "text/csv")), csv, name)
    }
    assert.deepStrictEqual(now(read(zlib.deflateSync(csv), "gzip", "text/csv")), csv)
    assert.deepStrictEqual(now(read(zlib.brotliCompressSync(csv), "Brotli", "text/csv")), csv)
    assert.deepStrictEqual(now(read(zlib.brotliCompressSync(""), "br", "text/csv")), Buffer.alloc(0))
    const cut = Buffer.concat([Buffer.from("a".repeat(511)), Buffer.from("ü")])
    assert.deepStrictEqual(now(read(cut, "br", "text/plain")), cut)
  })

  it("names a compression that is not supported", async () => {
    const xz = Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0, 1, 2])
    assert.strictEqual(
      (await failure(xz, "xz")).message,
      "the body looks compressed with xz; its Content-Encoding is \"xz\""
    )
    assert.deepStrictEqual(now(read(xz, "xz", "application/x-xz")), xz)
    assert.deepStrictEqual(now(read(xz, undefined)), xz)
  })

  it("decompresses gzip with trailing garbage", async () => {
    const packed = zlib.gzipSync(text)
    const named = Buffer.concat([
      Buffer.from([0x1f, 0x8b, 8, 4 | 8 | 16 | 2, 0, 0, 0, 0, 0, 3, 2, 0, 7, 7]),
      Buffer.from("a.xml\0comment\0hc"),
      packed.subarray(10)
    ])
    for (const whole of [true, false]) {
      for (const gzip of [packed, named]) {
        const tailed = Buffer.concat([gzip, Buffer.from("<!-- 0.2 s -->")])
        assert.deepStrictEqual(Buffer.from(await read(tailed, "gzip", "text/xml", 1 << 20, whole)), text)
      }
    }
    const large = randomBytes(200_000)
    const tailed = Buffer.concat([zlib.gzipSync(large), Buffer.from("\n")])
    assert.deepStrictEqual(Buffer.from(await read(tailed, "gzip")), large)
  })

  it("rejects damaged gzip in spite of trailing garbage", async () => {
    const tail = Buffer.from("tail")
    const wrongSum = Buffer.from(zlib.gzipSync(text))
    wrongSum.writeUInt32LE(1, wrongSum.length - 8)
    assert.strictEqual((await failure(Buffer.concat([wrongSum, tail]), "gzip")).reason._tag, "Encoding")
    const broken = Buffer.concat([zlib.gzipSync(text).subarray(0, 10), Buffer.from([0xff, 0xff])])
    assert.strictEqual(
      (await failure(Buffer.concat([zlib.gzipSync(text), broken, tail]), "gzip")).reason._tag,
      "Encoding"
    )
    const bomb = Buffer.concat([zlib.gzipSync(Buffer.alloc(1_000_000)), tail])
    assert.strictEqual((await failure(bomb, "gzip", 100_000)).reason._tag, "TooLarge")
  })

  it("detects gzip without a header in texts, and leaves archives unchanged", () => {
    const packed = zlib.gzipSync(text)
    assert.deepStrictEqual(now(read(packed, undefined, "application/rss+xml")), text)
    assert.deepStrictEqual(now(read(packed, undefined, "text/xml; charset=utf-8")), text)
    assert.deepStrictEqual(now(read(packed, undefined, "application/json")), text)
    assert.deepStrictEqual(now(read(packed, undefined, "application/gzip")), packed)
    assert.deepStrictEqual(now(read(packed, undefined, "application/octet-stream")), packed)
    assert.deepStrictEqual(now(read(packed, "gzip", "application/octet-stream")), text)
  })

  it("accepts a gzip stream without its end, unless the transfer may have been cut", () => {
    const packed = zlib.gzipSync(text)
    const short = packed.subarray(0, packed.length - 8)
    assert.deepStrictEqual(now(read(short, "gzip")), text)
    assert.throws(() => read(short, "gzip", "text/xml", 1 << 20, false), "the body is not valid gzip")
  })

  it("returns a short text unchanged that begins like a compressed stream", () => {
    for (const short of ["{\"v\":2}", "x^2 + 1", "[1]", "null"]) {
      for (const name of ["deflate", "gzip", "br", "zstd"]) {
        assert.deepStrictEqual(now(read(Buffer.from(short), name, "application/json")), Buffer.from(short), name)
      }
    }
  })

  it("returns an empty body unchanged", () => {
    assert.deepStrictEqual(now(read(new Uint8Array(0), "gzip")), Buffer.alloc(0))
  })

  it("explains an invalid body", async () => {
    const broken = zlib.gzipSync(text)
    broken[12] = (broken[12] ?? 0) ^ 0xff
    broken[13] = (broken[13] ?? 0) ^ 0xff
    assert.strictEqual((await failure(broken, "gzip")).message, "the body is not valid gzip")
    assert.strictEqual((await failure(binary, "br")).reason._tag, "Encoding")
    assert.strictEqual(
      (await failure(binary, "compress")).message,
      "the Content-Encoding \"compress\" is not supported"
    )
    assert.include((await failure(text, "gzip, gzip, gzip, gzip")).message, "compressed 4 times")
  })

  it("uses the thread pool for large inputs and large outputs", async () => {
    const noise = Buffer.from(Array.from({ length: 400_000 }, (_, i) => (i * i * 31 + (i >> 3)) % 251))
    const large = read(zlib.gzipSync(noise, { level: 0 }), "gzip")
    assert.instanceOf(large, Promise)
    assert.isTrue(Buffer.from(await large).equals(noise))
    const zeros = Buffer.alloc(2 << 20)
    const unfolded = read(zlib.gzipSync(zeros), "gzip", "text/plain", 4 << 20)
    assert.instanceOf(unfolded, Promise)
    assert.strictEqual((await unfolded).length, zeros.length)
  })

  it("never exceeds the maximum size", async () => {
    for (const size of [5_000, 3 << 20]) {
      const zeros = Buffer.alloc(size)
      for (
        const [encoding, packed] of [
          ["gzip", zlib.gzipSync(zeros)],
          ["br", zlib.brotliCompressSync(zeros)],
          ["zstd", zlib.zstdCompressSync(zeros)],
          ["deflate", zlib.deflateSync(zeros)],
          ["gzip, gzip", zlib.gzipSync(zlib.gzipSync(zeros))]
        ] as const
      ) {
        const error = await failure(packed, encoding, size - 1)
        assert.strictEqual(error.reason._tag, "TooLarge", encoding)
        assert.strictEqual(error.message, `larger than ${size - 1} bytes after decompression`)
      }
    }
  })

  it("round-trips any compressed body; other bytes give a result within the maximum size or an error", async () => {
    const coding = fc.constantFrom("gzip", "br", "zstd", "deflate", "gzip, br", "identity", "nonsense")
    await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), coding, async (bytes, encoding) => {
      assert.deepStrictEqual(now(read(zlib.gzipSync(bytes), "gzip", "application/octet-stream")), Buffer.from(bytes))
      try {
        assert.isAtMost((await read(bytes, encoding, "text/xml", 1_000)).length, 1_000)
      } catch (error) {
        assert.instanceOf(error, DecompressionError)
      }
    }))
  })
})
