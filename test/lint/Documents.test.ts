import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"

const root = join(import.meta.dirname, "../..")

/** The documents of the repository, without code blocks. */
const documents = new Map(
  ["", "docs", "docs/decisions", "packages/receiver"].map((folder) => join(root, folder)).flatMap((folder) =>
    readdirSync(folder).filter((name) => name.endsWith(".md")).map((name) => {
      const path = join(folder, name)
      return [path, readFileSync(path, "utf8").replace(/```.*?```/gs, "")] as const
    })
  )
)

/** GitHub's anchors of the headings. */
const anchors = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").trim().replaceAll(" ", "-")
  )

const isBroken = (from: string, link: string): boolean => {
  const [path = "", anchor] = link.split("#")
  const target = path === "" ? from : join(dirname(from), path)
  return !existsSync(target) || anchor !== undefined && !anchors(documents.get(target) ?? "").includes(anchor)
}

describe("the documents", () => {
  it("link to files and headings that exist", () => {
    const broken = [...documents].flatMap(([path, text]) =>
      [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)]
        .filter(([, link = ""]) => isBroken(path, link))
        .map(([, link]) => `${relative(root, path)}: ${link}`)
    )
    assert.deepStrictEqual(broken, [])
  })
})
