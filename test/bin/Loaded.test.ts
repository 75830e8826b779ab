import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { join } from "node:path"

const root = join(import.meta.dirname, "..", "..")

/** URLs of the loaded modules, from a separate process. */
const loadedWith = (modules: ReadonlyArray<string>): ReadonlyArray<string> => {
  const script = `
    import { registerHooks } from "node:module"
    const loaded = []
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context) } })
    for (const module of ${JSON.stringify(modules)}) await import(module)
    process.stdout.write(JSON.stringify(loaded))`
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd: root, encoding: "utf8" })
  return JSON.parse(output) as ReadonlyArray<string>
}

describe("a start of the service", () => {
  it("loads no client of Redis, which the index of a package would bring along", () => {
    const loaded = loadedWith(["#main/main.ts", "#main/cli/Serve.ts", "#main/cli/AdministrationSocket.ts"])
    assert.isTrue(loaded.some((url) => url.endsWith("/src/actors/ActorsLayer.ts")))
    assert.deepStrictEqual(loaded.filter((url) => /\/@?redis\//.test(url)), [])
  })
})
