import { assert, describe, it } from "@effect/vitest"
import { once } from "node:events"
import { type AddressInfo, connect, createServer } from "node:net"
import * as TimerWheel from "#layers/TimerWheel.ts"

const waitFor = (wheel: TimerWheel.TimerWheel, milliseconds: number) =>
  new Promise<void>((resolve) => {
    wheel.add(milliseconds, resolve)
  })

describe("TimerWheel", () => {
  it("fires each timer once, in order and never early", async () => {
    const wheel = TimerWheel.make()
    const start = performance.now()
    const calls: Array<readonly [milliseconds: number, elapsed: number]> = []
    await Promise.all([120, 10, 60, 10].map((milliseconds) =>
      new Promise<void>((resolve) => {
        wheel.add(milliseconds, () => {
          calls.push([milliseconds, performance.now() - start])
          resolve()
        })
      })
    ))
    wheel.close()
    assert.deepStrictEqual(calls.map(([milliseconds]) => milliseconds), [10, 10, 60, 120])
    for (const [milliseconds, elapsed] of calls) assert.isAtLeast(elapsed, milliseconds)
  })

  it("does not fire a cancelled timer", async () => {
    const wheel = TimerWheel.make()
    let called = 0
    const cancelled = wheel.add(10, () => called++)
    wheel.cancel(cancelled)
    wheel.cancel(cancelled)
    await waitFor(wheel, 80)
    wheel.close()
    assert.strictEqual(called, 0)
  })

  it("fires after the data that arrived during a standstill of the process", async () => {
    const wheel = TimerWheel.make()
    const order: Array<string> = []
    const { promise: over, resolve } = Promise.withResolvers<void>()
    const server = createServer((socket) => {
      socket.once("data", () => {
        socket.end("an answer")
        wheel.add(50, () => {
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
    wheel.close()
    server.close()
    assert.deepStrictEqual(order, ["answer", "deadline"])
  })

  it("skips a timer that is a full turn of the wheel away", async () => {
    const wheel = TimerWheel.make()
    let called = 0
    const far = wheel.add(25.6 * 1000 + 10, () => called++)
    await waitFor(wheel, 80)
    assert.strictEqual(called, 0)
    assert.strictEqual(wheel.pending(), 1)
    wheel.cancel(far)
    assert.deepStrictEqual([wheel.pending(), far.onExpire], [0, undefined])
    wheel.close()
  })
})
