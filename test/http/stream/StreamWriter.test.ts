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
  const outlet = new StreamWriter(connection as unknown as ServerResponse, {})
  let rooms = 0
  outlet.onRoom = () => void rooms++
  return { connection, outlet, rooms: () => rooms }
}

describe("the open end of a stream", () => {
  it("stays open for who reads slowly, until all has come through", async () => {
    const { connection, outlet, rooms } = open()
    assert.isFalse(outlet.write(Buffer.alloc(250 * kib)))
    for (const received of [64, 128, 192]) {
      outlet.look()
      await connection.take()
      assert.strictEqual(connection.received, received * kib)
      assert.isFalse(connection.destroyed)
      assert.strictEqual(rooms(), 0)
    }
    await connection.take()
    assert.strictEqual(connection.received, 250 * kib)
    assert.strictEqual(rooms(), 1)
    assert.isFalse(outlet.full)
  })

  it("is closed at the second look for who reads nothing", async () => {
    const { connection, outlet } = open()
    outlet.write(Buffer.alloc(250 * kib))
    await connection.take()
    outlet.look()
    assert.isFalse(connection.destroyed)
    outlet.look()
    assert.isTrue(connection.destroyed)
  })

  it("keeps the order of what is written while something waits", async () => {
    const { connection, outlet } = open()
    const seen: Array<string> = []
    const write = connection._write.bind(connection)
    connection._write = (chunk, encoding, done) => {
      seen.push(`${chunk.toString("latin1", 0, 1)}${chunk.length}`)
      write(chunk, encoding, done)
    }
    outlet.write("a".repeat(65 * kib))
    outlet.write("b")
    assert.isTrue(outlet.full)
    for (let i = 0; i < 3; i++) await connection.take()
    assert.deepStrictEqual(seen, [`a${64 * kib}`, `a${kib}`, "b1"])
    assert.isFalse(outlet.full)
  })
})
