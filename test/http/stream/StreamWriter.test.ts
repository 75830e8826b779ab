import { assert, describe, it } from "@effect/vitest"
import { Writable } from "node:stream"
import { setImmediate } from "node:timers/promises"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import { makeFrame } from "#http/stream/Frame.ts"
import { StreamMemory } from "#http/stream/StreamMemory.ts"
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

  destroySoon(): void {
    this.end(() => this.destroy())
  }
}

const kib = 1024

const makeFrameOf = (bytes: number) => makeFrame(Buffer.alloc(bytes))

const open = (budget = new MemoryBudget(), memory = new StreamMemory(budget), isChunked = false) => {
  const connection = new Slow()
  const writer = new StreamWriter({ socket: connection, isChunked }, { memory, key: "account 1" })
  let roomCalls = 0
  writer.onRoom = () => void roomCalls++
  return { budget, connection, writer, roomCalls: () => roomCalls }
}

describe("StreamWriter", () => {
  it("keeps a slow reader connected until all bytes are sent", async () => {
    const { connection, writer, roomCalls } = open()
    assert.isFalse(writer.write(makeFrameOf(250 * kib)))
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
    writer.write(makeFrameOf(250 * kib))
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
    writer.write(makeFrame("a".repeat(65 * kib)))
    writer.write(makeFrame("b"))
    assert.isTrue(writer.isFull)
    for (let i = 0; i < 3; i++) await connection.take()
    assert.deepStrictEqual(seen, [`a${64 * kib}`, `a${kib}`, "b1"])
    assert.isFalse(writer.isFull)
  })

  it("writes each frame as one chunk, also in pieces, and ends with the last chunk", async () => {
    const { connection, writer } = open(new MemoryBudget(), new StreamMemory(new MemoryBudget()), true)
    const seen: Array<string> = []
    connection._write = (chunk: Buffer, _, done) => {
      seen.push(chunk.toString("latin1"))
      done()
    }
    writer.write(makeFrame("äb"))
    writer.write(makeFrame("c".repeat(70_000)))
    for (let i = 0; i < 3; i++) await setImmediate()
    writer.end()
    writer.end()
    await setImmediate()
    assert.deepStrictEqual(seen.join(""), `3\r\nÃ¤b\r\n11170\r\n${"c".repeat(70_000)}\r\n0\r\n\r\n`)
    assert.isTrue(connection.destroyed)
  })

  it("writes nothing behind the client's end", () => {
    const { connection, writer } = open()
    connection.end()
    assert.isFalse(writer.write(makeFrame("a")))
    writer.end()
    assert.isTrue(connection.destroyed)
  })

  it("counts a shared frame once, until its last client has it or has gone", async () => {
    const budget = new MemoryBudget({ maxBytes: 300 * kib })
    const memory = new StreamMemory(budget)
    const [first, second] = [open(budget, memory), open(budget, memory)]
    const frame = makeFrameOf(250 * kib)
    for (const { writer } of [first, second]) assert.isFalse(writer.write(frame))
    assert.strictEqual(budget.bytes, 250 * kib)
    for (let i = 0; i < 4; i++) await first.connection.take()
    assert.strictEqual(budget.bytes, 250 * kib)
    second.connection.destroy()
    await setImmediate()
    assert.strictEqual(budget.bytes, 0)
  })

  it("disconnects a client whose frame has no room", () => {
    const budget = new MemoryBudget({ maxBytes: 300 * kib })
    const memory = new StreamMemory(budget)
    const clients = Array.from({ length: 3 }, () => open(budget, memory))
    for (const { writer } of clients) writer.write(makeFrameOf(250 * kib))
    assert.deepStrictEqual(clients.map(({ connection }) => connection.destroyed), [false, false, true])
  })
})
