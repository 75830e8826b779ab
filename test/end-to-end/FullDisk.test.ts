import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { outside, patience, type Posted, received, type Service, start, untilHealth } from "#test/support/Service.ts"

const fullDisk = path.join(import.meta.dirname, "../support/FullDisk.ts")

const said = (service: Service, words: RegExp) =>
  Effect.repeat(Effect.sync(() => service.said.some((line) => words.test(line))), {
    until: (found) => found,
    schedule: Schedule.spaced("200 millis")
  })

/** Without repeats: a kill loses the confirmations of the last moments, and these notifications are sent again with their ids. */
const firstDeliveries = (posted: ReadonlyArray<Posted>): ReadonlyArray<Posted> => {
  const given = new Set<string>()
  return posted.filter(({ answer, notification, path }) => {
    const key = `${path} ${notification}`
    const isRepeated = given.has(key)
    if (answer === "given") given.add(key)
    return !isRepeated
  })
}

describe("a full disk under the embedded database", () => {
  it.live(
    "causes 503 and a log line, and no loss; the service resumes with free space",
    () =>
      Effect.gen(function*() {
        const world = yield* outside
        const [topic = ""] = world.feeds
        const mark = path.join(yield* temporaryDirectory, "full")
        const settings = {
          WINDHOVER_DATA_DIR: yield* temporaryDirectory,
          NODE_OPTIONS: `--import ${fullDisk}`,
          FULL_DISK: mark
        }
        let service = yield* start(settings)
        const acknowledged: Array<string> = []
        let number = 0
        /** Subscribes to a new topic each time, with a long URL. */
        const subscribe = Effect.suspend(() => {
          const url = `${topic}?${number++}${"x".repeat(1_800)}`
          const form = { "hub.mode": "subscribe", "hub.topic": url, "hub.callback": `${world.url}/others` }
          return Effect.map(service.call(form), (answer) => {
            if (answer.status < 300) acknowledged.push(url)
            return answer
          })
        })
        const refused = subscribe.pipe(Effect.repeat({ until: ({ status }) => status === 503 }))
        const callback = `${world.url}/hook`
        yield* service.call({ "hub.mode": "subscribe", "hub.topic": topic, "hub.callback": callback, retrieve: "true" })
        const published: Array<string> = []
        const publish = Effect.fnUntraced(function*(id: string) {
          published.push(id)
          world.publish(id)
          yield* service.call({ "hub.mode": "publish", "hub.url": topic })
        })
        const first = () => received(firstDeliveries(world.posted), "/hook")
        const all = () => first().ids.length === published.length
        yield* publish("before")
        yield* world.until(all)

        // no file can grow: a statement that needs space fails
        fs.writeFileSync(mark, "grow")
        const { retryAfter, text } = yield* refused
        assert.strictEqual(retryAfter, "5")
        assert.strictEqual(text, "The database cannot do this for the moment. Please try again.")
        yield* untilHealth(service, "503 The disk of the database is full; nothing can be written.")
        yield* publish("while nothing can grow")
        fs.rmSync(mark)
        yield* untilHealth(service, "200 ok")
        yield* world.until(all)

        // not even the log can be written: the database panics, and does not restart
        fs.writeFileSync(mark, "copy")
        yield* publish("while nothing can be written")
        assert.strictEqual((yield* refused).retryAfter, "5")
        yield* said(
          service,
          /The embedded database has stopped and is started again\..* reason="?PANIC.*No space left on device/
        )
        yield* said(service, /The embedded database does not start yet\..* reason=.*No space left on device/)
        yield* untilHealth(service, "503 The database does not answer.")
        fs.rmSync(mark)
        yield* untilHealth(service, "200 ok")
        yield* world.until(all)

        // a stop in the middle of the fault
        fs.writeFileSync(mark, "copy")
        yield* publish("while it is stopped")
        yield* refused
        yield* service.kill
        const full = yield* Effect.flip(start(settings))
        assert.include(full.message, "There is no space left for the data directory")
        fs.rmSync(mark)
        service = yield* start(settings)
        yield* publish("after")
        yield* world.until(all)
        assert.deepStrictEqual(first(), { ids: published, faults: [] })
        const list = yield* service.call({ "hub.mode": "list", "detailed": "true", "by_page": "500" })
        assert.deepStrictEqual(acknowledged.filter((url) => !list.text.includes(url)), [])
      }).pipe(Effect.scoped, Effect.timeout(2 * patience)),
    2 * patience + 10_000
  )
})
