import { assert, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

/** Runs a database that parses 300 statements. V8 reports each function that it optimizes. */
const parseStatements = `
  import { openBackend } from "#layers/postgres/embedded/Backend.ts"
  import { unpackTemplate } from "#layers/postgres/embedded/Template.ts"
  const cluster = process.env.CLUSTER
  await unpackTemplate(cluster)
  const backend = await openBackend(Promise.resolve(cluster), (error) => { throw error }, () => {})
  for (let i = 0; i < 300; i++) {
    const text = Buffer.from("select " + Array.from({ length: 40 }, (_, n) => n + i).join(" + ") + "\\0")
    const head = Buffer.from("Q0000")
    head.writeInt32BE(text.length + 4, 1)
    backend.execute(Buffer.concat([head, text]))
  }
  await backend.close()
`

/** V8 takes 600 MB for the parser, and at most 41 MB for each of the other functions. */
const maxCompilerBytes = 200_000_000

it("leaves the parser to V8's fast compiler, and optimizes the rest", async () => {
  const cluster = join(mkdtempSync(join(tmpdir(), "windhover-test-")), "database")
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--trace-wasm-compilation-times",
    "--wasm-sync-tier-up",
    "--wasm-tiering-budget=5000000",
    "--input-type=module",
    "--eval",
    parseStatements
  ], { env: { ...process.env, CLUSTER: cluster }, maxBuffer: 64 * 1024 * 1024 })
  rmSync(join(cluster, ".."), { recursive: true })
  const compilerBytes = [...stdout.matchAll(/using TurboFan, took \d+ ms and (\d+) /g)].map(([, bytes]) =>
    Number(bytes)
  )
  assert.isAbove(compilerBytes.length, 10)
  assert.isBelow(Math.max(...compilerBytes), maxCompilerBytes)
}, 120_000)
