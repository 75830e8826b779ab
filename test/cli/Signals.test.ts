import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { EventEmitter } from "node:events"
import * as Signals from "#main/cli/Signals.ts"

/** A process that records its terminations and exits. */
const host = (ignoresHangup = false) => {
  const signals = new EventEmitter()
  const ended: Array<string> = []
  return {
    on: (signal: Signals.StopSignal, listener: () => void) => signals.on(signal, listener),
    off: (signal: Signals.StopSignal, listener: () => void) => signals.off(signal, listener),
    terminate: () => void ended.push("in order"),
    exit: (code: number) => void ended.push(`with ${code}`),
    ignoresHangup,
    ended,
    signals
  }
}

describe("Signals", () => {
  it.effect("leaves the end to what is under way, and takes the echo of a signal for the same one", () =>
    Effect.gen(function*() {
      const process = host()
      yield* Signals.watch(process)
      process.signals.emit("SIGTERM")
      yield* TestClock.adjust("1999 millis")
      process.signals.emit("SIGTERM")
      yield* TestClock.adjust("58 seconds")
      assert.deepStrictEqual(process.ended, [])
    }))

  it.effect("ends at once when it is told a second time", () =>
    Effect.gen(function*() {
      const process = host()
      yield* Signals.watch(process)
      process.signals.emit("SIGTERM")
      yield* TestClock.adjust("3 seconds")
      process.signals.emit("SIGINT")
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(process.ended, ["with 130"])
    }))

  it.effect("ends after a minute, whatever is waited for", () =>
    Effect.gen(function*() {
      const process = host()
      yield* Signals.watch(process)
      yield* TestClock.adjust("1 hour")
      process.signals.emit("SIGTERM")
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual(process.ended, [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(process.ended, ["with 1"])
    }))

  it.effect("abandons a silent database once, and leaves the end to the stop", () =>
    Effect.gen(function*() {
      const process = host()
      const answers = [false, true]
      let abandonments = 0
      yield* Signals.watch(process, {
        isSilent: Effect.delay(Effect.sync(() => answers.shift() ?? false), "2 seconds"),
        abandon: () => void abandonments++
      })
      yield* TestClock.adjust("1 hour")
      process.signals.emit("SIGTERM")
      yield* TestClock.adjust("4999 millis") // a check, 1 s, and a check
      assert.strictEqual(abandonments, 0)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(abandonments, 1)
      yield* TestClock.adjust("54 seconds")
      assert.deepStrictEqual([abandonments, process.ended], [1, []])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(process.ended, ["with 1"])
    }))

  it.effect("stops in order when its terminal is closed", () =>
    Effect.gen(function*() {
      const process = host()
      yield* Signals.watch(process)
      process.signals.emit("SIGHUP")
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(process.ended, ["in order"])
    }))

  it.effect("outlives its terminal when it was started with nohup", () =>
    Effect.gen(function*() {
      const process = host(true)
      yield* Signals.watch(process)
      process.signals.emit("SIGHUP")
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(process.ended, [])
    }))

  it.effect("leaves no listener behind", () =>
    Effect.gen(function*() {
      const process = host()
      yield* Effect.scoped(Signals.watch(process))
      assert.deepStrictEqual(process.signals.eventNames(), [])
    }))
})
