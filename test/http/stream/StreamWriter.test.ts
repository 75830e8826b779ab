import { assert, describe, it } from "@effect/vitest"
import type { ServerResponse } from "node:http"
import { Writable } from "node:stream"
import { setImmediate } from "node:timers/promises"
import { StreamWriter } from "#http/stream/StreamWriter.ts"

/** A connection that takes what was written when the test says so. */
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
    return setImmediate() // its `drain` comes a tick later
  }

  writeHead(): void {}
  flushHeaders(): void {}
}

const kib = 1024

const open = () => {
  const connection = new Slow()
  const writer = new StreamWriter(connection as unknown as ServerResponse, {})
  let rooms = 0
  writer.onRoom = () => void rooms++
  return { connection, writer, rooms: () => rooms }
}

describe("the open end of a stream", () => {
  it("stays open for who reads slowly, until all has come through", async () => {
    const { connection, writer, rooms } = open()
    assert.isFalse(writer.write(Buffer.alloc(250 * kib)))
    for (const received of [64, 128, 192]) {
      writer.checkProgress()
      await connection.take()
      assert.strictEqual(connection.received, received * kib)
      assert.isFalse(connection.destroyed)
      assert.strictEqual(rooms(), 0)
    }
    await connection.take()
    assert.strictEqual(connection.received, 250 * kib)
    assert.strictEqual(rooms(), 1)
    assert.isFalse(writer.isFull)
  })

  it("is closed at the second look for who reads nothing", async () => {
    const { connection, writer } = open()
    writer.write(Buffer.alloc(250 * kib))
    await connection.take()
    writer.checkProgress()
    assert.isFalse(connection.destroyed)
    writer.checkProgress()
    assert.isTrue(connection.destroyed)
  })

  it("keeps the order of what is written while something waits", async () => {
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
