import { assert, describe, it } from "@effect/vitest"
import { assess, damageKinds, sumUp } from "#scripts/feeds/Fuzz.ts"

/** `npm run fuzz` goes on from here with other seeds. */
describe("damaged feeds", () => {
  it.each(damageKinds)("are read without a throw, and hardly an entry is lost: %s", (kind) => {
    const { findings, found, present } = sumUp(assess(kind, 20_260_101, 200))
    assert.deepStrictEqual(findings, [])
    if (kind !== "noise") assert.isAbove(found / present, 0.96)
  })
})
