import { assert, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"

it("the gate tells the tests that they may leave nothing out, whatever CI was set to before", () => {
  const [line = ""] = readFileSync(".ci/run", "utf8").split("\n").filter((line) => line.startsWith("export CI="))
  const told = execFileSync("bash", ["--norc", "-c", `${line}\nprintf %s "$CI"`], {
    env: { PATH: process.env["PATH"], CI: "1" }
  })
  assert.strictEqual(told.toString(), "true")
})
