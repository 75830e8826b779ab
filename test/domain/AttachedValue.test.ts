import { assert, describe, it } from "@effect/vitest"
import { AttachedValue } from "#domain/AttachedValue.ts"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

describe("AttachedValue", () => {
  it("returns the last value of an object, and none of another object", () => {
    const attached = new AttachedValue<object, string>()
    const object = {}
    attached.set(object, "a")
    attached.set(object, "b")
    assert.strictEqual(attached.get(object), "b")
    attached.delete(object)
    assert.isUndefined(attached.get(object))
    assert.isUndefined(attached.get({}))
    assert.isUndefined(new AttachedValue<object, string>().get(object))
  })

  it("appears neither in a copy nor in JSON", () => {
    const attached = new AttachedValue<{ readonly id: number }, string>()
    const object = { id: 1 }
    attached.set(object, "secret")
    assert.isUndefined(attached.get({ ...object }))
    assert.isUndefined(attached.get(structuredClone(object)))
    assert.strictEqual(JSON.stringify(object), "{\"id\":1}")
    assert.deepStrictEqual(object, { id: 1 })
  })

  it("leaves no value that refers to its object behind after collections of the young generation", () => {
    setFlagsFromString("--expose-gc")
    const collect: (options: { readonly type: "minor" }) => void = runInNewContext("gc")
    const attached = new AttachedValue<object, readonly [key: object, numbers: ReadonlyArray<number>]>()
    const collectTwice = () => {
      for (let i = 0; i < 2; i++) collect({ type: "minor" })
    }
    collectTwice()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < 200; i++) {
      for (let j = 0; j < 10; j++) {
        const key = {}
        attached.set(key, [key, Array.from({ length: 2_000 }, () => j)])
      }
      collectTwice()
    }
    // 2,000 values have 32 MB together.
    assert.isBelow(process.memoryUsage().heapUsed - before, 8_000_000)
  })
})
