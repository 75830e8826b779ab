import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { available, browser, emptyPage } from "#test/support/Browser.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { authorization, freePort, outside, patience, start } from "#test/support/Service.ts"

/** A page of another origin, and the errors of its console. */
const opened = Effect.fnUntraced(function*(url: string) {
  const page = yield* Effect.flatMap(browser, (open) => Effect.promise(() => open.newPage()))
  const errors: Array<string> = []
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text())
  })
  page.on("pageerror", (error) => errors.push(error.message))
  yield* Effect.promise(() => page.goto(url, { waitUntil: "load" }))
  return { page, errors }
})

/** Runs a script in the page. */
const run = <A>(page: Page, script: string) => Effect.promise(() => page.evaluate<A>(script))

/** Waits until a condition of the page holds. */
const until = (page: Page, condition: string) =>
  Effect.promise(() => page.waitForFunction(condition, undefined, { timeout: patience / 2, polling: 50 }))

const watch = (feed: string) => ({
  "hub.mode": "subscribe",
  "hub.topic": feed,
  "hub.callback": "http://localhost:8080/dev/null",
  retrieve: "true"
})

describe.skipIf(!available)("a browser", () => {
  it.live(
    "hears of everything once by EventSource, from another origin, over the death and the return of the service",
    () =>
      Effect.gen(function*() {
        const world = yield* outside
        const settings = { WINDHOVER_DATA_DIR: yield* temporaryDirectory, WINDHOVER_PORT: String(yield* freePort) }
        const first = yield* start(settings)
        const [feed = ""] = world.feeds
        yield* first.call(watch(feed))
        const { page } = yield* opened(yield* emptyPage)
        const query = new URLSearchParams({
          "hub.mode": "retrieve",
          "hub.topic": feed,
          authorization: authorization.replace("Basic ", "")
        })
        yield* run(
          page,
          `window.heard = []; window.opened = 0; window.gaps = 0
          const source = new EventSource(${JSON.stringify(`${first.url}/stream?${query}`)})
          source.onopen = () => window.opened++
          source.addEventListener("gap", () => window.gaps++)
          source.addEventListener("notification", ({ data }) =>
            window.heard.push(...JSON.parse(data).items.map(({ id }) => id)))`
        )
        yield* until(page, `window.heard.includes("first")`)
        world.publish("before")
        yield* until(page, `window.heard.includes("before")`)
        yield* first.kill
        world.publish("meanwhile")
        yield* start(settings)
        yield* until(page, `window.heard.includes("meanwhile")`)
        world.publish("after")
        yield* until(page, `window.heard.includes("after")`)
        assert.deepStrictEqual(yield* run(page, "[window.heard, window.opened, window.gaps]"), [
          ["first", "before", "meanwhile", "after"],
          2,
          0
        ])
      }).pipe(Effect.scoped),
    patience
  )

  it.live(
    "lets a page of another origin call with credentials, and read the answer and its headers",
    () =>
      Effect.gen(function*() {
        const world = yield* outside
        const service = yield* start({ WINDHOVER_DATA_DIR: yield* temporaryDirectory })
        const [feed = ""] = world.feeds
        yield* service.call(watch(feed))
        const { errors, page } = yield* opened(yield* emptyPage)
        const query = new URLSearchParams({ "hub.mode": "retrieve", "hub.topic": feed, format: "json" })
        const answer = yield* run<ReadonlyArray<unknown>>(
          page,
          `fetch(${JSON.stringify(`${service.url}/?${query}`)}, { headers: { authorization: ${
            JSON.stringify(authorization)
          } } }).then(async (answer) => [
            answer.status, answer.headers.get("etag") !== null, (await answer.json()).items.map(({ id }) => id)
          ])`
        )
        assert.deepStrictEqual(answer, [200, true, ["first"]])
        assert.deepStrictEqual(errors, [])
      }).pipe(Effect.scoped),
    patience
  )
})
