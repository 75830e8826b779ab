import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { hold, load } from "#test/support/Conversation.ts"
import * as ConversationWorld from "#test/support/ConversationWorld.ts"
import { specification } from "./Specification.ts"

const directory = new URL("./http/", import.meta.url).pathname

/** One file per feature or limit; `Conversation.ts` explains the format. */
const names = readdirSync(directory).filter((name) => name.endsWith(".txt")).map((name) => name.slice(0, -4))

describe("the specification", () => {
  const known = new Set(names)
  const rows = Object.entries(specification).flatMap(([table, rows]) =>
    Object.entries(rows).map(([row, shown]) => [`${table}: ${row}`, shown] as const)
  )

  it("has a conversation for each row of its tables", () => {
    const missing = rows.filter(([, shown]) => shown.length === 0 || !shown.every((name) => known.has(name)))
    assert.deepStrictEqual(missing, [])
  })

  it("has 178 rows", () => {
    assert.strictEqual(rows.length, 178)
  })
})

layer(ConversationWorld.layer, { excludeTestServices: true })("conversations over HTTP", (it) => {
  it.effect.each(names)("%s", (name) =>
    Effect.gen(function*() {
      const conversation = load(`${directory}${name}.txt`)
      assert.isAbove(conversation.steps.length, 1)
      yield* hold(conversation, yield* ConversationWorld.makeWorld)
    }))
})
