import { afterAll, assert, describe, it } from "@effect/vitest"
import { execFile, spawnSync } from "node:child_process"
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { unpackDebianPackages } from "#scripts/DebianPackages.ts"
import { available } from "#test/support/Available.ts"

const run = promisify(execFile)
const unit = join(import.meta.dirname, "../../deploy/debian/windhover.service")
const work = mkdtempSync(join(tmpdir(), "windhover-unit-"))
afterAll(() => rmSync(work, { recursive: true, force: true }))

/** Environment in which `systemd-analyze` of this machine runs, or else the one of Debian, unpacked. */
const findAnalyzer = async (): Promise<NodeJS.ProcessEnv> => {
  if (spawnSync("systemd-analyze", ["--version"]).status === 0) return process.env
  const programs = join(work, "programs")
  await unpackDebianPackages(programs, ["systemd"])
  const environment = {
    ...process.env,
    PATH: `${join(programs, "usr/bin")}:${process.env["PATH"]}`,
    LD_LIBRARY_PATH: globSync(join(programs, "{usr/,}lib/*-linux-gnu{,/systemd}")).join(":")
  }
  await run("systemd-analyze", ["--version"], { env: environment })
  return environment
}

let environment: NodeJS.ProcessEnv = {}
const hasAnalyzer = await available(
  "systemd-analyze (apt-get install systemd, or apt-get update)",
  findAnalyzer().then((found) => environment = found)
)

/** A root with the unit as the package installs it, and a stand-in for the program. */
const makeRoot = (text: string): string => {
  const root = mkdtempSync(join(work, "root-"))
  const program = join(root, "usr/lib/windhover/bin/windhover")
  mkdirSync(join(program, ".."), { recursive: true })
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 })
  const installed = join(root, "usr/lib/systemd/system/windhover.service")
  mkdirSync(join(installed, ".."), { recursive: true })
  writeFileSync(installed, text)
  for (const target of ["sysinit.target", "basic.target", "shutdown.target", "network-online.target"]) {
    writeFileSync(join(installed, "..", target), `[Unit]\nDescription=${target}\nDefaultDependencies=no\n`)
  }
  writeFileSync(
    join(root, "usr/lib/systemd/system/system.slice"),
    "[Unit]\nDescription=slice\nDefaultDependencies=no\n"
  )
  writeFileSync(join(root, "usr/lib/systemd/system/tmp.mount"), "")
  return root
}

const analyze = (args: ReadonlyArray<string>) =>
  run("systemd-analyze", ["--no-pager", "--man=no", ...args], { env: environment }).then(
    ({ stderr, stdout }) => ({ code: 0, output: stdout + stderr }),
    ({ code, stderr, stdout }) => ({ code: Number(code), output: String(stdout) + String(stderr) })
  )

/** Exposure of a unit from 0 to 10. The threshold is in tenths; the exit code is 1 above it. */
const rate = async (text: string) => {
  const file = join(makeRoot(text), "usr/lib/systemd/system/windhover.service")
  const { code, output } = await analyze(["security", "--offline=true", "--threshold=30", file])
  return { code, exposure: Number(/Overall exposure level for windhover.service: ([\d.]+)/.exec(output)?.[1]) }
}

describe.skipIf(!hasAnalyzer)("the unit of the Debian package", () => {
  const text = readFileSync(unit, "utf8")

  it("has no unknown or unusable line", async () => {
    const verify = (content: string) =>
      analyze(["verify", `--root=${makeRoot(content)}`, "--recursive-errors=no", "windhover.service"])
    assert.deepStrictEqual(await verify(text), { code: 0, output: "" })
    const faults = [
      ["ProtectSystem=strict", "ProtectSystem=very", "Failed to parse protect system value, ignoring: very"],
      ["KillMode=mixed", "KillModes=mixed", "Unknown key 'KillModes' in section [Service], ignoring."],
      ["SystemCallFilter=@system-service", "SystemCallFilter=@none", "Unknown system call group, ignoring: @none"]
    ] as const
    for (const [line, broken, fault] of faults) {
      assert.include((await verify(text.replace(line, broken))).output, fault)
    }
  })

  it("has an exposure of 3 at most, as the documents say", async () => {
    const { code, exposure } = await rate(text)
    assert.strictEqual(code, 0)
    assert.isAtMost(exposure, 3)
    const documented = /rates the exposure at ([\d.]+) of 10/.exec(
      readFileSync(join(import.meta.dirname, "../../docs/install.md"), "utf8")
    )
    assert.strictEqual(exposure, Number(documented?.[1]))
    assert.strictEqual((await rate("[Service]\nExecStart=/usr/lib/windhover/bin/windhover\n")).code, 1)
  })
})
