import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { join } from "node:path"

const scripts = join(import.meta.dirname, "../../scripts")

const run = (script: string, ...args: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [join(scripts, script), ...args], { encoding: "utf8" })
  return { status, stderr, stdout }
}

describe("the options of scripts", () => {
  it("are told", () => {
    const { status, stdout } = run("demo.ts", "--help")
    assert.strictEqual(status, 0)
    assert.match(stdout, /^npm run demo \[-- --seconds N\]/)
  })

  it("are refused with what is right, when they are wrong", () => {
    const usage = "npm run demo [-- --seconds N]: shows the main job, for N seconds or until Ctrl-C.\n"
    assert.deepStrictEqual(run("demo.ts", "--seconds", "x"), {
      status: 1,
      stderr: `--seconds is a number above 0, not "x".\n${usage}`,
      stdout: ""
    })
    const { status, stderr } = run("demo.ts", "--secs")
    assert.strictEqual(status, 1)
    assert.match(stderr, /^Unknown option '--secs'.*\nnpm run demo \[-- --seconds N\]: .*\n$/)
    assert.match(
      run("prosody.ts", "--client-port", "0").stderr,
      /^--client-port is a TCP port, not "0".\nnpm run prosody/
    )
  })
})
