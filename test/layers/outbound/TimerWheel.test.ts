import { assert, describe, it } from "@effect/vitest"
import { once } from "node:events"
import { type AddressInfo, connect, createServer } from "node:net"
import * as TimerWheel from "#layers/outbound/TimerWheel.ts"

const after = (deadlines: TimerWheel.TimerWheel, milliseconds: number) =>
  new Promise<void>((resolve) => {
    deadlines.add(milliseconds, resolve)
  })

describe("Deadlines", () => {
  it("calls each deadline once, in their order and never early", async () => {
    const deadlines = TimerWheel.make()
    const start = performance.now()
    const calls: Array<readonly [wanted: number, after: number]> = []
    await Promise.all([120, 10, 60, 10].map((wanted) =>
      new Promise<void>((resolve) => {
        deadlines.add(wanted, () => {
          calls.push([wanted, performance.now() - start])
          resolve()
        })
      })
    ))
    deadlines.close()
    assert.deepStrictEqual(calls.map(([wanted]) => wanted), [10, 10, 60, 120])
    for (const [wanted, after] of calls) assert.isAtLeast(after, wanted)
  })

  it("forgets a cancelled deadline", async () => {
    const deadlines = TimerWheel.make()
    let called = 0
    const cancelled = deadlines.add(10, () => called++)
    deadlines.cancel(cancelled)
    deadlines.cancel(cancelled)
    await after(deadlines, 80)
    deadlines.close()
    assert.strictEqual(called, 0)
  })

  it("are over after what has come while the process stood still", async () => {
    const deadlines = TimerWheel.make()
    const order: Array<string> = []
    const { promise: over, resolve } = Promise.withResolvers<void>()
    const server = createServer((socket) => {
      socket.once("data", () => {
        socket.end("an answer")
        deadlines.add(50, () => {
          order.push("deadline")
          resolve()
        })
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
      })
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    const client = connect((server.address() as AddressInfo).port, "127.0.0.1")
    client.on("data", () => order.push("answer")).write("a question")
    await Promise.all([over, once(client, "close")])
    deadlines.close()
    server.close()
    assert.deepStrictEqual(order, ["answer", "deadline"])
  })

  it("passes over a deadline that is a turn of the wheel away", async () => {
    const deadlines = TimerWheel.make()
    let called = 0
    const far = deadlines.add(25.6 * 1000 + 10, () => called++)
    await after(deadlines, 80)
    assert.strictEqual(called, 0)
    assert.strictEqual(deadlines.pending(), 1)
    deadlines.cancel(far)
    assert.deepStrictEqual([deadlines.pending(), far.onExpire], [0, undefined])
    deadlines.close()
  })
})
