import { assert, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import * as ConversationWorld from "#test/support/ConversationWorld.ts"
import { makeStage } from "#test/support/WebSub.ts"

/** Any client can name any topic and any callback. Without a callback's consent, a request causes no fetch and stores no byte. */
layer(ConversationWorld.layerWith({ hubQuestionsPerMinute: 1_000 }), { excludeTestServices: true })(
  "the open hub and consent",
  (it) => {
    it.effect("topics of callbacks that do not agree are neither fetched nor stored", () =>
      Effect.gen(function*() {
        const stage = yield* makeStage
        const resources = yield* ResourceStore
        stage.answer("/refuses", () => ({ status: 404 }))
        const topics = Array.from({ length: 40 }, (_, i) => `${stage.url}/large?${i}`)
        stage.publish("/large", { type: "text/plain", bytes: Buffer.alloc(7 * 1024 * 1024, "x") })
        for (const [i, topic] of topics.entries()) {
          const answer = yield* stage.post(stage.subscription({
            "hub.topic": topic,
            "hub.callback": `${stage.url}/refuses?${i}`,
            "hub.verify": i % 2 === 0 ? "sync" : "async"
          }))
          assert.strictEqual(answer.status, i % 2 === 0 ? 422 : 202)
        }
        yield* Effect.sleep("2 seconds")
        assert.isAtLeast(stage.calls("/refuses", "GET").length, 40)
        assert.deepStrictEqual(stage.calls("/large", "GET"), [])
        for (const topic of topics) assert.isTrue(Option.isNone(yield* resources.find(topic)))
      }), 60_000)
  }
)
