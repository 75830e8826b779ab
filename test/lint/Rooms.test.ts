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
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain takes no fibers from effect",
    ["stream", "subscription"],
    ["operations", "resource"]efused: `export { Fiber } from "effect"`,
    ["stream", "subscription"],
    ["operations", "resource"]ays: "values in, values out",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: `export { Schema } from "effect"`
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain takes no clock, not for its type either",
    ["stream", "subscription"],
    ["operations", "resource"]efused: `import type { Clock } from "effect"\nexport type T = Clock.Clock`,
    ["stream", "subscription"],
    ["operations", "resource"]ays: "take `now` as an argument",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: `import type { Option } from "effect"\nexport type T = Option.Option<number>`
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain does not take effect whole",
    ["stream", "subscription"],
    ["operations", "resource"]efused: `import * as E from "effect"\nexport const layer = E.Layer`,
    ["stream", "subscription"],
    ["operations", "resource"]ays: "values in, values out",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: `import { Result } from "effect"\nexport const one = Result.succeed(1)`
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain imports nothing of effect/*",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("effect/http"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "no effect/*",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("tldts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain imports nothing of node:*",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("node:crypto"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "no node:*",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("xxhash-wasm")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain/ports",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain imports no other room",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#actors/operations/Hub.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "no other room",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#domain/Topic.ts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain imports no other room later either",
    ["stream", "subscription"],
    ["operations", "resource"]efused: `export const lazy = () => import("#layers/Settings.ts")`,
    ["stream", "subscription"],
    ["operations", "resource"]ays: "no other room",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: `export const lazy = () => import("./Topic.ts")`
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain names no other room's type in passing",
    ["stream", "subscription"],
    ["operations", "resource"]efused: `export type T = import("#layers/Settings.ts").T`,
    ["stream", "subscription"],
    ["operations", "resource"]ays: "import()",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: `import type { T } from "./Topic.ts"\nexport type U = T`
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain reads entities in normalize alone",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("entities"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "domain imports domain",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("tldts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain/normalize",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain/normalize may have entities, and no other room",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#layers/outbound/FetcherUndici.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "no other room",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("entities")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain/normalize",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain/normalize takes no queues from effect",
    ["stream", "subscription"],
    ["operations", "resource"]efused: `export { Queue } from "effect"`,
    ["stream", "subscription"],
    ["operations", "resource"]ays: "values in, values out",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: `export { Option } from "effect"`
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain asks no clock",
    ["stream", "subscription"],
    ["operations", "resource"]efused: `export const at = () => Date.now()`,
    ["stream", "subscription"],
    ["operations", "resource"]ays: "passed in as `now`",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: `export const at = (now: number) => new Date(now).toISOString()`
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain waits for nothing",
    ["stream", "subscription"],
    ["operations", "resource"]efused: `export { Deferred } from "effect"`,
    ["stream", "subscription"],
    ["operations", "resource"]ays: "values in, values out",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: `export { Effect } from "effect"`
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain imports no package that is not named",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("undici"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "domain imports domain",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("tldts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain/feed",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain/feed stands below the readers",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#domain/normalize/Document.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "domain/feed imports",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#domain/Fingerprint.ts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain/collections",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain/collections knows no subject",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#domain/Topic.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "domain/collections imports",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("./KeyedCounter.ts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain/normalize",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain/normalize reads documents, and knows nothing of polls",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#domain/poll/PollStep.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "domain/normalize imports",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#domain/feed/Entry.ts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain/normalize/namespaces",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain/normalize/namespaces has the rule of the folder above",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#domain/ports/Fetcher.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "domain/normalize imports",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#domain/normalize/Links.ts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain/render",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain/render needs no port",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#domain/ports/Fetcher.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "domain/render imports",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#domain/delivery/Notification.ts")
  },
  ...([
    ["runtime", "limits"],
    ["limits", "resource"],
    ["subscription", "resource"],
    ["resource", "cluster"],
    ["cluster", "operations"],
    ["operations", "resource"]
  ] as const).map(([room, above]) => ({
    ["stream", "subscription"],
    ["operations", "resource"]t: `src/actors/${room}`,
    ["stream", "subscription"],
    ["operations", "resource"]ule: `actors/${room} does not know actors/${above}`,
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports(`#actors/${above}/Any.ts`),
    ["stream", "subscription"],
    ["operations", "resource"]ays: `actors/${room} imports`,
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#domain/Topic.ts")
  })),
  ...([
    ["stream", "websub"],
    ["websub", "stream"],
    ["websub", "api"],
    ["api", "stream"],
    ["api", "websub"]
  ] as const).map(([room, sister]) => ({
    ["stream", "subscription"],
    ["operations", "resource"]t: `src/http/${room}`,
    ["stream", "subscription"],
    ["operations", "resource"]ule: `http/${room} does not know http/${sister}`,
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports(`#http/${sister}/Any.ts`),
    ["stream", "subscription"],
    ["operations", "resource"]ays: `http/${room} imports`,
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#http/Reply.ts")
  })),
  ...([
    ["sql", "workers"],
    ["postgres", "outbound"],
    ["outbound", "sql"],
    ["server", "outbound"],
    ["workers", "outbound"]
  ] as const).map(([room, sister]) => ({
    ["stream", "subscription"],
    ["operations", "resource"]t: `src/layers/${room}`,
    ["stream", "subscription"],
    ["operations", "resource"]ule: `layers/${room} does not know layers/${sister}`,
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports(`#layers/${sister}/Any.ts`),
    ["stream", "subscription"],
    ["operations", "resource"]ays: `layers/${room} imports`,
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("undici")
  })),
  ...["domain", "actors", "http", "xmpp"].flatMap((room) => [
    {
    ["stream", "subscription"],
    ["operations", "resource"] at: `src/${room}`,
    ["stream", "subscription"],
    ["operations", "resource"] rule: `${room} fetches nothing`,
    ["stream", "subscription"],
    ["operations", "resource"] refused: `export const page = () => fetch("http://a.example/")`,
    ["stream", "subscription"],
    ["operations", "resource"] says: "fetch",
    ["stream", "subscription"],
    ["operations", "resource"] allowed: `export const page = "http://a.example/"`
    },
    {
    ["stream", "subscription"],
    ["operations", "resource"] at: `src/${room}`,
    ["stream", "subscription"],
    ["operations", "resource"] rule: `${room} fetches nothing by a detour`,
    ["stream", "subscription"],
    ["operations", "resource"] refused: `export const page = () => globalThis.fetch("http://a.example/")`,
    ["stream", "subscription"],
    ["operations", "resource"] says: "globalThis",
    ["stream", "subscription"],
    ["operations", "resource"] allowed: `export const page = "http://a.example/"`
    }
  ]),
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/domain",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "domain knows no process",
    ["stream", "subscription"],
    ["operations", "resource"]efused: `export const home = process.cwd()`,
    ["stream", "subscription"],
    ["operations", "resource"]ays: "process",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: `export const home = "/"`
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/actors",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "actors import no face",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#http/Reply.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "actors imports actors, domain",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#domain/Topic.ts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/actors",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "actors import no layers",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#layers/Settings.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "actors imports actors, domain",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("./ActorsLayer.ts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/actors",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "actors import modules of effect/cluster by their own paths",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("effect/cluster"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "each by its own path",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("effect/cluster/Entity")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/actors",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "actors import no effect/http",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("effect/http"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "behind the ports of domain",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("effect/cluster/Sharding")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/actors",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "actors import no effect/sql",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("effect/sql"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "behind the ports of domain",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("effect/rpc/Rpc")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/actors",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "actors import nothing of node:*",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("node:net"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "behind the ports of domain",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("effect")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/actors",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "actors ask Clock for the time",
    ["stream", "subscription"],
    ["operations", "resource"]efused: `export const at = () => Date.now()`,
    ["stream", "subscription"],
    ["operations", "resource"]ays: "Time comes from Clock",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: `import { Clock } from "effect"\nexport const at = Clock.currentTimeMillis`
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/http",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "http does not know its sister",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#xmpp/Requests.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "knows its sister",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#actors/operations/Hub.ts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/http",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "http imports no layers",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#layers/Settings.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "http imports http, domain, actors",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#domain/ports/Settings.ts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/http",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "http stores nothing",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("effect/sql"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "stores and fetches nothing itself",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("effect/http")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/http",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "http stores nothing in files either",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("node:fs"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "stores and fetches nothing itself",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("node:crypto")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/http",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "http imports no package that is not named",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("undici"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "stores and fetches nothing itself",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("@effect/platform-node/NodeHttpServerRequest")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/xmpp",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "xmpp does not know its sister",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#http/Reply.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "knows its sister",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#actors/operations/Hub.ts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/xmpp",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "xmpp imports no layers",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#layers/Settings.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "xmpp imports xmpp, domain, actors",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#domain/ports/Settings.ts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/xmpp",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "xmpp speaks no HTTP",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("effect/http"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "speaks no HTTP",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("effect/rpc/Rpc")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/xmpp",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "xmpp stores nothing",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("effect/sql"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "stores nothing itself",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("effect/cluster/Sharding")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/xmpp",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "xmpp imports no package that is not named",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("@xmpp/client"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "xmpp imports xmpp, domain, actors",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("@xmpp/xml")
  },
  ...["domain", "actors", "http", "xmpp", "layers", "cli"].map((room) => ({
    ["stream", "subscription"],
    ["operations", "resource"]t: `src/${room}`,
    ["stream", "subscription"],
    ["operations", "resource"]ule: `${room} imports no script`,
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#scripts/Environment.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: room === "cli" ? "no source a script" : `${room} imports`,
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("./Beside.ts")
  })),
  ...["actors/operations/Hub.ts", "http/Reply.ts", "xmpp/Requests.ts"].map((path) => ({
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/layers",
    ["stream", "subscription"],
    ["operations", "resource"]ule: `layers import no ${path.split("/")[0]}`,
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports(`#${path}`),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "layers imports layers, domain",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#domain/Topic.ts")
  })),
  ...["domain", "actors", "http", "xmpp", "layers"].flatMap((room) => [
    {
    ["stream", "subscription"],
    ["operations", "resource"] at: `src/${room}`,
    ["stream", "subscription"],
    ["operations", "resource"] rule: `${room} imports nothing of main`,
    ["stream", "subscription"],
    ["operations", "resource"] refused: imports("#main/main.ts"),
    ["stream", "subscription"],
    ["operations", "resource"] says: `${room} imports`,
    ["stream", "subscription"],
    ["operations", "resource"] allowed: imports("./Beside.ts")
    },
    {
    ["stream", "subscription"],
    ["operations", "resource"] at: `src/${room}`,
    ["stream", "subscription"],
    ["operations", "resource"] rule: `${room} imports nothing of the tests`,
    ["stream", "subscription"],
    ["operations", "resource"] refused: imports("#test/support/Api.ts"),
    ["stream", "subscription"],
    ["operations", "resource"] says: `${room} imports`,
    ["stream", "subscription"],
    ["operations", "resource"] allowed: imports("./Beside.ts")
    },
    {
    ["stream", "subscription"],
    ["operations", "resource"] at: `src/${room}`,
    ["stream", "subscription"],
    ["operations", "resource"] rule: `${room} is not left by a path`,
    ["stream", "subscription"],
    ["operations", "resource"] refused: imports("../domain/Topic.ts"),
    ["stream", "subscription"],
    ["operations", "resource"] says: leave,
    ["stream", "subscription"],
    ["operations", "resource"] allowed: imports("#domain/Topic.ts")
    },
    {
    ["stream", "subscription"],
    ["operations", "resource"] at: `src/${room}`,
    ["stream", "subscription"],
    ["operations", "resource"] rule: `${room} is not left by a detour`,
    ["stream", "subscription"],
    ["operations", "resource"] refused: imports("./deep/../../main.ts"),
    ["stream", "subscription"],
    ["operations", "resource"] says: leave,
    ["stream", "subscription"],
    ["operations", "resource"] allowed: imports("./deep/Beside.ts")
    }
  ]),
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "main enters rooms by their names",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("./layers/Settings.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "entered by its own name",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#layers/Settings.ts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/cli",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "main enters rooms by their own names",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#main/http/Reply.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "entered by its own name",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#http/Reply.ts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "src/cli",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "main imports nothing of the tests",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#test/support/Api.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "Nobody imports the tests",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#main/main.ts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "bench",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "benchmarks import nothing of the tests",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("#test/support/Api.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: "Nobody imports the tests",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#layers/Settings.ts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "test/domain",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "tests are left by name too",
    ["stream", "subscription"],
    ["operations", "resource"]efused: imports("../support/Api.ts"),
    ["stream", "subscription"],
    ["operations", "resource"]ays: leave,
    ["stream", "subscription"],
    ["operations", "resource"]llowed: imports("#test/support/Api.ts")
  },
  {
    ["stream", "subscription"],
    ["operations", "resource"]t: "test/domain",
    ["stream", "subscription"],
    ["operations", "resource"]ule: "tests assert, and expect nothing",
    ["stream", "subscription"],
    ["operations", "resource"]efused: `export { expect } from "@effect/vitest"`,
    ["stream", "subscription"],
    ["operations", "resource"]ays: "`assert`",
    ["stream", "subscription"],
    ["operations", "resource"]llowed: `export { assert } from "@effect/vitest"`
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
    ["stream", "subscription"],
    ["operations", "resource"]pSync(join(root, "oxlint.config.ts"), join(directory, "oxlint.config.ts"))
    for (const [path, source] of files) {
    ["stream", "subscription"],
    ["operations", "resource"] mkdirSync(dirname(join(directory, path)), { recursive: true })
    ["stream", "subscription"],
    ["operations", "resource"] writeFileSync(join(directory, path), `${source}\n`)
    }
    ["stream", "subscription"],
    ["operations", "resource"]eturn JSON.parse(runLint(directory)).diagnostics
  } finally {
    ["stream", "subscription"],
    ["operations", "resource"]mSync(directory, { recursive: true })
  }
}

/** Output of oxlint, whose exit code is 1 after a finding. */
const runLint = (directory: string): string => {
  try {
    ["stream", "subscription"],
    ["operations", "resource"]xecFileSync(process.execPath, [join(root, "node_modules/oxlint/bin/oxlint"), "--format=json"], {
    ["stream", "subscription"],
    ["operations", "resource"] cwd: directory,
    ["stream", "subscription"],
    ["operations", "resource"] encoding: "utf8",
    ["stream", "subscription"],
    ["operations", "resource"] stdio: ["ignore", "pipe", "pipe"]
    })
    ["stream", "subscription"],
    ["operations", "resource"]eturn assert.fail("the lint has found nothing in the planted files")
  } catch (error) {
    ["stream", "subscription"],
    ["operations", "resource"]onst { status, stdout } = error as { status?: number; stdout?: string }
    ["stream", "subscription"],
    ["operations", "resource"]f (status !== 1 || stdout === undefined) throw error
    ["stream", "subscription"],
    ["operations", "resource"]eturn stdout
  }
}

/** The lint cannot distinguish `new Date()`, which reads the clock, from `new Date(now)`. */
it("no source asks the clock by new Date()", () => {
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).filter((path) =>
    ["stream", "subscription"],
    ["operations", "resource"]ath.endsWith(".ts")
  )
  const asking = sources.filter((path) => asksClock(readFileSync(join(root, "src", path), "utf8")))
  assert.isAbove(sources.length, 100)
  assert.deepStrictEqual(asking, [])
  assert.deepStrictEqual(["new Date()", " Date()", "new Date(now)", "Date.now()"].filter(asksClock), [
    ["stream", "subscription"],
    ["operations", "resource"]new Date()",
    ["stream", "subscription"],
    ["operations", "resource"] Date()"
  ])
})

const asksClock = (source: string): boolean => /(?<![.\w])Date\(\)/.test(source)

describe("the lint of the rooms", () => {
  const refused = (index: number) => `${rules[index]!.at}/refused-${index}.ts`
  const allowed = (index: number) => `${rules[index]!.at}/allowed-${index}.ts`
  const diagnostics = lint(
    ["stream", "subscription"],
    ["operations", "resource"]ules.flatMap((rule, index) => [[refused(index), rule.refused], [allowed(index), rule.allowed]] as const)
  )
  const saidOf = (path: string) =>
    diagnostics.filter(({ filename }) => filename === path).map(({ help, message }) => `${message} ${help ?? ""}`)

  rules.forEach((rule, index) =>
    ["stream", "subscription"],
    ["operations", "resource"]t(rule.rule, () => {
    ["stream", "subscription"],
    ["operations", "resource"] const said = saidOf(refused(index))
    ["stream", "subscription"],
    ["operations", "resource"] assert.strictEqual(said.length, 1, said.join("\n"))
    ["stream", "subscription"],
    ["operations", "resource"] assert.include(said[0], rule.says)
    ["stream", "subscription"],
    ["operations", "resource"] assert.deepStrictEqual(saidOf(allowed(index)), [])
    })
  )
})
