import { readdirSync, readFileSync, statSync } from "node:fs"
import path from "node:path"
import { limits, measure, type Measured, sentencesOfMarkdown, sentencesOfSource } from "./prose/Measure.ts"

/**
 * Checks how the project reads: docblocks of `src`, and the text of the documents. Prints the worst sentences of a part that is over its
 * limits, and exits with 1 then.
 *
 *   npm run prose
 */
const root = path.join(import.meta.dirname, "..")

const filesBelow = (name: string): ReadonlyArray<string> =>
  statSync(path.join(root, name)).isDirectory()
    ? readdirSync(path.join(root, name)).flatMap((inner) => filesBelow(path.join(name, inner)))
    : [name]

const read = (names: ReadonlyArray<string>): Measured =>
  measure(
    names.flatMap(filesBelow).flatMap((name) => {
      const text = readFileSync(path.join(root, name), "utf8")
      if (name.endsWith(".md")) return sentencesOfMarkdown(name, text)
      return name.endsWith(".ts") && !name.endsWith(".d.ts") ? sentencesOfSource(name, text) : []
    })
  )

/** Published packages in TypeScript. */
const packages = ["receiver"]

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

const parts = [
  {
    name: "sources",
    limits: limits.sources,
    measured: read(["src", ...packages.map((name) => `packages/${name}/src`)])
  },
  {
    name: "documents",
    limits: limits.documents,
    measured: read([
      "README.md",
      "CHANGELOG.md",
      "CONTRIBUTING.md",
      "docs",
      ...packages.map((name) => `packages/${name}/README.md`)
    ])
  }
]

for (const { limits, measured, name } of parts) {
  console.log(
    `${name}: ${measured.sentences} sentences, indefinite words ${percent(measured.indefinite)} (at most ${
      percent(limits.indefinite)
    }), full of them ${percent(measured.vague)} (${percent(limits.vague)}), first word indefinite ${
      percent(measured.headless)
    } (${percent(limits.headless)})`
  )
  const over = measured.indefinite > limits.indefinite || measured.vague > limits.vague ||
    measured.headless > limits.headless
  if (!over) continue
  for (const { at, text } of measured.worst.slice(0, 25)) console.log(`  ${at}  ${text}`)
  process.exitCode = 1
}
