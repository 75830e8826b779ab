import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { createInterface } from "node:readline"
import { withSettings } from "#scripts/Environment.ts"
import { authorization, patience, token } from "#test/support/Service.ts"
import { type Counts, countsOf, findRises, type Measured, subtractIdle } from "./Counts.ts"
import { openWorld, type World } from "./World.ts"

const root = path.join(import.meta.dirname, "../..")
const recordFile = path.join(import.meta.dirname, "counts.json")

/** Without V8's optimizing compilers: optimized code allocates less, at a time that depends on the machine. */
const flags = [
  "--no-opt",
  "--no-maglev",
  "--max-semi-space-size=32",
  "--no-allocation-site-pretenuring",
  "--wasm-tiering-budget=60000000"
]

interface Program {
  readonly call: (parameters: Record<string, string>) => Effect.Effect<void>
  /** Work of the process while the effect runs, for as many operations as `count` rises by. */
  readonly measure: (count: () => number, effect: Effect.Effect<unknown>) => Effect.Effect<Measured>
}

/** A directory without a disk behind it, where the system has one: the counts are the same, and other tests write to the disk. */
const memoryDirectory = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(fs.existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir(), "windhover-test-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

const startProgram = Effect.fnUntraced(function*(world: World): Effect.fn.Return<Program, never, Scope.Scope> {
  const child = yield* spawnProgram(yield* memoryDirectory)
  const url = yield* Effect.promise(() => readUrl(child))
  yield* Effect.promise((signal) => fetch(`${url}/readyz`, { signal })).pipe(
    Effect.repeat({ until: ({ ok }) => ok, schedule: Schedule.spaced("50 millis") })
  )
  const read = Effect.promise(async () => {
    const [message] = await Promise.all([once(child, "message"), child.send("read")])
    return message[0] as Omit<Measured, "requests" | "elapsedMs" | "operations">
  })
  return {
    call: (parameters) =>
      Effect.promise(async () => {
        const body = new URLSearchParams(parameters)
        const response = await fetch(url, { method: "POST", headers: { authorization }, body })
        assert.strictEqual(response.status, 204, await response.text())
      }),
    measure: Effect.fnUntraced(function*(count, effect) {
      yield* read
      const now = () => ({ requests: world.polls() + world.posts(), operations: count(), elapsedMs: performance.now() })
      const before = now()
      yield* effect
      const after = now()
      const reading = yield* read
      return {
        ...reading,
        requests: after.requests - before.requests,
        operations: after.operations - before.operations,
        elapsedMs: after.elapsedMs - before.elapsedMs
      }
    })
  }
})

const spawnProgram = (directory: string) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn(path.join(root, "bin/node"), [...flags, path.join(import.meta.dirname, "program.ts")], {
        stdio: ["ignore", "pipe", "inherit", "ipc"],
        env: withSettings({
          WINDHOVER_PORT: "0",
          WINDHOVER_HOST: "127.0.0.1",
          WINDHOVER_DATA_DIR: directory,
          WINDHOVER_ALLOW_PRIVATE: "true",
          WINDHOVER_MIN_PERIOD: "1",
          WINDHOVER_MAX_PERIOD: "3600",
          WINDHOVER_REQUESTS_PER_MINUTE: "1000000",
          WINDHOVER_ADMIN_TOKEN: token
        })
      })
    ),
    (child) =>
      Effect.promise(async () => {
        const exited = child.exitCode === null ? once(child, "exit") : undefined
        child.kill("SIGKILL")
        await exited
      })
  )

const readUrl = async (child: ChildProcess): Promise<string> => {
  for await (const line of createInterface({ input: child.stdout! })) {
    const url = /ready on (http:\S+)/.exec(line)?.[1]
    if (url === undefined) continue
    child.stdout?.resume()
    return url.replace("localhost", "127.0.0.1")
  }
  throw new Error("the service has not started")
}

/** Confirmations and unchanged polls are written up to 1.5 s later. */
const settle = Effect.sleep("1800 millis")

/** Confirmations are written 50 ms after the first one: here one statement per ping, on a quick machine as on a slow one. */
const untilConfirmed = Effect.sleep("100 millis")

type Pair = readonly [topic: string, callback: string]

const changeSubscriptions = ({ call }: Program, mode: "subscribe" | "unsubscribe", pairs: ReadonlyArray<Pair>) =>
  Effect.forEach(
    pairs,
    ([topic, callback]) => call({ "hub.mode": mode, "hub.topic": topic, "hub.callback": callback }),
    {
      concurrency: 8,
      discard: true
    }
  )

/** Pings of topics, one after the other: the next one after all webhooks have the entry. */
const measurePings = Effect.fnUntraced(function*(
  world: World,
  program: Program,
  { topics, webhooks }: { readonly topics: ReadonlyArray<string>; readonly webhooks: number }
) {
  const polled = world.polls() + topics.length
  const pairs = topics.flatMap((topic) =>
    Array.from({ length: webhooks }, (_, i) => [topic, world.hook(i)] satisfies Pair)
  )
  yield* changeSubscriptions(program, "subscribe", pairs)
  yield* world.until(() => world.polls() >= polled)
  const ping = (topic: string) =>
    Effect.suspend(() => {
      const before = world.posts()
      world.publish(topic)
      return Effect.andThen(
        program.call({ "hub.mode": "publish", "hub.url": topic }),
        Effect.andThen(world.until(() => world.posts() >= before + webhooks), untilConfirmed)
      )
    })
  const pingAll = Effect.andThen(Effect.forEach(topics, ping, { discard: true }), settle)
  yield* pingAll // the first time, statements are prepared and connections opened
  return yield* program.measure(world.posts, pingAll)
})

/** Polls once a second that each find an entry for one webhook. */
const measureChangedPolls = Effect.fnUntraced(function*(world: World, program: Program) {
  const feeds = 10
  const first = world.posts()
  const untilRound = (round: number) => world.until(() => world.posts() >= first + round * feeds)
  const pairs = Array.from({ length: feeds }, (_, i) => [world.feed("new", i), world.hook(i)] satisfies Pair)
  yield* changeSubscriptions(program, "subscribe", pairs)
  yield* untilRound(2)
  const measured = yield* program.measure(world.posts, untilRound(6))
  yield* changeSubscriptions(program, "unsubscribe", pairs)
  yield* settle
  return measured
})

/** Polls of unchanged documents. */
const measureUnchangedPolls = Effect.fnUntraced(function*(world: World, program: Program) {
  const feeds = 60
  const pollsLater = (count: number) =>
    Effect.suspend(() => {
      const before = world.polls()
      return world.until(() => world.polls() >= before + count)
    })
  const pairs = Array.from({ length: feeds }, (_, i) => [world.feed("same", i), world.hook(i)] satisfies Pair)
  yield* changeSubscriptions(program, "subscribe", pairs)
  yield* pollsLater(feeds)
  // the database's own writes in the background come in pieces of some dozen kB
  return yield* program.measure(world.polls, pollsLater(6 * feeds))
})

describe("work of the service", () => {
  it.live("rises by at most 10 % per operation", () =>
    Effect.gen(function*() {
      const world = yield* openWorld
      const program = yield* startProgram(world)
      yield* Effect.sleep("3 seconds") // the start leaves work for later
      const idle = yield* program.measure(() => 1, Effect.sleep("5500 millis"))
      const calm = (from: number, count: number) =>
        Array.from({ length: count }, (_, i) => world.feed("calm", from + i))
      const measured = {
        "ping with a delivery": yield* measurePings(world, program, { topics: calm(0, 30), webhooks: 1 }),
        "delivery of a fan-out of 100": yield* measurePings(world, program, { topics: calm(30, 4), webhooks: 100 }),
        "changed poll with a delivery": yield* measureChangedPolls(world, program),
        "unchanged poll": yield* measureUnchangedPolls(world, program)
      }
      const counted: Record<string, Counts> = {}
      for (const [operation, work] of Object.entries(measured)) counted[operation] = countsOf(work, idle)
      if (process.env["UPDATE_WORK"] === "1") {
        fs.writeFileSync(recordFile, `${JSON.stringify(counted, undefined, 2)}\n`)
      }
      const recorded = JSON.parse(fs.readFileSync(recordFile, "utf8")) as Record<string, Counts>
      const rises = findRises(recorded, counted)
      assert.deepStrictEqual(rises, [], explain(measured, idle))
    }), patience)
})

/** The statements and timers of each operation, and the way to accept a rise. */
const explain = (measured: Readonly<Record<string, Measured>>, idle: Measured): string => {
  const list = (unit: "statements" | "timers", work: Measured) =>
    Object.entries(subtractIdle(unit, work, idle)).toSorted((a, b) => b[1] - a[1]).flatMap(([key, count]) =>
      count === 0
        ? []
        : [`  ${(count / work.operations).toFixed(2)} ${key.trim().replaceAll(/\s+/g, " ").slice(0, 100)}`]
    )
  return [
    ...Object.entries(measured).flatMap(([operation, work]) => [
      `Statements per ${operation}:`,
      ...list("statements", work),
      `Timers per ${operation}, by milliseconds:`,
      ...list("timers", work)
    ]),
    "If the work is worth its cost, record the new counts: UPDATE_WORK=1 npm test -- test/work"
  ].join("\n")
}
