import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { createReceiver } from "#packages/receiver/src/index.ts"
import { toNodeListener } from "#packages/receiver/src/node.ts"
import { awaitCondition } from "#test/support/AwaitCondition.ts"
import { available } from "#test/support/Available.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { httpServer } from "#test/support/HttpServer.ts"
import { startProgram } from "#test/support/Program.ts"
import { outside, patience, start } from "#test/support/Service.ts"

const run = promisify(execFile)

/** Debian's Python, as in the other tests. */
const python = "/usr/bin/python3"
const hasPython = await available("Python (apt-get install python3)", run(python, ["-c", "import sqlite3"]))
const packages = join(import.meta.dirname, "../../packages/python")

const plain = "a-secret"
const encoded = `whsec_${Buffer.from("a key of 24 random bytes").toString("base64")}`

/** A receiver in this process, whose first attempt of each third notification fails. */
const startReceiver = Effect.fnUntraced(function*(secret: string, topic: string) {
  const handled: Array<string> = []
  const waiting = new Set<() => void>()
  const failed = new Set<number | undefined>()
  const gaps: Array<unknown> = []
  const receiver = createReceiver({
    secret,
    scheme: secret === encoded ? "standard" : "any",
    topics: [topic],
    expectsFirst: true,
    onGap: (gap) => void gaps.push(gap),
    onError: () => {},
    onNotification: (notification) => {
      const { sequence } = notification
      if (sequence === 3 && !failed.has(sequence)) {
        failed.add(sequence)
        throw new Error("not yet")
      }
      const items = notification.format === "json" ? notification.feed.items ?? [] : []
      handled.push([sequence, ...items.map(({ id }) => id).toReversed()].join(" "))
      for (const look of waiting) look()
    }
  })
  const url = yield* httpServer(toNodeListener(receiver))
  return { url: `${url}/hook`, said: handled, gaps, until: awaitCondition(waiting) }
})

/** The file for Python in a process of its own. */
const startPython = Effect.fnUntraced(function*(secret: string, topic: string) {
  const example = join(import.meta.dirname, "python/example.py")
  const program = yield* startProgram(python, [example, packages, secret, topic])
  yield* program.until(() => program.said.length > 0)
  return {
    url: `${program.said[0]?.replace("ready on ", "")}/hook`,
    get said() {
      return program.said.slice(1)
    },
    until: (condition: () => boolean) => program.until(condition)
  }
})

describe.skipIf(!hasPython)("windhover_receiver.py", () => {
  it("passes its tests", async () => {
    const { stderr } = await run(python, [join(import.meta.dirname, "python/test_receiver.py")])
    assert.match(stderr, /\nRan \d\d tests in .*\n\nOK\n$/)
  })
})

describe.skipIf(!hasPython)("docs/receiving.md", () => {
  it.live("has an example in Python that starts", () =>
    Effect.gen(function*() {
      const page = readFileSync(join(import.meta.dirname, "../../docs/receiving.md"), "utf8")
      const text = /```python\n# receiver\.py\n(.*?)```/s.exec(page)?.[1] ?? ""
      const program = `import sys; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1])
import windhover_receiver; windhover_receiver.serve = lambda receiver, port: print(type(receiver).__name__, port)
${text}
for notification in (windhover_receiver.Notification("1-7", 1, "7", "", "application/json", body.encode())
    for body in ('{"status":{"feed":""},"items":[{"id":"a","title":"A"}]}', "[]")): handle(notification)`
      const cwd = yield* temporaryDirectory
      const env = { SECRET: plain, WINDHOVER_TOKEN: "t" }
      const { stdout } = yield* Effect.promise(() => run(python, ["-c", program, packages], { cwd, env }))
      assert.strictEqual(stdout, "Receiver 3000\na A\n")
    }))
})

describe.skipIf(!hasPython)("the receivers behind a running service", () => {
  it.live("agree to their topics, and handle each notification once, in order", () =>
    Effect.gen(function*() {
      const web = yield* outside
      const [topic = ""] = web.feeds
      const service = yield* start({ WINDHOVER_DATA_DIR: yield* temporaryDirectory })
      const receivers = [
        { secret: plain, ...yield* startReceiver(plain, topic) },
        { secret: encoded, ...yield* startReceiver(encoded, topic) }
      ]
      const programs = [
        { secret: plain, program: yield* startPython(plain, topic) },
        { secret: encoded, program: yield* startPython(encoded, topic) }
      ]
      const callbacks = [
        ...receivers.map(({ secret, url }) => ({ secret, url })),
        ...programs.map(({ program, secret }) => ({ secret, url: program.url }))
      ]
      const subscribe = (url: string, secret: string, wanted: string = topic) =>
        service.call({
          "hub.mode": "subscribe",
          "hub.topic": wanted,
          "hub.callback": url,
          "hub.secret": secret,
          "hub.verify": "sync",
          format: "json"
        })
      for (const { secret, url } of callbacks) {
        assert.strictEqual((yield* subscribe(url, secret)).status, 204)
        assert.strictEqual((yield* subscribe(url, secret, `${web.url}/other`)).status, 422)
      }
      const expected = Array.from({ length: 5 }, (_, i) => `${i + 1} entry-${i + 1}`)
      for (let i = 1; i <= 5; i++) {
        web.publish(`entry-${i}`)
        yield* service.call({ "hub.mode": "publish", "hub.url": topic })
        yield* Effect.forEach(programs, ({ program }) => program.until(() => program.said.length >= i))
      }
      yield* Effect.forEach(receivers, ({ said, until }) => until(() => said.length >= 5))
      for (const { gaps, said } of receivers) assert.deepStrictEqual([said, gaps], [expected, []])
      for (const { program } of programs) assert.deepStrictEqual(program.said, expected)
    }), patience)
})
