import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import typescript from "typescript/package.json" with { type: "json" }

const root = join(import.meta.dirname, "..", "..")

/** The compiler that `effect-tsgo patch` installs in place of tsc. */
const compiler = join(
  root,
  `node_modules/@effect/tsgo-${process.platform}-${process.arch}/artifacts/typescript/${typescript.version}/tsc`
)

/** Compiles one file of src/domain with the project's tsconfig.json and Effect's diagnostics. */
const compile = (source: string): { readonly status: number | null; readonly stdout: string } => {
  const directory = mkdtempSync(join(tmpdir(), "windhover-types-"))
  try {
    symlinkSync(join(root, "node_modules"), join(directory, "node_modules"))
    for (const file of ["tsconfig.json", "package.json"]) cpSync(join(root, file), join(directory, file))
    mkdirSync(join(directory, "src", "domain"), { recursive: true })
    writeFileSync(join(directory, "src", "domain", "Planted.ts"), source)
    return spawnSync(compiler, ["--pretty", "false"], { cwd: directory, encoding: "utf8" })
  } finally {
    rmSync(directory, { recursive: true })
  }
}

const service = (key: string) =>
  `import { Context, type Effect } from "effect"
export class Planted extends Context.Service<Planted, { readonly size: Effect.Effect<number> }>()("${key}") {}
`

describe("the compiler's settings", () => {
  it("let a service have the key of its file", () => {
    assert.deepInclude(compile(service("windhover/domain/Planted")), { status: 0, stdout: "" })
  })

  it("refuse a key that another file could have", () => {
    const { status, stdout } = compile(service("windhover/Planted"))
    assert.include(stdout, "The expected key is `windhover/domain/Planted`")
    assert.notStrictEqual(status, 0)
  })

  it("refuse an effect that nobody runs", () => {
    const { status, stdout } = compile(
      `import { Effect } from "effect"\nexport const lost = () => {\n  Effect.log("lost")\n}\n`
    )
    assert.include(stdout, "effect(floatingEffect)")
    assert.notStrictEqual(status, 0)
  })

  it("refuse what is a suggestion to Effect's language service", () => {
    const { status, stdout } = compile(
      `import { Effect } from "effect"\nexport const nothing = Effect.succeed(undefined)\n`
    )
    assert.include(stdout, "effect(effectSucceedWithVoid)")
    assert.notStrictEqual(status, 0)
  })

  it("refuse syntax that stripping types would leave behind", () => {
    const { status, stdout } = compile("export enum Kind {\n  Feed\n}\n")
    assert.include(stdout, "TS1294")
    assert.notStrictEqual(status, 0)
  })
})
