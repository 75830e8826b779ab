/**
 * Formats the project's files with the settings of dprint.json. With `--check`, lists unformatted files.
 *
 * The plugins run as WebAssembly inside Node. dprint's own program would be a native binary from an install script, and its caches and
 * platform packages are not available everywhere.
 *
 * Paths limit the run: `npm run format -- src/domain`.
 */
import { createContext } from "@dprint/formatter"
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join, matchesGlob, relative } from "node:path"

interface Configuration {
  readonly lineWidth: number
  readonly indentWidth: number
  readonly useTabs: boolean
  readonly newLineKind: "lf"
  readonly excludes: ReadonlyArray<string>
  /** Paths of the plugins' WebAssembly. The name of the folder is the name of the plugin's settings. */
  readonly plugins: ReadonlyArray<string>
  readonly [plugin: string]: unknown
}

const extensions = /\.(ts|mts|cts|js|mjs|cjs|json|jsonc|md)$/
const root = join(import.meta.dirname, "..")
const check = process.argv.includes("--check")
const given = process.argv.slice(2).filter((argument) => !argument.startsWith("--"))

const { excludes, plugins, lineWidth, indentWidth, useTabs, newLineKind, ...settings }: Configuration = JSON.parse(
  readFileSync(join(root, "dprint.json"), "utf8")
)

/** The files below a path, without the exclusions of dprint.json. */
function* filesBelow(path: string): Generator<string> {
  const name = relative(root, path)
  if (excludes.some((pattern) => matchesGlob(name, pattern))) return
  if (!statSync(path).isDirectory()) {
    if (extensions.test(path)) yield path
    return
  }
  for (const entry of readdirSync(path)) yield* filesBelow(join(path, entry))
}

const context = createContext({ lineWidth, indentWidth, useTabs, newLineKind })
for (const plugin of plugins) {
  const name = /@dprint\/(\w+)/.exec(plugin)![1]!
  context.addPlugin(readFileSync(join(root, plugin)), settings[name] as Record<string, unknown>)
}
const mistakes = context.getConfigDiagnostics()
if (mistakes.length > 0) {
  for (const { message, propertyName } of mistakes) console.error(`dprint.json: ${propertyName}: ${message}`)
  process.exit(1)
}

let failures = 0
let changes = 0
for (const path of (given.length > 0 ? given : [root]).flatMap((path) => [...filesBelow(path)])) {
  const before = readFileSync(path, "utf8")
  try {
    const after = context.formatText({ filePath: path, fileText: before })
    if (after === before) continue
    changes++
    console.log(relative(root, path))
    if (!check) writeFileSync(path, after)
  } catch (error) {
    failures++
    console.error(`${relative(root, path)}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
if (check && changes > 0) console.error(`${changes} files are not formatted: \`npm run format\` does it.`)
process.exitCode = failures > 0 || (check && changes > 0) ? 1 : 0
