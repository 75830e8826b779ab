import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Restore from "#layers/backup/Restore.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { authorization, start } from "#test/support/Service.ts"

/** Backups of released versions, made by `scripts/release-fixture.ts`. */
const folder = path.join(import.meta.dirname, "../fixtures/releases")

const releases = fs.readdirSync(folder).filter((name) => name.endsWith(".backup"))

describe("Data of released versions", () => {
  for (const name of releases) {
    it.live(`${name}: this version starts on it, and everything is there`, () =>
      Effect.gen(function*() {
        const dataDir = yield* temporaryDirectory
        const header = yield* Effect.scoped(
          Restore.restore(path.join(folder, name), { _tag: "Embedded", dataDir }, () => undefined)
        )
        assert.strictEqual(`${header.windhover}.backup`, name)
        const service = yield* start({
          WINDHOVER_DATA_DIR: dataDir,
          WINDHOVER_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64")
        })
        const list: ReadonlyArray<{ subscription: { secret: string; feed: { url: string } } }> = JSON.parse(
          (yield* service.call({ "hub.mode": "list", detailed: "true" })).text
        ).subscriptions
        assert.deepStrictEqual(list.map(({ subscription }) => subscription.secret), ["secret of the release"])
        const topic = list[0]?.subscription.feed.url ?? ""
        const entries: { items: ReadonlyArray<{ id: string }> } = JSON.parse(
          (yield* service.call({ "hub.mode": "retrieve", "hub.topic": topic, format: "json" })).text
        )
        assert.deepStrictEqual(entries.items.map(({ id }) => id).toSorted(), ["first", "second", "third"])
        const undelivered = yield* Effect.promise(() =>
          fetch(`${service.url}/api/undelivered`, { headers: { authorization } }).then((response) =>
            response.json() as Promise<{ undelivered: ReadonlyArray<{ sequence: number }> }>
          )
        )
        assert.strictEqual(undelivered.undelivered[0]?.sequence, 2) // the feed is gone, which can be a further notification
      }))
  }
})
