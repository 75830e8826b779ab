import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { closeStatements, type Frame, Frames, rollback } from "#layers/postgres/embedded/Frames.ts"

const message = (type: string, body: string) => {
  const head = Buffer.alloc(5)
  head.write(type, "latin1")
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, Buffer.from(body, "latin1")])
}

const request = (code: number, body = "") => {
  const head = Buffer.alloc(8)
  head.writeInt32BE(body.length + 8)
  head.writeInt32BE(code, 4)
  return Buffer.concat([head, Buffer.from(body, "latin1")])
}

const startup = request(196608, "user\0postgres\0\0")
const sync = message("S", "")
const prepared = Buffer.concat([message("P", "one\0select 1\0\0\0"), message("B", "\0one\0"), message("E", "\0"), sync])

const framesOf = (...chunks: ReadonlyArray<Uint8Array>): ReadonlyArray<Frame> => {
  const frames = new Frames()
  return chunks.flatMap((chunk) => frames.push(chunk)).map((frame) =>
    "bytes" in frame ? { ...frame, bytes: Uint8Array.from(frame.bytes) } : frame
  )
}

const cycle = (bytes: Uint8Array, parsed: ReadonlyArray<string> = [], closed: ReadonlyArray<string> = []): Frame => ({
  _tag: "Cycle",
  bytes: Uint8Array.from(bytes),
  parsed,
  closed
})

describe("Frames", () => {
  it("splits a conversation after each message that the server answers", () => {
    const closing = Buffer.concat([message("C", "Sone\0"), message("C", "Pportal\0"), sync])
    assert.deepStrictEqual(
      framesOf(Buffer.concat([request(80877103), startup, prepared, rollback(), closing, message("X", "")])),
      [
        { _tag: "EncryptionRequest" },
        { _tag: "Startup", bytes: Uint8Array.from(startup), parameters: new Map([["user", "postgres"]]) },
        cycle(prepared, ["one"]),
        cycle(rollback()),
        cycle(closing, [], ["one"]),
        { _tag: "Terminate" }
      ]
    )
  })

  it("recognizes a cancel request", () => {
    assert.deepStrictEqual(framesOf(request(80877102, "12345678")), [{ _tag: "CancelRequest" }])
  })

  it("waits for the rest of a message", () => {
    assert.deepStrictEqual(framesOf(startup.subarray(0, 7)), [])
    assert.deepStrictEqual(framesOf(startup, prepared.subarray(0, prepared.length - 1)).length, 1)
  })

  it("builds a cycle that closes statements", () => {
    assert.deepStrictEqual(
      framesOf(startup, closeStatements(["a", "b"]))[1],
      cycle(closeStatements(["a", "b"]), [], ["a", "b"])
    )
  })

  it("returns the same frames for all chunk sizes", () => {
    const bytes = Buffer.concat([request(80877104), startup, prepared, prepared, rollback()])
    const whole = framesOf(bytes)
    assert.strictEqual(whole.length, 5)
    fc.assert(fc.property(fc.array(fc.nat(bytes.length), { maxLength: 20 }), (cuts) => {
      const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
      const chunks = edges.slice(1).map((end, i) => bytes.subarray(edges[i], end))
      assert.deepStrictEqual(framesOf(...chunks), whole)
    }))
  })
})
