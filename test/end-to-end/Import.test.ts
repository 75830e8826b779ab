import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { runTrial } from "#scripts/import/Trial.ts"
import { openWorld, refusedTopics } from "#scripts/import/World.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { patience } from "#test/support/Service.ts"

const feeds = 60

const world = Effect.acquireRelease(Effect.promise(() => openWorld(feeds)), ({ close }) => Effect.promise(close))

/** The complete command lists what an interrupted one did not, and says why it refuses lines. */
describe("an import between two kills", () => {
  it.live(
    "completes OPML, delivers no old entry, and explains each refusal",
    () =>
      Effect.gen(function*() {
        const directory = yield* temporaryDirectory
        const trial = { directory, kills: [0.25, 0.6], source: "opml", world: yield* world } as const
        const { output, refusals, rightFeeds, subscriptions, wrongTopics } = yield* Effect.promise(() =>
          runTrial(trial)
        )
        assert.deepStrictEqual([subscriptions, rightFeeds, wrongTopics], [feeds, feeds, []])
        assert.strictEqual(refusals, refusedTopics.length)
        assert.strictEqual(output.split("The connection to Windhover was lost.").length - 1, 2)
        assert.match(output, /\d+ subscribed, \d+ existed, 4 refused\.\n$/)
        assert.notInclude(output, "secret%2Dpassword")
      }).pipe(Effect.scoped, Effect.timeout(patience)),
    patience + 10_000
  )

  it.live(
    "completes the list of a Superfeedr account, and reports the differences",
    () =>
      Effect.gen(function*() {
        const directory = yield* temporaryDirectory
        const trial = { directory, kills: [0.2, 0.6], source: "superfeedr", world: yield* world } as const
        const { output, refusals, rightFeeds, subscriptions, wrongTopics } = yield* Effect.promise(() =>
          runTrial(trial)
        )
        assert.deepStrictEqual([subscriptions, rightFeeds, wrongTopics], [feeds, feeds, []])
        assert.strictEqual(refusals, refusedTopics.length)
        assert.include(output, `${feeds + refusedTopics.length} subscriptions are listed there. Here: `)
        assert.notInclude(output, "secret%2Dpassword")
        assert.include(output, "No subscription of these callbacks is here alone.")
      }).pipe(Effect.scoped, Effect.timeout(patience)),
    patience + 10_000
  )
})
