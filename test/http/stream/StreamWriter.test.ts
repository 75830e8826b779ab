import { assert, describe, it } from "@effect/vitest"
import type { ServerResponse } from "node:http"
import { Writable } from "node:stream"
import { setImmediate } from "node:timers/promises"
import { StreamWriter } from "#http/stream/StreamWriter.ts"

/** A connection that accepts one write at each call of `take`. */
class Slow extends Writable {
  received = 0
  readonly #pending: Array<() => void> = []

  constructor() {
    super({ highWaterMark: 1 })
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#pending.push(() => {
      this.received += chunk.length
      done()
    })
  }

  take(): Promise<void> {
    this.#pending.shift()?.()
    return setImmediate() // `drain` comes one tick later
  }

  writeHead(): void {}
  flushHeaders(): void {}
}

const kib = 1024

const open = () => {
  const connection = new Slow()
  const writer = new StreamWriter(connection as unknown as ServerResponse, {})
  let roomCalls = 0
  writer.onRoom = () => void roomCalls++
  return { connection, writer, roomCalls: () => roomCalls }
}

describe("StreamWriter", () => {
  it("keeps a slow reader connected until all bytes are sent", async () => {
    const { connection, writer, roomCalls } = open()
    assert.isFalse(writer.write(Buffer.alloc(250 * kib)))
    for (const received of [64, 128, 192]) {
      writer.checkProgress()
      await connection.take()
      assert.strictEqual(connection.received, received * kib)
      assert.isFalse(connection.destroyed)
      assert.strictEqual(roomCalls(), 0)
    }
    await connection.take()
    assert.strictEqual(connection.received, 250 * kib)
    assert.strictEqual(roomCalls(), 1)
    assert.isFalse(writer.isFull)
  })

  it("disconnects a client without progress at the second check", async () => {
    const { connection, writer } = open()
    writer.write(Buffer.alloc(250 * kib))
    await connection.take()
    writer.checkProgress()
    assert.isFalse(connection.destroyed)
    writer.checkProgress()
    assert.isTrue(connection.destroyed)
  })

  it("keeps the order of writes while bytes wait", async () => {
    const { connection, writer } = open()
    const seen: Array<string> = []
    const write = connection._write.bind(connection)
    connection._write = (chunk, encoding, done) => {
      seen.push(`${chunk.toString("latin1", 0, 1)}${chunk.length}`)
      write(chunk, encoding, done)
    }
    writer.write("a".repeat(65 * kib))
    writer.write("b")
    assert.isTrue(writer.isFull)
    for (let i = 0; i < 3; i++) await connection.take()
    assert.deepStrictEqual(seen, [`a${64 * kib}`, `a${kib}`, "b1"])
    assert.isFalse(writer.isFull)
  })
})
