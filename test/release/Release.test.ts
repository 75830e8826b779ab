import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile, spawnSync } from "node:child_process"
import {
  appendFileSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { promisify } from "node:util"
import { type Architecture, packDebian, thisArchitecture } from "#scripts/release/DebianPackage.ts"
import { makeRelease, readEpoch } from "#scripts/release/Release.ts"
import { available } from "#test/support/Available.ts"
import { inRoot, makeCleanRoot, runInRoot } from "#test/support/CleanRoot.ts"
import { outside, received, type Service, start } from "#test/support/Service.ts"
import { readContainerfile } from "./Containerfile.ts"
import { compareArchives, findFaults, findMachineCode, unpackArchive } from "./DebianArchive.ts"

const run = promisify(execFile)
const root = join(import.meta.dirname, "../..")

const hasTools = await available(
  "the packages in clean roots (root, and apt-get install mmdebstrap dpkg util-linux)",
  (async () => {
    if (process.getuid?.() !== 0) throw new Error("Only root can make a root for the packages.")
    for (const [program, flag] of [["mmdebstrap", "--version"], ["dpkg-deb", "--version"], ["unshare", "--version"]]) {
      await run(String(program), [String(flag)])
    }
  })()
)

/** The release, a minimal Debian, and the versions of it that have installed something. */
const work = mkdtempSync(join(tmpdir(), "windhover-release-test-"))
const release = join(work, "release")
const clean = join(work, "clean")
const architecture = thisArchitecture() ?? "amd64"
const other = architecture === "amd64" ? "arm64" : "amd64"
const nameArchive = (name: Architecture) => `windhover_1.0.0-1_${name}.deb`
const archive = nameArchive(architecture)

beforeAll(async () => {
  if (!hasTools) return
  await Promise.all([
    makeCleanRoot(clean),
    readEpoch(root).then((epoch) =>
      makeRelease({ root, output: release, architectures: [architecture, other], epoch, report: () => {} })
    )
  ])
})
afterAll(() => rmSync(work, { recursive: true, force: true }))

/** A copy of the minimal Debian. */
const copyOfRoot = async (name: string): Promise<string> => {
  const directory = join(work, name)
  await run("cp", ["--archive", "--reflink=auto", clean, directory])
  return directory
}

/** Lists paths of a root that are named after the package, or belong to its user. */
const findTraces = async (directory: string): Promise<ReadonlyArray<string>> => {
  const { stdout } = await run("find", [directory, "-xdev", "-name", "*windhover*", "-printf", "%P\n"])
  const users = readFileSync(join(directory, "etc/passwd"), "utf8").match(/^windhover:.*$/gm) ?? []
  return [...stdout.split("\n").filter((path) => path !== ""), ...users]
}

/** The main job: a subscription, a new entry, its push. */
const checkMainJob = (variables: Record<string, string>, command: [string, ...ReadonlyArray<string>]) =>
  Effect.gen(function*() {
    const world = yield* outside
    const service: Service = yield* start(variables, command)
    const { status } = yield* service.call({
      "hub.mode": "subscribe",
      "hub.topic": `${world.url}/feed`,
      "hub.callback": `${world.url}/hook`,
      retrieve: "true"
    })
    assert.strictEqual(status, 200)
    world.publish("second")
    yield* service.call({ "hub.mode": "publish", "hub.url": `${world.url}/feed` })
    yield* world.until(() => received(world.posted, "/hook").ids.length > 0)
    assert.deepStrictEqual(received(world.posted, "/hook"), { ids: ["second"], faults: [] })
    return service
  })

describe.skipIf(!hasTools)("a release", () => {
  it("has a checksum for each file, and a bill of its packages", () => {
    const { status, stdout } = spawnSync("sha256sum", ["--check", "SHA256SUMS"], { cwd: release, encoding: "utf8" })
    const files = readdirSync(release).filter((name) => name !== "SHA256SUMS")
    assert.deepStrictEqual(
      files.toSorted(),
      [
        "Containerfile",
        "compose.postgres.yaml",
        "compose.yaml",
        "windhover-1.0.0.cdx.json",
        "windhover-1.0.0.tgz",
        nameArchive("amd64"),
        nameArchive("arm64")
      ].toSorted()
    )
    assert.strictEqual(status, 0)
    assert.deepStrictEqual(stdout.trim().split("\n").toSorted(), files.map((name) => `${name}: OK`).toSorted())
    const bill = JSON.parse(readFileSync(join(release, "windhover-1.0.0.cdx.json"), "utf8"))
    const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    const listed: ReadonlyArray<string> = bill.components.map((one: Record<string, string>) => one["bom-ref"])
    assert.includeMembers(
      [...listed],
      Object.entries(dependencies).map(([name, version]) => `${name}@${String(version)}`)
    )
    assert.isEmpty(listed.filter((name) => name.startsWith("vitest@")))
    assert.strictEqual(bill.metadata.component.purl, "pkg:npm/windhover@1.0.0")
  })

  it("is the same in its bytes when it is made again, with another mask of modes and other times", async () => {
    const [again, unpacked] = [join(work, "again"), join(work, "unpacked")]
    const epoch = await readEpoch(root)
    const mask = process.umask(0o077)
    try {
      await makeRelease({ root, output: again, architectures: [], epoch, report: () => {} })
      // Dependencies come from a lockfile with checksums, so packing the same files again is enough.
      await run("dpkg-deb", ["--raw-extract", join(release, archive), unpacked])
      await run("find", [unpacked, "-exec", "touch", "{}", "+"])
      await packDebian({ directory: unpacked, architecture, version: "1.0.0" }, again, epoch)
    } finally {
      process.umask(mask)
    }
    const unmade = ["SHA256SUMS", nameArchive(other)]
    for (const name of readdirSync(release).filter((name) => !unmade.includes(name))) {
      assert.isTrue(readFileSync(join(again, name)).equals(readFileSync(join(release, name))), name)
    }
    for (const directory of [again, unpacked]) rmSync(directory, { recursive: true })
  })
})

describe.skipIf(!hasTools)("the Debian packages", () => {
  it("differ in their Node alone, hold no other machine code, and keep the rules of Debian", async () => {
    const [amd64, arm64] = await Promise.all([
      unpackArchive(join(release, nameArchive("amd64")), join(work, "amd64")),
      unpackArchive(join(release, nameArchive("arm64")), join(work, "arm64"))
    ])
    assert.deepStrictEqual(findMachineCode(amd64), ["usr/lib/windhover/bin/node: amd64"])
    assert.deepStrictEqual(findMachineCode(arm64), ["usr/lib/windhover/bin/node: arm64"])
    const node = "usr/lib/windhover/bin/node"
    assert.deepStrictEqual(compareArchives(amd64, arm64), ["DEBIAN/control", "DEBIAN/md5sums", node])
    assert.deepStrictEqual([amd64, arm64].map(({ control }) => control["Architecture"]), ["amd64", "arm64"])
    for (const { directory } of [amd64, arm64]) assert.isAbove(statSync(join(directory, node)).size, 50e6)
    assert.deepStrictEqual(findFaults(amd64), [])
    assert.deepStrictEqual(findFaults(arm64), [])
    for (const { directory } of [amd64, arm64]) rmSync(directory, { recursive: true })
  })
})

/** Path of a program on the search path, with links resolved. */
const findProgram = (name: string): string => {
  for (const directory of (process.env["PATH"] ?? "").split(delimiter)) {
    const file = lstatSync(join(directory, name), { throwIfNoEntry: false })
    if (file !== undefined && directory !== join(root, "node_modules/.bin")) return realpathSync(join(directory, name))
  }
  throw new Error(`${name} is not on the PATH`)
}

describe.skipIf(!hasTools)("the npm package in a clean root with npm alone", () => {
  let directory = ""
  let binds: Record<string, string> = {}
  let environment: Record<string, string> = {}

  beforeAll(async () => {
    if (!hasTools) return
    directory = await copyOfRoot("npm")
    const [node, npm] = [findProgram("node"), dirname(dirname(findProgram("npm")))]
    cpSync(node, join(directory, "usr/local/bin/node"))
    for (const name of ["npm", "npx"]) {
      symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(directory, "usr/local/bin", name))
    }
    const project = join(directory, "project")
    mkdirSync(project)
    cpSync(join(release, "windhover-1.0.0.tgz"), join(directory, "windhover-1.0.0.tgz"))
    writeFileSync(join(project, "package.json"), JSON.stringify({ name: "a-project", private: true, type: "module" }))
    // The packages come from the cache that `npm ci` has filled, and the rest from the registry of this machine, as it is reached from here.
    const [cache = "", registry = "", authorities = ""] = await Promise.all(
      ["cache", "registry", "cafile"].map((key) =>
        run("npm", ["config", "get", key]).then(({ stdout }) => stdout.trim())
      )
    )
    for (const file of ["/etc/hosts", "/etc/resolv.conf", authorities, process.env["NODE_EXTRA_CA_CERTS"] ?? ""]) {
      if (file.startsWith("/")) cpSync(file, join(directory, file), { dereference: true })
    }
    binds = { [npm]: "/usr/local/lib/node_modules/npm", [cache]: "/npm-cache" }
    environment = {
      npm_config_cache: "/npm-cache",
      npm_config_registry: registry,
      ...(authorities.startsWith("/") && { npm_config_cafile: authorities })
    }
    const install = "npm install --prefer-offline --fetch-retries=1 --no-audit --no-fund /windhover-1.0.0.tgz"
    await runInRoot(directory, { binds, environment }, ["sh", "-c", `cd /project && ${install}`])
  })

  it.live("serves with `npx windhover serve`", () =>
    Effect.gen(function*() {
      const options = { binds, environment }
      const command = ["sh", "-c", "cd /project && exec npx windhover serve"]
      yield* checkMainJob({ WINDHOVER_DATA_DIR: "/data" }, inRoot(directory, options, command))
      assert.strictEqual(statSync(join(directory, "data")).mode & 0o777, 0o700)
    }))

  it("holds no source, no development, and compiled files that name compiled files", async () => {
    const installed = join(directory, "project/node_modules/windhover")
    const { stdout } = await run("find", [installed, "-type", "f", "-printf", "%P\n"])
    const files = stdout.trim().split("\n")
    const sources = files.filter((file) => /(?<!\.d)\.ts$/.test(file) && !file.startsWith("dist/http/pages/elements/"))
    assert.deepStrictEqual(sources, ["deploy/ejabberd/auth.ts"])
    const compiled = files.filter((file) => file.endsWith(".js"))
    assert.isAbove(compiled.length, 400)
    const relative = /(?:from|import\()\s*"\.{1,2}\/[^"]*\.ts"/
    assert.deepStrictEqual(
      compiled.filter((file) => relative.test(readFileSync(join(installed, file), "utf8"))),
      []
    )
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"))
    assert.notProperty(manifest, "devDependencies")
    assert.notProperty(manifest, "private")
    assert.notProperty(manifest, "scripts")
  })

  it("has types: a program that embeds Windhover compiles, and a wrong setting does not", async () => {
    const project = join(directory, "project")
    writeFileSync(
      join(project, "embed.ts"),
      `import { Effect, Layer } from "effect"
import * as Windhover from "windhover"
import { Hub } from "windhover/actors/operations/Hub"
import type { Caller } from "windhover/domain/Account"
export const list = (caller: Caller) => Hub.use((hub) => hub.list({ caller, page: 1, byPage: 20 }))
export const main = Layer.launch(Windhover.layer({ port: 0 })) satisfies Effect.Effect<never, unknown>
// @ts-expect-error a port is a number
Windhover.layer({ port: "0" })
`
    )
    const compilerOptions = {
      module: "NodeNext",
      target: "ES2024",
      lib: ["ES2024", "ESNext.Iterator", "ESNext.Disposable"],
      strict: true,
      skipLibCheck: true,
      noEmit: true,
      types: ["node"],
      typeRoots: [join(root, "node_modules/@types")]
    }
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["embed.ts"] }))
    const compiled = run(join(root, "node_modules/.bin/tsc"), ["--pretty", "false"], { cwd: project })
    assert.strictEqual(await compiled.then(() => "", ({ stdout }) => String(stdout)), "")
  })
})

/** The lines `NAME=value` of a unit. */
const readUnit = (text: string) => (name: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(new RegExp(`^${name}=(.*)$`, "gm")), ([, value = ""]) => value)

describe.skipIf(!hasTools)("the Debian package in a clean root", () => {
  const unit = readUnit(readFileSync(join(root, "deploy/debian/windhover.service"), "utf8"))
  const settings = "/etc/windhover/windhover.env"
  let directory = ""

  const dpkg = (...args: ReadonlyArray<string>) => runInRoot(directory, {}, ["dpkg", ...args])

  beforeAll(async () => {
    if (!hasTools) return
    directory = await copyOfRoot("debian")
    assert.deepStrictEqual(await findTraces(directory), [])
    cpSync(join(release, archive), join(directory, archive))
    assert.include(await dpkg("--install", `/${archive}`), "Windhover listens on http://localhost:8080.")
  })

  const modeOf = async (path: string): Promise<string> => {
    const output = await runInRoot(directory, {}, ["stat", "--format=%a %U:%G", path])
    return output.trim()
  }

  it("has settings for root and the service alone, and directories for the service alone", async () => {
    assert.deepStrictEqual(
      await Promise.all([settings, "/etc/windhover", "/var/lib/windhover", "/var/cache/windhover"].map(modeOf)),
      ["640 root:windhover", "750 root:windhover", "700 windhover:windhover", "700 windhover:windhover"]
    )
    assert.strictEqual(await runInRoot(directory, {}, ["dpkg", "--verify", "windhover"]), "")
  })

  it.live("works in the sandbox of its unit: a root that is read-only, no privileges, and its own user", () =>
    Effect.gen(function*() {
      const environment = Object.fromEntries(unit("Environment").map((line) => line.split("=") as [string, string]))
      const writable = [...unit("StateDirectory").map((name) => `/var/lib/${name}`), "/var/cache/windhover"]
      const [user = ""] = unit("User")
      const command = (unit("ExecStart")[0] ?? "").split(" ")
      yield* checkMainJob({}, inRoot(directory, { environment, user, writable }, command))
      assert.strictEqual(
        yield* Effect.promise(() => modeOf("/var/lib/windhover/encryption-key")),
        "600 windhover:windhover"
      )
      assert.isNotEmpty(readdirSync(join(directory, "var/cache/windhover/node")))
    }))

  it.live("works with one command of root, as the user of the service", () =>
    Effect.gen(function*() {
      yield* checkMainJob({}, inRoot(directory, {}, ["windhover", "serve"]))
      const owners = yield* Effect.promise(() => run("find", [join(directory, "var/lib/windhover"), "-printf", "%U\n"]))
      assert.strictEqual(new Set(owners.stdout.trim().split("\n")).size, 1)
      assert.notStrictEqual(owners.stdout.split("\n")[0], "0")
    }))

  it("keeps changed settings and data on an upgrade and a removal, and nothing after a purge", async () => {
    appendFileSync(join(directory, settings), "WINDHOVER_PORT=8081\n")
    await runInRoot(directory, {}, ["chmod", "600", settings])
    await dpkg("--install", `/${archive}`)
    assert.match(readFileSync(join(directory, settings), "utf8"), /^WINDHOVER_PORT=8081$/m)
    assert.strictEqual(await modeOf(settings), "600 root:windhover")
    await dpkg("--remove", "windhover")
    assert.match(readFileSync(join(directory, settings), "utf8"), /^WINDHOVER_PORT=8081$/m)
    assert.isNotEmpty(readdirSync(join(directory, "var/lib/windhover")))
    assert.deepStrictEqual((await findTraces(directory)).filter((path) => path.startsWith("usr/")), [])
    await dpkg("--purge", "windhover")
    assert.deepStrictEqual((await findTraces(directory)).filter((path) => path !== archive), [])
  })
})

describe.skipIf(!hasTools)("the image of the Containerfile", () => {
  it.live("runs as its user, and is healthy while it serves", () =>
    Effect.gen(function*() {
      const directory = yield* Effect.promise(() => copyOfRoot("image"))
      const image = readContainerfile(readFileSync(join(release, "Containerfile"), "utf8"))
      for (const step of image.steps) {
        const binds = { [release]: "/packages" }
        yield* Effect.promise(() => runInRoot(directory, { binds }, ["sh", "-e", "-c", step]))
      }
      const { environment, user } = image
      const options = { environment: { ...environment, HOME: image.volume }, user, writable: [image.volume] }
      const probe = (port: string) => {
        const checked = { ...options, environment: { ...options.environment, WINDHOVER_PORT: port } }
        const [program, ...args] = inRoot(directory, checked, image.healthCheck)
        return Effect.promise(() => run(program, args).then(() => 0, ({ code }) => Number(code)))
      }
      const variables = {
        WINDHOVER_HOST: environment["WINDHOVER_HOST"] ?? "",
        WINDHOVER_FIRST_ACCOUNT_FILE: environment["WINDHOVER_FIRST_ACCOUNT_FILE"] ?? "",
        WINDHOVER_PORT: "0"
      }
      const service = yield* checkMainJob(
        variables,
        inRoot(directory, { ...options, environment: { HOME: image.volume } }, image.command)
      )
      assert.strictEqual(yield* probe(new URL(service.url).port), 0)
      yield* service.kill
      yield* Effect.repeat(probe(new URL(service.url).port), { until: (code) => code === 1 })
      const secrets = join(directory, image.volume, "first-account.txt")
      assert.match(readFileSync(secrets, "utf8"), /^ {2}login +admin$/m)
      assert.deepStrictEqual([statSync(secrets).mode & 0o777, statSync(secrets).uid], [0o600, 8473])
      assert.isEmpty(service.said.filter((line) => line.includes("password")))
    }))
})
