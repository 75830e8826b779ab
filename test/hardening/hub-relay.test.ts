import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as ConversationWorld from "#test/support/ConversationWorld.ts"
import { makeStage } from "#test/support/WebSub.ts"

/** Any client can make the open hub ask any callback. A victim that never agreed gets a few questions and no notification. */
layer(ConversationWorld.layerWith({}), { excludeTestServices: true })("the open hub as a relay", (it) => {
  it.effect(
    "a victim gets at most ten questions per minute, for any number of topics, paths and ports",
    () =>
      Effect.gen(function*() {
        const stage = yield* makeStage
        const neighbour = yield* makeStage
        const statuses: Array<number> = []
        for (let i = 0; i < 60; i++) {
          const { url } = i % 2 === 0 ? stage : neighbour
          stage.answer(`/${i}`, () => ({ status: 404 }))
          neighbour.answer(`/${i}`, () => ({ status: 404 }))
          const fields = { "hub.topic": `${stage.url}/topic?${i}`, "hub.callback": `${url}/${i}` }
          statuses.push((yield* stage.post(stage.subscription(fields))).status)
        }
        assert.deepStrictEqual(new Set(statuses), new Set([202]))
        const sync = yield* stage.post(
          stage.subscription({ "hub.verify": "sync", "hub.callback": `${stage.url}/last` })
        )
        assert.strictEqual(sync.status, 429)
        assert.match(sync.body, /127\.0\.0\.0\/24 have been asked too often/)
        assert.isAtMost(Number(sync.headers.get("retry-after")), 60)
        const all = Array.from({ length: 60 }, (_, i) => `/${i}`)
        const questions = all.flatMap((path) => [...stage.calls(path, "GET"), ...neighbour.calls(path, "GET")])
        assert.isAtMost(questions.length, 10)
        assert.strictEqual(stage.calls("/last", "GET").length, 0)
        assert.deepStrictEqual(all.flatMap((path) => stage.calls(path, "POST")), [])
      }),
    60_000
  )

  it.effect("a hundred requests for one victim may wait; the hub rejects more", () =>
    Effect.gen(function*() {
      const stage = yield* makeStage
      const statuses: Array<number> = []
      for (let i = 0; i < 130; i++) {
        const { status } = yield* stage.post(stage.subscription({ "hub.callback": `http://127.0.0.2:8999/${i}` }))
        statuses.push(status)
      }
      assert.isAtLeast(statuses.filter((status) => status === 429).length, 20)
      assert.isAtMost(statuses.filter((status) => status === 202).length, 110)
    }), 60_000)
})

layer(ConversationWorld.layerWith({ allowPrivate: false }), { excludeTestServices: true })(
  "the open hub and private addresses",
  (it) => {
    it.effect(
      "a callback at a private address gets no question, and the subscriber gets the reason",
      () =>
        Effect.gen(function*() {
          const stage = yield* makeStage
          const { port } = new URL(stage.url)
          const hosts = [
            "127.0.0.1",
            "2130706433",
            "0x7f.1",
            "017700000001",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "localhost"
          ]
          for (const host of hosts) {
            const callback = `http://${host}:${port}/callback`
            const { body, status } = yield* stage.post(
              stage.subscription({
                "hub.topic": "http://93.184.216.34/",
                "hub.callback": callback,
                "hub.verify": "sync"
              })
            )
            assert.strictEqual(status, 422, callback)
            assert.match(body, /^hub.callback can never be reached: /)
          }
          assert.deepStrictEqual(stage.calls("/callback", "GET"), [])
        }),
      60_000
    )
  }
)
