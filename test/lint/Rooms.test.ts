import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

/** One rule of a room: a violation, the lint's message, and an allowed line beside it. */
interface Rule {
  readonly at: string
  readonly rule: string
  readonly refused: string
  readonly says: string
  readonly allowed: string
}

const imports = (name: string) => `export * from "${name}"`
const leave = "A room is left by name"

const rules: ReadonlyArray<Rule> = [
  {
    at: "src/domain",
    rule: "domain takes no fibers from effect",
    refused: `export { Fiber } from "effect"`,
    says: "values in, values out",
    allowed: `export { Schema } from "effect"`
  },
  {
    at: "src/domain",
    rule: "domain takes no clock, not for its type either",
    refused: `import type { Clock } from "effect"\nexport type T = Clock.Clock`,
    says: "take `now` as an argument",
    allowed: `import type { Option } from "effect"\nexport type T = Option.Option<number>`
  },
  {
    at: "src/domain",
    rule: "domain does not take effect whole",
    refused: `import * as E from "effect"\nexport const layer = E.Layer`,
    says: "values in, values out",
    allowed: `import { Result } from "effect"\nexport const one = Result.succeed(1)`
  },
  {
    at: "src/domain",
    rule: "domain imports nothing of effect/*",
    refused: imports("effect/http"),
    says: "no effect/*",
    allowed: imports("tldts")
  },
  {
    at: "src/domain",
    rule: "domain imports nothing of node:*",
    refused: imports("node:crypto"),
    says: "no node:*",
    allowed: imports("xxhash-wasm")
  },
  {
    at: "src/domain/ports",
    rule: "domain imports no other room",
    refused: imports("#actors/operations/Hub.ts"),
    says: "no other room",
    allowed: imports("#domain/Topic.ts")
  },
  {
    at: "src/domain",
    rule: "domain imports no other room later either",
    refused: `export const lazy = () => import("#layers/Settings.ts")`,
    says: "no other room",
    allowed: `export const lazy = () => import("./Topic.ts")`
  },
  {
    at: "src/domain",
    rule: "domain names no other room's type in passing",
    refused: `export type T = import("#layers/Settings.ts").T`,
    says: "import()",
    allowed: `import type { T } from "./Topic.ts"\nexport type U = T`
  },
  {
    at: "src/domain",
    rule: "domain reads entities in normalize alone",
    refused: imports("entities"),
    says: "domain imports domain",
    allowed: imports("tldts")
  },
  {
    at: "src/domain/normalize",
    rule: "domain/normalize may have entities, and no other room",
    refused: imports("#layers/outbound/FetcherUndici.ts"),
    says: "no other room",
    allowed: imports("entities")
  },
  {
    at: "src/domain/normalize",
    rule: "domain/normalize takes no queues from effect",
    refused: `export { Queue } from "effect"`,
    says: "values in, values out",
    allowed: `export { Option } from "effect"`
  },
  {
    at: "src/domain",
    rule: "domain asks no clock",
    refused: `export const at = () => Date.now()`,
    says: "passed in as `now`",
    allowed: `export const at = (now: number) => new Date(now).toISOString()`
  },
  {
    at: "src/domain",
    rule: "domain waits for nothing",
    refused: `export { Deferred } from "effect"`,
    says: "values in, values out",
    allowed: `export { Effect } from "effect"`
  },
  {
    at: "src/domain",
    rule: "domain imports no package that is not named",
    refused: imports("undici"),
    says: "domain imports domain",
    allowed: imports("tldts")
  },
  {
    at: "src/domain/feed",
    rule: "domain/feed stands below the readers",
    refused: imports("#domain/normalize/Document.ts"),
    says: "domain/feed imports",
    allowed: imports("#domain/Fingerprint.ts")
  },
  {
    at: "src/domain/collections",
    rule: "domain/collections knows no subject",
    refused: imports("#domain/Topic.ts"),
    says: "domain/collections imports",
    allowed: imports("./KeyedCounter.ts")
  },
  {
    at: "src/domain/normalize",
    rule: "domain/normalize reads documents, and knows nothing of polls",
    refused: imports("#domain/poll/PollStep.ts"),
    says: "domain/normalize imports",
    allowed: imports("#domain/feed/Entry.ts")
  },
  {
    at: "src/domain/normalize/namespaces",
    rule: "domain/normalize/namespaces has the rule of the folder above",
    refused: imports("#domain/ports/Fetcher.ts"),
    says: "domain/normalize imports",
    allowed: imports("#domain/normalize/Links.ts")
  },
  {
    at: "src/domain/render",
    rule: "domain/render needs no port",
    refused: imports("#domain/ports/Fetcher.ts"),
    says: "domain/render imports",
    allowed: imports("#domain/delivery/Notification.ts")
  },
  ...([
    ["runtime", "limits"],
    ["limits", "resource"],
    ["subscription", "resource"],
    ["resource", "cluster"],
    ["cluster", "operations"],
    ["stream", "subscription"],
    ["operations", "resource"]
  ] as const).map(([room, above]) => ({
    at: `src/actors/${room}`,
    rule: `actors/${room} does not know actors/${above}`,
    refused: imports(`#actors/${above}/Any.ts`),
    says: `actors/${room} imports`,
    allowed: imports("#domain/Topic.ts")
  })),
  ...([
    ["stream", "websub"],
    ["websub", "stream"],
    ["websub", "api"],
    ["management", "api"],
    ["api", "stream"],
    ["api", "websub"],
    ["api", "pages"],
    ["pages", "api"]
  ] as const).map(([room, sister]) => ({
    at: `src/http/${room}`,
    rule: `http/${room} does not know http/${sister}`,
    refused: imports(`#http/${sister}/Any.ts`),
    says: `http/${room} imports`,
    allowed: imports("#http/Reply.ts")
  })),
  ...([
    ["sql", "workers"],
    ["postgres", "outbound"],
    ["outbound", "sql"],
    ["server", "outbound"],
    ["workers", "outbound"]
  ] as const).map(([room, sister]) => ({
    at: `src/layers/${room}`,
    rule: `layers/${room} does not know layers/${sister}`,
    refused: imports(`#layers/${sister}/Any.ts`),
    says: `layers/${room} imports`,
    allowed: imports("undici")
  })),
  ...["domain", "actors", "http", "xmpp"].flatMap((room) => [
    {
      at: `src/${room}`,
      rule: `${room} fetches nothing`,
      refused: `export const page = () => fetch("http://a.example/")`,
      says: "fetch",
      allowed: `export const page = "http://a.example/"`
    },
    {
      at: `src/${room}`,
      rule: `${room} fetches nothing by a detour`,
      refused: `export const page = () => globalThis.fetch("http://a.example/")`,
      says: "globalThis",
      allowed: `export const page = "http://a.example/"`
    }
  ]),
  {
    at: "src/http",
    rule: "http reads no files, but its pages do",
    refused: imports("node:fs/promises"),
    says: "http imports",
    allowed: imports("node:crypto")
  },
  {
    at: "src/http/pages/elements",
    rule: "http/pages/elements imports nothing, because browsers load each file alone",
    refused: imports("#http/pages/Html.ts"),
    says: "a browser runs these files alone",
    allowed: `export const page = location.href`
  },
  {
    at: "src/domain",
    rule: "domain knows no process",
    refused: `export const home = process.cwd()`,
    says: "process",
    allowed: `export const home = "/"`
  },
  {
    at: "src/actors",
    rule: "actors import no face",
    refused: imports("#http/Reply.ts"),
    says: "actors imports actors, domain",
    allowed: imports("#domain/Topic.ts")
  },
  {
    at: "src/actors",
    rule: "actors import no layers",
    refused: imports("#layers/Settings.ts"),
    says: "actors imports actors, domain",
    allowed: imports("./ActorsLayer.ts")
  },
  {
    at: "src/actors",
    rule: "actors import modules of effect/cluster by their own paths",
    refused: imports("effect/cluster"),
    says: "each by its own path",
    allowed: imports("effect/cluster/Entity")
  },
  {
    at: "src/actors",
    rule: "actors import no effect/http",
    refused: imports("effect/http"),
    says: "behind the ports of domain",
    allowed: imports("effect/cluster/Sharding")
  },
  {
    at: "src/actors",
    rule: "actors import no effect/sql",
    refused: imports("effect/sql"),
    says: "behind the ports of domain",
    allowed: imports("effect/rpc/Rpc")
  },
  {
    at: "src/actors",
    rule: "actors import nothing of node:*",
    refused: imports("node:net"),
    says: "behind the ports of domain",
    allowed: imports("effect")
  },
  {
    at: "src/actors",
    rule: "actors ask Clock for the time",
    refused: `export const at = () => Date.now()`,
    says: "Time comes from Clock",
    allowed: `import { Clock } from "effect"\nexport const at = Clock.currentTimeMillis`
  },
  {
    at: "src/http",
    rule: "http does not know its sister",
    refused: imports("#xmpp/Requests.ts"),
    says: "knows its sister",
    allowed: imports("#actors/operations/Hub.ts")
  },
  {
    at: "src/http",
    rule: "http imports no layers",
    refused: imports("#layers/Settings.ts"),
    says: "http imports http, domain, actors",
    allowed: imports("#domain/ports/Settings.ts")
  },
  {
    at: "src/http",
    rule: "http stores nothing",
    refused: imports("effect/sql"),
    says: "stores and fetches nothing itself",
    allowed: imports("effect/http")
  },
  {
    at: "src/http",
    rule: "http stores nothing in files either",
    refused: imports("node:fs"),
    says: "stores and fetches nothing itself",
    allowed: imports("node:crypto")
  },
  {
    at: "src/http",
    rule: "http imports no package that is not named",
    refused: imports("undici"),
    says: "stores and fetches nothing itself",
    allowed: imports("@effect/platform-node/NodeHttpServerRequest")
  },
  {
    at: "src/xmpp",
    rule: "xmpp does not know its sister",
    refused: imports("#http/Reply.ts"),
    says: "knows its sister",
    allowed: imports("#actors/operations/Hub.ts")
  },
  {
    at: "src/xmpp",
    rule: "xmpp imports no layers",
    refused: imports("#layers/Settings.ts"),
    says: "xmpp imports xmpp, domain, actors",
    allowed: imports("#domain/ports/Settings.ts")
  },
  {
    at: "src/xmpp",
    rule: "xmpp speaks no HTTP",
    refused: imports("effect/http"),
    says: "speaks no HTTP",
    allowed: imports("effect/rpc/Rpc")
  },
  {
    at: "src/xmpp",
    rule: "xmpp stores nothing",
    refused: imports("effect/sql"),
    says: "stores nothing itself",
    allowed: imports("effect/cluster/Sharding")
  },
  {
    at: "src/xmpp",
    rule: "xmpp imports no package that is not named",
    refused: imports("@xmpp/client"),
    says: "xmpp imports xmpp, domain, actors",
    allowed: imports("@xmpp/xml")
  },
  ...["domain", "actors", "http", "xmpp", "layers", "cli"].map((room) => ({
    at: `src/${room}`,
    rule: `${room} imports no script`,
    refused: imports("#scripts/Environment.ts"),
    says: room === "cli" ? "no source a script" : `${room} imports`,
    allowed: imports("./Beside.ts")
  })),
  ...["actors/operations/Hub.ts", "http/Reply.ts", "xmpp/Requests.ts"].map((path) => ({
    at: "src/layers",
    rule: `layers import no ${path.split("/")[0]}`,
    refused: imports(`#${path}`),
    says: "layers imports layers, domain",
    allowed: imports("#domain/Topic.ts")
  })),
  ...["domain", "actors", "http", "xmpp", "layers"].flatMap((room) => [
    {
      at: `src/${room}`,
      rule: `${room} imports nothing of main`,
      refused: imports("#main/main.ts"),
      says: `${room} imports`,
      allowed: imports("./Beside.ts")
    },
    {
      at: `src/${room}`,
      rule: `${room} imports nothing of the tests`,
      refused: imports("#test/support/Api.ts"),
      says: `${room} imports`,
      allowed: imports("./Beside.ts")
    },
    {
      at: `src/${room}`,
      rule: `${room} is not left by a path`,
      refused: imports("../domain/Topic.ts"),
      says: leave,
      allowed: imports("#domain/Topic.ts")
    },
    {
      at: `src/${room}`,
      rule: `${room} is not left by a detour`,
      refused: imports("./deep/../../main.ts"),
      says: leave,
      allowed: imports("./deep/Beside.ts")
    }
  ]),
  {
    at: "src",
    rule: "main enters rooms by their names",
    refused: imports("./layers/Settings.ts"),
    says: "entered by its own name",
    allowed: imports("#layers/Settings.ts")
  },
  {
    at: "src/cli",
    rule: "main enters rooms by their own names",
    refused: imports("#main/http/Reply.ts"),
    says: "entered by its own name",
    allowed: imports("#http/Reply.ts")
  },
  {
    at: "src/cli",
    rule: "main imports nothing of the tests",
    refused: imports("#test/support/Api.ts"),
    says: "Nobody imports the tests",
    allowed: imports("#main/main.ts")
  },
  ...["domain", "layers", "cli"].map((room) => ({
    at: `src/${room}`,
    rule: `${room} imports no published package`,
    refused: imports("#packages/receiver/src/index.ts"),
    says: room === "cli" ? "or a published package" : `${room} imports`,
    allowed: imports("./Beside.ts")
  })),
  ...["#domain/Topic.ts", "effect", "node:crypto"].map((name) => ({
    at: "packages/receiver/src",
    rule: `a published package imports no ${name}`,
    refused: imports(name),
    says: "published alone",
    allowed: imports("./Beside.ts")
  })),
  {
    at: "packages/receiver/src",
    rule: "a published package uses no global of Node",
    refused: "export const home = process.env",
    says: "process",
    allowed: "export const get = fetch"
  },
  {
    at: "bench",
    rule: "benchmarks import nothing of the tests",
    refused: imports("#test/support/Api.ts"),
    says: "Nobody imports the tests",
    allowed: imports("#layers/Settings.ts")
  },
  {
    at: "test/domain",
    rule: "tests are left by name too",
    refused: imports("../support/Api.ts"),
    says: leave,
    allowed: imports("#test/support/Api.ts")
  },
  {
    at: "test/domain",
    rule: "tests assert, and expect nothing",
    refused: `export { expect } from "@effect/vitest"`,
    says: "`assert`",
    allowed: `export { assert } from "@effect/vitest"`
  }
]

interface Diagnostic {
  readonly filename: string
  readonly message: string
  readonly help?: string
}

const root = join(import.meta.dirname, "..", "..")

/** Runs the project's lint over these files (path and source). */
const lint = (files: ReadonlyArray<readonly [string, string]>): ReadonlyArray<Diagnostic> => {
  const directory = mkdtempSync(join(tmpdir(), "windhover-lint-"))
  try {
    cpSync(join(root, "oxlint.config.ts"), join(directory, "oxlint.config.ts"))
    for (const [path, source] of files) {
      mkdirSync(dirname(join(directory, path)), { recursive: true })
      writeFileSync(join(directory, path), `${source}\n`)
    }
    return JSON.parse(runLint(directory)).diagnostics
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Output of oxlint, whose exit code is 1 after a finding. */
const runLint = (directory: string): string => {
  try {
    execFileSync(process.execPath, [join(root, "node_modules/oxlint/bin/oxlint"), "--format=json"], {
      cwd: directory,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"]
    })
    return assert.fail("the lint has found nothing in the planted files")
  } catch (error) {
    const { status, stdout } = error as { status?: number; stdout?: string }
    if (status !== 1 || stdout === undefined) throw error
    return stdout
  }
}

/** The lint cannot distinguish `new Date()`, which reads the clock, from `new Date(now)`. */
it("no source asks the clock by new Date()", () => {
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".ts")
  )
  const asking = sources.filter((path) => asksClock(readFileSync(join(root, "src", path), "utf8")))
  assert.isAbove(sources.length, 100)
  assert.deepStrictEqual(asking, [])
  assert.deepStrictEqual(["new Date()", " Date()", "new Date(now)", "Date.now()"].filter(asksClock), [
    "new Date()",
    " Date()"
  ])
})

const asksClock = (source: string): boolean => /(?<![.\w])Date\(\)/.test(source)

describe("the lint of the rooms", () => {
  const refused = (index: number) => `${rules[index]!.at}/refused-${index}.ts`
  const allowed = (index: number) => `${rules[index]!.at}/allowed-${index}.ts`
  const diagnostics = lint(
    rules.flatMap((rule, index) => [[refused(index), rule.refused], [allowed(index), rule.allowed]] as const)
  )
  const saidOf = (path: string) =>
    diagnostics.filter(({ filename }) => filename === path).map(({ help, message }) => `${message} ${help ?? ""}`)

  rules.forEach((rule, index) =>
    it(rule.rule, () => {
      const said = saidOf(refused(index))
      assert.strictEqual(said.length, 1, said.join("\n"))
      assert.include(said[0], rule.says)
      assert.deepStrictEqual(saidOf(allowed(index)), [])
    })
  )
})
