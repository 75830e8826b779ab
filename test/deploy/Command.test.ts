import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { available } from "#test/support/Available.ts"

const canRun = await available(
  "the command of the Debian package (root, and apt-get install bsdutils util-linux perl-base)",
  (async () => {
    if (process.getuid?.() !== 0) throw new Error("Only root can become the user of the service.")
    for (const program of ["script", "setpriv", "setsid", "perl"]) {
      if (spawnSync(program, ["--version"]).status !== 0) throw new Error(`${program} is not installed.`)
    }
  })()
)

const work = mkdtempSync(join(tmpdir(), "windhover-command-"))
const command = join(work, "windhover")
const program = join(work, "program")
afterAll(() => rmSync(work, { recursive: true, force: true }))

/** In place of Windhover: tells its user, its terminal and a line of its input, and stops at SIGTERM. */
const probe = `#!/bin/sh
trap 'echo stopped; exit 7' TERM
echo "user: $(id -un), pid: $$, words: $#, home: $HOME"
if (: < /dev/tty) 2> /dev/null; then echo "terminal: of root"; else echo "terminal: none"; fi
perl -e 'print ioctl(STDIN, 0x5412, my $c = "x") ? "typed\\n" : "not typed\\n"'
[ -t 0 ] && [ -t 1 ] && echo "interactive"
echo ready
read -r line && echo "read: $line"
[ "$1" = end ] && exit 3
while [ -e "$0" ]; do sleep 0.05; done
`

beforeAll(() => {
  const text = readFileSync(join(import.meta.dirname, "../../deploy/debian/windhover"), "utf8")
    .replace(/^user=windhover$/m, "user=daemon")
    .replace("/usr/lib/windhover/bin/windhover", program)
  writeFileSync(command, text)
  writeFileSync(program, probe)
  for (const file of [work, command, program]) chmodSync(file, 0o755)
})

/** Runs the command with a terminal. Each step is an expected output, and the keys that are typed then. Returns the output and the exit code. */
const runInTerminal = async (words: string, steps: ReadonlyArray<readonly [expected: string, keys: string]>) => {
  const child = spawn("script", ["-qefc", `exec ${command} ${words}`, "/dev/null"], { stdio: "pipe" })
  const left = [...steps]
  let output = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text.replaceAll("\r", "")
    while (left[0] !== undefined && output.includes(left[0][0])) child.stdin.write(left.shift()?.[1] ?? "")
  })
  const [code] = await once(child, "close")
  return { output, code }
}

describe.skipIf(!canRun)("the command of the Debian package, for root", () => {
  it("runs as the user of the service, reads from the terminal, and cannot type there", async () => {
    const { code, output } = await runInTerminal("end 'two words'", [["ready\n", "a line\n"]])
    assert.match(output, /^user: daemon, pid: \d+, words: 2, home: \/var\/lib\/windhover$/m)
    for (const line of ["terminal: none", "not typed", "interactive", "read: a line"]) {
      assert.include(output.split("\n"), line)
    }
    assert.strictEqual(code, 3)
  })

  it("stops the program at Ctrl-C, and has its exit code", async () => {
    const { code, output } = await runInTerminal("go", [["ready\n", "a line\n"], ["read: a line\n", "\u0003"]])
    assert.include(output, "stopped\n")
    assert.strictEqual(code, 7)
  })

  it("becomes the program without a terminal, so that a supervisor signals the program itself", async () => {
    const child = spawn(command, ["go"], { stdio: "pipe", detached: true })
    child.stdin.write("a line\n")
    let output = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text
      if (output.includes("read: a line\n")) child.kill("SIGTERM")
    })
    const [code] = await once(child, "close")
    assert.match(output, new RegExp(`^user: daemon, pid: ${child.pid}, `))
    assert.strictEqual(code, 7)
  })
})
