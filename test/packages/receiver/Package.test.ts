import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { promisify } from "node:util"
import { freePort } from "#scripts/FreePort.ts"
import { available } from "#test/support/Available.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { startProgram } from "#test/support/Program.ts"
import { post, signed, told } from "./Requests.ts"

const run = promisify(execFile)
const root = join(import.meta.dirname, "../../..")
const source = join(root, "packages/receiver")
const frameworks = join(root, "test/packages/frameworks")
const secret = "a-secret"

const hasFrameworks = await available(
  "Express and Hono (npm ci)",
  run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: frameworks })
)

/** Code blocks that begin with the name of a file. */
const examples = new Map(
  [join(root, "docs/receiving.md"), join(source, "README.md")].flatMap((page) =>
    [...readFileSync(page, "utf8").matchAll(/```[jt]s\n\/\/ (\S+)\n(.*?)```/gs)].map(([, name = "", text = ""]) =>
      [name, text] as const
    )
  )
)

/** A project that has installed the packed package, and the frameworks, with the examples beside. */
const directory = mkdtempSync(join(tmpdir(), "windhover-package-"))
afterAll(() => rmSync(directory, { recursive: true }))
beforeAll(async () => {
  const packed = await run("npm", ["pack", "--silent", "--pack-destination", directory], { cwd: source })
  const tarball = join(directory, packed.stdout.trim().split("\n").at(-1) ?? "")
  writeFileSync(join(directory, "package.json"), JSON.stringify({ name: "a-project", private: true, type: "module" }))
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", "--no-package-lock", tarball], {
    cwd: directory
  })
  for (const name of ["express", "hono"]) {
    symlinkSync(join(frameworks, "node_modules", name), join(directory, "node_modules", name))
  }
  for (const [name, text] of examples) writeFileSync(join(directory, name), text)
})

/** Starts an example as a program in its own working directory, and returns its URL. */
const startExample = Effect.fnUntraced(function*(name: string, path: string, workingDirectory: string) {
  const port = yield* Effect.promise(freePort)
  const program = yield* startProgram("env", [
    "--chdir",
    workingDirectory,
    `SECRET=${secret}`,
    `PORT=${port}`,
    process.execPath,
    join(directory, name)
  ])
  yield* program.until(() => program.said.includes("ready"))
  return { ...program, url: `http://127.0.0.1:${port}${path}` }
})

const send = (url: string, sequence: number, key = secret) =>
  Effect.promise(async () => {
    const response = await fetch(url, { method: "POST", ...signed({ sequence }, key) })
    await response.arrayBuffer()
    return response.status
  })

const load = (name: string) => Effect.promise(() => import(pathToFileURL(join(directory, name)).href))

describe("the packed @windhover/receiver", () => {
  it.live("holds its build, its licence and its README alone", () =>
    Effect.gen(function*() {
      const installed = join(directory, "node_modules/@windhover/receiver")
      const { dependencies, name, version } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"))
      assert.deepStrictEqual({ dependencies, name, version }, {
        dependencies: undefined,
        name: "@windhover/receiver",
        version: "1.0.0"
      })
      const { stdout } = yield* Effect.promise(() => run("find", [installed, "-type", "f", "-printf", "%P\n"]))
      const files = stdout.trim().split("\n").map((file) => file.replace(/^dist\/\w+\.(d\.ts|js)$/, "dist/*.$1"))
      assert.sameMembers([...new Set(files)], ["LICENSE", "README.md", "package.json", "dist/*.js", "dist/*.d.ts"])
    }))

  it.live("compiles with the types of its examples, and its core without those of Node", () =>
    Effect.gen(function*() {
      const compile = (files: ReadonlyArray<string>, types: ReadonlyArray<string>) =>
        Effect.promise(async () => {
          const compilerOptions = {
            lib: ["ES2022", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
            target: "ES2022",
            module: "NodeNext",
            types,
            typeRoots: [join(root, "node_modules/@types")],
            strict: true,
            exactOptionalPropertyTypes: true,
            noUncheckedIndexedAccess: true,
            allowJs: true,
            checkJs: true,
            noImplicitAny: false, // parameters of the examples in JavaScript have no types
            noEmit: true
          }
          writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions, files }))
          const tsc = run(join(root, "node_modules/.bin/tsc"), ["--pretty", "false"], { cwd: directory })
          return await tsc.then(() => "", ({ stdout }) => String(stdout))
        })
      const types = join(directory, "node_modules/@types")
      mkdirSync(types, { recursive: true })
      assert.strictEqual(yield* compile(["store.ts"], []), "")
      symlinkSync(join(root, "node_modules/@types/node"), join(types, "node"))
      const inNode = [...examples.keys()].filter((name) => name !== "express.mjs") // Express has no types of its own
      assert.strictEqual(yield* compile(inNode, ["node"]), "")
      assert.sameMembers([...examples.keys()], [
        "express.mjs",
        "gaps.mjs",
        "hono.mjs",
        "next.mjs",
        "node.mjs",
        "receiver.mjs",
        "store.ts",
        "worker.mjs"
      ])
    }))

  for (const [name, path] of [["node.mjs", "/"], ["receiver.mjs", "/hook"]] as const) {
    it.live(`runs ${name}, which goes on where it was after a kill`, () =>
      Effect.gen(function*() {
        const state = yield* temporaryDirectory
        const first = yield* startExample(name, path, state)
        const statuses = [yield* send(first.url, 1), yield* send(first.url, 1), yield* send(first.url, 2, "another")]
        first.child.kill("SIGKILL")
        const second = yield* startExample(name, path, state)
        statuses.push(yield* send(second.url, 1), yield* send(second.url, 2))
        assert.deepStrictEqual(statuses, [204, 204, 401, 204, 204])
        const lines = name === "node.mjs" ? ["101-7 http://feeds.test/a", "102-7 http://feeds.test/a"] : [
          "e-1 undefined",
          "e-2 undefined"
        ]
        assert.deepStrictEqual([first.said, second.said], [["ready", lines[0]], ["ready", lines[1]]])
        const intent = yield* Effect.promise(async () => {
          const query = "hub.mode=subscribe&hub.topic=https://xkcd.com/rss.xml&hub.challenge=42"
          return told(await fetch(`${second.url}?${query}`))
        })
        assert.strictEqual(intent, "200 42")
      }))
  }

  it.live.skipIf(!hasFrameworks)("runs in Express", () =>
    Effect.gen(function*() {
      const { said, url } = yield* startExample("express.mjs", "/hook", directory)
      assert.deepStrictEqual([yield* send(url, 1), yield* send(url, 1), yield* send(url, 2)], [204, 204, 204])
      assert.deepStrictEqual(said, ["ready", "101-7 http://feeds.test/a", "102-7 http://feeds.test/a"])
    }))

  it.live.skipIf(!hasFrameworks)("tells that express.json() came first", () =>
    Effect.gen(function*() {
      const text = examples.get("express.mjs") ?? ""
      const [hook = ""] = /^app\.all.*$/m.exec(text) ?? []
      const late = text.replace(hook, "").replace("app.listen", `${hook}\napp.listen`)
      writeFileSync(join(directory, "late.mjs"), late)
      const { url } = yield* startExample("late.mjs", "/hook", directory)
      const answer = yield* Effect.promise(async () =>
        told(await fetch(url, { method: "POST", ...signed({ sequence: 1 }) }))
      )
      assert.match(answer, /^500 The body was parsed before .* Mount the receiver before express\.json\(\)/)
    }))

  it.live.skipIf(!hasFrameworks)("runs in Hono, Next and workers", () =>
    Effect.gen(function*() {
      process.env["SECRET"] = secret
      const [hono, next, worker, store] = yield* Effect.forEach(
        ["hono.mjs", "next.mjs", "worker.mjs", "store.ts"],
        load
      ).pipe(Effect.ensuring(Effect.sync(() => delete process.env["SECRET"])))
      const table = new Map<string, string>()
      const kept = store.makeStore({
        get: async (key: string) => table.get(key),
        set: async (key: string, json: string) => void table.set(key, json)
      })
      const handlers: ReadonlyArray<(request: Request) => Promise<Response>> = [
        (request) => hono.app.fetch(request),
        next.POST,
        (request) => worker.default.fetch(request, { SECRET: secret, store: kept })
      ]
      for (const handler of handlers) {
        const answers: Array<number> = []
        for (const key of [secret, secret, "another"]) {
          answers.push((yield* Effect.promise(() => handler(post(signed({ sequence: 1 }, key))))).status)
        }
        assert.deepStrictEqual(answers, [204, 204, 401])
      }
      assert.deepStrictEqual([...table.values()].map((json): unknown => JSON.parse(json)), [
        { last: 1, first: "101-7", recent: [["101-7", 1]] }
      ])
    }))
})
