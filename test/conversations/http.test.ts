import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { hold, load } from "#test/support/Conversation.ts"
import * as ConversationWorld from "#test/support/ConversationWorld.ts"

const directory = new URL("./http/", import.meta.url).pathname

/** One file a feature or limit; see `Conversation.ts` for how they are written. */
const names = readdirSync(directory).filter((name) => name.endsWith(".txt")).map((name) => name.slice(0, -4))

layer(ConversationWorld.layer, { excludeTestServices: true })("conversations over HTTP", (it) => {
  it.effect.each(names)("%s", (name) =>
    Effect.gen(function*() {
      const conversation = load(`${directory}${name}.txt`)
      assert.isAbove(conversation.steps.length, 1)
      yield* hold(conversation, yield* ConversationWorld.makeWorld)
    }))
})
