import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { setTimeout as sleep } from "node:timers/promises"
import { faults } from "#scripts/xmpp-faults/Faults.ts"
import { runTrial } from "#scripts/xmpp-faults/Trial.ts"
import { emptyDatabase, engines } from "#test/support/Databases.ts"
import { installed } from "#test/support/Prosody.ts"
import { patience } from "#test/support/Service.ts"

const available = installed !== undefined && engines.some(({ available, name }) => name === "server" && available)

describe.skipIf(!available)("two runners between faults of the network", () => {
  it.live(
    "give the connection to the runner that reaches the server, and lose, reorder and drop nothing",
    () =>
      Effect.gen(function*() {
        const database = yield* emptyDatabase
        const { moved, report } = yield* Effect.promise(() =>
          runTrial({
            prosody: installed ?? assert.fail(),
            database,
            feeds: 16,
            clientsOfEachHabit: 1,
            durationMs: 0,
            publicationMs: 0,
            drainMs: 120_000,
            conflict: "kick_old",
            seed: 1,
            log: () => {}
          }, async (trial) => {
            const owner = trial.owner() ?? assert.fail("no runner is connected")
            const [other = assert.fail()] = trial.runners.filter((runner) => runner !== owner)
            const publishAll = async () => {
              for (let feed = 0; feed < 16; feed++) await trial.publish(feed)
            }
            await publishAll()
            await faults["reset the connections"]?.(trial)
            owner.proxy.mode = "refused"
            owner.proxy.reset()
            await publishAll()
            const began = performance.now()
            while (!other.proxy.isConnected && performance.now() - began < 90_000) await sleep(100)
            const moved = other.proxy.isConnected
            await publishAll()
            await trial.drain()
            return { moved, report: trial.audit() }
          })
        )
        assert.isTrue(moved)
        const { confirmed, drops, expected, lost, lostByServer, outOfOrder, received, webhooks } = report
        assert.deepStrictEqual([lost, lostByServer, outOfOrder, drops], [[], [], [], []])
        const all = 16 * 3 * 3
        assert.deepStrictEqual([expected, confirmed, received], [all, all, all])
        assert.deepStrictEqual(webhooks, { expected: 16 * 3, lost: 0, outOfOrder: 0 })
      }).pipe(Effect.scoped, Effect.timeout(patience)),
    patience + 10_000
  )
})
