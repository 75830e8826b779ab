import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import fc from "fast-check"
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseEnv } from "node:util"
import { renderForFile } from "#main/cli/Settings.ts"
import { withSettings } from "#scripts/Environment.ts"

const bin = join(import.meta.dirname, "../../bin/windhover")

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "windhover-cli-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
)

const windhover = (args: ReadonlyArray<string>, settings: Record<string, string>) => {
  const { status, stderr, stdout } = spawnSync(bin, args, {
    encoding: "utf8",
    env: withSettings(settings),
    timeout: 60_000
  })
  return { status, stderr, stdout }
}

describe("WINDHOVER_ENV_FILE", () => {
  it.effect("gives the settings that the environment does not", () =>
    Effect.gen(function*() {
      const file = join(yield* temporary, "windhover.env")
      writeFileSync(file, "# a comment\nWINDHOVER_PORT=9001\nWINDHOVER_HOST='127.0.0.1'\n")
      const { stdout } = windhover(["settings"], { WINDHOVER_ENV_FILE: file, WINDHOVER_PORT: "9002" })
      assert.include(stdout, "WINDHOVER_PORT=9002\n")
      assert.include(stdout, "WINDHOVER_HOST=127.0.0.1\n")
    }), 60_000)

  it("is named in the error when it cannot be read", () => {
    const { status, stderr } = windhover(["settings"], { WINDHOVER_ENV_FILE: "/nowhere/windhover.env" })
    assert.strictEqual(status, 1)
    assert.match(stderr, /^windhover: WINDHOVER_ENV_FILE names "\/nowhere\/windhover.env", which cannot be read/)
  })

  it("is what `settings --env` prints: each value reads back, and no secret is in it", () => {
    fc.assert(fc.property(fc.string({ unit: "grapheme" }).filter((text) => !/['\r\n\0]/.test(text)), (value) => {
      const explained = { variable: "WINDHOVER_X", meaning: "A meaning.", defaultText: "none", value }
      assert.deepStrictEqual({ ...parseEnv(renderForFile(explained)) }, { WINDHOVER_X: value })
    }))
    const { stdout } = windhover(["settings", "--env"], {
      WINDHOVER_ADMIN_TOKEN: "a-secret-of-the-operator",
      WINDHOVER_BASE_URL: "https://push.example.org"
    })
    assert.deepStrictEqual({ ...parseEnv(stdout) }, { WINDHOVER_BASE_URL: "https://push.example.org" })
    assert.notInclude(stdout, "a-secret-of-the-operator")
  })
})

describe("a command without a database", () => {
  it.effect("says so, names the setting, and creates nothing", () =>
    Effect.gen(function*() {
      const directory = yield* temporary
      const dataDir = join(directory, "elsewhere")
      for (const args of [["account", "list"], ["forget-keys"], ["migrate"], ["backup", join(directory, "file")]]) {
        const { status, stderr } = windhover(args, { WINDHOVER_DATA_DIR: dataDir })
        assert.strictEqual(status, 1, args.join(" "))
        assert.include(stderr, `There is no database in ${dataDir}.`)
        assert.include(stderr, "WINDHOVER_DATA_DIR")
        assert.isFalse(existsSync(dataDir))
      }
    }), 120_000)

  it.effect("has one after `init`, which creates the first account once", () =>
    Effect.gen(function*() {
      const dataDir = join(yield* temporary, "data")
      const settings = { WINDHOVER_DATA_DIR: dataDir, WINDHOVER_ADMIN_PASSWORD: "a password" }
      const first = windhover(["init"], settings)
      assert.strictEqual(first.status, 0, first.stderr)
      assert.include(first.stdout, "The first account was created.")
      assert.match(
        readFileSync(join(dataDir, "first-account.txt"), "utf8"),
        /Sign in to the dashboard at http:\/\/\S+\/dashboard with the login and the password\./
      )
      assert.strictEqual(statSync(dataDir).mode & 0o777, 0o700)
      assert.strictEqual(
        windhover(["init"], settings).stdout,
        `The database in ${dataDir} is ready, and has accounts already.\n`
      )
      assert.match(windhover(["account", "list"], settings).stdout, /^admin /m)
    }), 120_000)

  it.effect(
    "writes the secrets of the first account to a file of mode 600 when no terminal shows the output",
    () =>
      Effect.gen(function*() {
        const directory = yield* temporary
        const output = openSync(join(directory, "journal"), "w+")
        const dataDir = join(directory, "data")
        const { status } = spawnSync(bin, ["init"], {
          env: withSettings({ WINDHOVER_DATA_DIR: dataDir }),
          stdio: ["ignore", output, "ignore"],
          timeout: 60_000
        })
        const printed = readFileSync(join(directory, "journal"), "utf8")
        const secrets = readFileSync(join(dataDir, "first-account.txt"), "utf8")
        const token = /token +(\S+)/.exec(secrets)?.[1] ?? ""
        assert.deepStrictEqual([status, token.length > 16, printed.includes(token)], [0, true, false])
        assert.include(printed, `Its secrets are in ${join(dataDir, "first-account.txt")}`)
        assert.strictEqual(statSync(join(dataDir, "first-account.txt")).mode & 0o777, 0o600)
      }),
    120_000
  )

  it.effect("prints the secrets of the first account on a terminal, and leaves no file", () =>
    Effect.gen(function*() {
      const dataDir = join(yield* temporary, "data")
      const { status, stdout } = spawnSync("script", ["-qec", `${bin} init`, "/dev/null"], {
        env: withSettings({ WINDHOVER_DATA_DIR: dataDir }),
        encoding: "utf8",
        timeout: 60_000
      })
      assert.strictEqual(status, 0, stdout)
      assert.match(stdout, /^ {2}password {2}\S{16,}\s+token {5}\S{16,}/m)
      assert.isFalse(existsSync(join(dataDir, "first-account.txt")))
    }), 120_000)
})
