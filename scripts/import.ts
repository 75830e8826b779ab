// Imports thousands of feeds from OPML and from a stand-in of the original service's list, kills the service twice in between, and checks
// that the account is complete and that no entry from before the import is delivered.
//   npm run import-trial -- --feeds 5000
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { runTrial } from "./import/Trial.ts"
import { openWorld, refusedTopics } from "./import/World.ts"
import { parseOptions } from "./Options.ts"

const options = parseOptions("usage: npm run import-trial -- [--feeds 5000]", {
  feeds: { type: "string", default: "5000" }
})
const feeds = Number(options.feeds)

/** Shares of the list at which the service is killed; a trial without a kill measures the import. */
const trials = [
  { source: "opml", kills: [] },
  { source: "superfeedr", kills: [] },
  { source: "opml", kills: [0.25, 0.6] },
  { source: "superfeedr", kills: [0.25, 0.6] }
] as const

for (const { kills, source } of trials) {
  const directory = mkdtempSync(join(tmpdir(), "windhover-import-"))
  const world = await openWorld(feeds)
  try {
    const { refusals, rightFeeds, seconds, serviceCpuSeconds, subscriptions, wrongTopics } = await runTrial({
      directory,
      kills,
      source,
      world
    })
    process.stdout.write(
      `${source}, killed ${kills.length} times: ${subscriptions} subscriptions of ${feeds}, ${rightFeeds} feeds right, ` +
        `${wrongTopics.length} wrong, ${refusals} of ${refusedTopics.length} wrong lines refused with a reason; last run ${
          seconds.toFixed(1)
        } s, ${serviceCpuSeconds.toFixed(1)} s of CPU of the service\n`
    )
    const isComplete = subscriptions === feeds && rightFeeds === feeds && refusals === refusedTopics.length
    if (!isComplete || wrongTopics.length > 0) process.exitCode = 1
  } finally {
    await world.close()
    rmSync(directory, { recursive: true, force: true })
  }
}
