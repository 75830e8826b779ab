import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { promisify } from "node:util"
import { withSettings } from "#scripts/Environment.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { outside, type Service, start, token } from "#test/support/Service.ts"

const program = path.join(import.meta.dirname, "../../bin/windhover")

/** Runs a command on a data directory. Returns its exit code and its standard error. */
const windhover = (dataDir: string, ...args: ReadonlyArray<string>) =>
  Effect.promise(() =>
    promisify(execFile)(program, args, { env: withSettings({ WINDHOVER_DATA_DIR: dataDir }) }).then(
      ({ stderr }) => ({ code: 0, said: stderr }),
      ({ code, stderr }) => ({ code: Number(code), said: String(stderr) })
    )
  )

/** Signs in to the dashboard, and returns the cookie. */
const signIn = ({ url }: Service) =>
  Effect.promise(async () => {
    const body = new URLSearchParams({ login: "admin", secret: token })
    const response = await fetch(`${url}/dashboard/sign-in`, { method: "POST", body, redirect: "manual" })
    return response.headers.get("set-cookie")?.split(";")[0] ?? ""
  })

const openDashboard = ({ url }: Service, cookie: string) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}/dashboard`, { headers: { cookie }, redirect: "manual" })
    await response.body?.cancel()
    return response.status
  })

const list = (service: Service) =>
  Effect.map(service.call({ "hub.mode": "list" }), ({ status, text }) => ({ status, feeds: JSON.parse(text) }))

describe("windhover backup, verify and restore", () => {
  it.live("change nothing beside a running service or with a bad file, and a restore ends the sessions", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const [dataDir, fresh] = [path.join(directory, "data"), path.join(directory, "fresh")]
      const file = path.join(directory, "backup")
      const world = yield* outside
      const service = yield* start({ WINDHOVER_DATA_DIR: dataDir })
      yield* service.call({
        "hub.mode": "subscribe",
        "hub.topic": `${world.url}/feed`,
        "hub.callback": `${world.url}/hook`
      })
      // the first fetch brings the title
      const subscribed = yield* list(service).pipe(
        Effect.repeat({
          until: ({ feeds }) => feeds[0]?.subscription.feed.title === "A feed",
          schedule: Schedule.spaced("50 millis")
        })
      )
      assert.strictEqual(subscribed.feeds.length, 1)
      const cookie = yield* signIn(service)
      assert.strictEqual(yield* openDashboard(service, cookie), 200)
      assert.strictEqual((yield* windhover(dataDir, "backup", file)).code, 0)
      assert.strictEqual((yield* windhover(dataDir, "verify", file)).code, 0)

      const bytes = fs.readFileSync(file)
      const bad = path.join(directory, "bad")
      const middle = bytes.length >> 1
      const files = [
        [bytes.subarray(0, middle), /is damaged: it ends after/],
        [Uint8Array.from(bytes, (byte, at) => at === middle ? byte ^ 1 : byte), /is damaged: the checksum of frame/],
        [Buffer.from("PGDMP of another program"), /is no backup of Windhover/]
      ] as const
      for (const [content, sentence] of files) {
        fs.writeFileSync(bad, content)
        const restored = yield* windhover(fresh, "restore", bad)
        assert.strictEqual(restored.code, 1)
        assert.match(restored.said, sentence)
        assert.isFalse(fs.existsSync(fresh))
      }

      const busy = yield* windhover(dataDir, "restore", file)
      assert.strictEqual(busy.code, 1)
      assert.match(
        busy.said,
        new RegExp(`Another process is using the data directory .*process ${service.process.pid}`)
      )
      assert.deepStrictEqual(yield* list(service), subscribed)
      assert.strictEqual(yield* openDashboard(service, cookie), 200)
      yield* service.kill
      const full = yield* windhover(dataDir, "restore", file)
      assert.strictEqual(full.code, 1)
      assert.match(full.said, /holds a database already, and nothing was changed/)

      const restored = yield* windhover(fresh, "restore", file)
      assert.strictEqual(restored.code, 0, restored.said)
      assert.match(restored.said, /Before the start, copy the key file of the old data directory/)
      fs.copyFileSync(path.join(dataDir, "encryption-key"), path.join(fresh, "encryption-key"))
      const again = yield* start({ WINDHOVER_DATA_DIR: fresh })
      assert.deepStrictEqual(yield* list(again), subscribed)
      assert.strictEqual(yield* openDashboard(again, cookie), 303)
      assert.strictEqual(yield* openDashboard(again, yield* signIn(again)), 200)
    }))
})
