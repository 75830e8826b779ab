import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")

/** A log call whose message has a value in it, or a second argument behind a constant message that is no cause. */
const variableMessage =
  /\bEffect\.log(?:Fatal|Error|Warning|Info|Debug|Trace)?\((?:\s*`[^`]*\$\{|\s*"(?:[^"\\]|\\.)*",\s*[\w.]*[mM]essage\b)/g

const findVariable = (source: string): ReadonlyArray<string> => source.match(variableMessage) ?? []

describe("the messages of the log", () => {
  it("are constant, so that an operator can search for them; fields carry the values", () => {
    const found = globSync("src/**/*.ts", { cwd: root }).flatMap((file) =>
      findVariable(readFileSync(join(root, file), "utf8")).map((call) => `${file}: ${call}`)
    )
    assert.deepStrictEqual(found, [])
  })

  it("are found in each form", () => {
    const sources = [
      "Effect.logWarning(`Waiting: ${reason}`)",
      "Effect.logInfo(\n  `a\n${b}`)",
      "Effect.logDebug(\"Not yet.\", error.message)"
    ]
    assert.deepStrictEqual(sources.filter((source) => findVariable(source).length === 1), sources)
    assert.deepStrictEqual(findVariable("Effect.logError(\"A crash.\", cause)"), [])
  })
})
