import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const read = (name: string) => JSON.parse(readFileSync(join(import.meta.dirname, "..", "..", name), "utf8"))

interface Locked {
  readonly resolved?: string
  readonly hasInstallScript?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const packages = new Map<string, Locked>(Object.entries(read("package-lock.json").packages))
const manifest = read("package.json")

describe("the dependencies", () => {
  it("have exact versions", () => {
    for (const kind of ["dependencies", "devDependencies", "optionalDependencies"]) {
      for (const [name, version] of Object.entries(manifest[kind])) {
        assert.match(String(version), /^(npm:@?[\w/.-]+@)?\d+\.\d+\.\d+$/, name)
      }
    }
  })

  it("come from any registry: the lockfile names none", () => {
    assert.deepStrictEqual([...packages].filter(([, { resolved }]) => resolved !== undefined), [])
  })

  it("run nothing when they are installed", () => {
    assert.deepStrictEqual([...packages].filter(([, locked]) => locked.hasInstallScript).map(([path]) => path), [])
  })

  // `npm ci` rejects a lockfile without such a package, but `npm install` omits packages that the registry lacks.
  it("have their packages for all platforms in the lockfile", () => {
    const needed = [...packages].flatMap(([path, locked]) =>
      Object.keys(locked.optionalDependencies ?? {}).map((name) => ({ path, name }))
    )
    const lacking = needed.filter(({ path, name }) =>
      !packages.has(`${path}/node_modules/${name}`) && !packages.has(`node_modules/${name}`)
    )
    assert.deepStrictEqual(lacking, [])
  })

  it("of packages of their own come from any registry too, and run nothing", () => {
    for (const [folder, name] of [["clients/superfeedr", "superfeedr"], ["packages/frameworks", "express"]]) {
      const locked = Object.entries<Locked>(read(`test/${folder}/package-lock.json`).packages)
      const wrong = locked.filter(([, { hasInstallScript, resolved }]) => hasInstallScript || resolved?.includes(":"))
      assert.deepStrictEqual(wrong.map(([path]) => path), [])
      assert.include(locked.map(([path]) => path), `node_modules/${name}`)
    }
  })
})
