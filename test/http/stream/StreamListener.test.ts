import { assert, describe, it } from "@effect/vitest"
import { Writable } from "node:stream"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import type { Notification } from "#domain/delivery/Notification.ts"
import { StreamListener } from "#http/stream/StreamListener.ts"
import { StreamMemory } from "#http/stream/StreamMemory.ts"
import { StreamWriter } from "#http/stream/StreamWriter.ts"

const mebibyte = 1024 * 1024
const sender = { baseUrl: "https://hub.example", hubOpen: false, extNamespace: "urn:x", headerPrefix: "X-Windhover" }

/** A connection that takes all bytes at once, and remembers the memory behind them. */
class Fast extends Writable {
  readonly memories: Set<unknown>

  constructor(memories: Set<unknown>) {
    super({ highWaterMark: 64 * mebibyte })
    this.memories = memories
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.memories.add(chunk.buffer)
    done()
  }

  destroySoon(): void {
    this.destroy()
  }
}

describe("the frames of a notification", () => {
  it("are shared by the listeners of a topic, and bounded for a client with many spellings of its topic", () => {
    const text = "x".repeat(6 * mebibyte)
    const notification: Notification = {
      id: 1,
      resourceId: 5,
      createdAt: 0,
      status: {},
      news: { _tag: "Entries", entries: [{ id: "a", title: { value: text, type: "text" } }] }
    }
    const frames = new Set<unknown>()
    const memory = new StreamMemory(new MemoryBudget())
    const takeAs = (topic: string) => {
      const writer = new StreamWriter({ socket: new Fast(frames), isChunked: true }, { memory, key: "account 1" })
      const content = {
        topics: new Map([[5, topic]]),
        format: "json",
        framing: "events",
        cursors: new Map([[5, 2]])
      } as const
      assert.isTrue(new StreamListener(content, writer, sender).take({ sequence: 2, notification }))
      return frames.size
    }
    const [a, b, c] = ["http://a.example/", "http://A.example/", "HTTP://a.example/"] as const
    assert.deepStrictEqual([a, a, b, a, b].map(takeAs), [1, 1, 2, 2, 2])
    assert.deepStrictEqual([c, c, a].map(takeAs), [3, 3, 4]) // 18 MiB exceed the bound
  })
})
