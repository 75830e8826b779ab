import { join } from "node:path"
import { copy, listFiles, normalizeModes, readJson, write } from "./Files.ts"
import { run } from "./Run.ts"

/** Folders of `src` that sources import by `#`. */
const rooms = ["domain", "actors", "http", "xmpp", "layers"]

/** Files beside the program: for operators, and for readers of the README. */
const extras = [
  "README.md",
  "CHANGELOG.md",
  "LICENSE",
  "docs",
  "deploy/grafana",
  "deploy/prometheus",
  "deploy/prosody",
  "deploy/ejabberd",
  "deploy/proxy"
]

/** The manifest of the package: that of the sources, with the compiled files in place of the sources, and without development. */
const makeManifest = (source: Record<string, unknown>): Record<string, unknown> => {
  const { devDependencies: _, engines: __, imports: ___, private: ____, scripts: _____, ...manifest } = source
  return {
    ...manifest,
    engines: { node: ">=20" },
    files: ["bin", "dist", "docs", "deploy", "CHANGELOG.md"],
    imports: {
      ...Object.fromEntries(rooms.map((room) => [`#${room}/*.ts`, `./dist/${room}/*.js`])),
      "#main/*.ts": "./dist/*.js"
    },
    exports: {
      ".": { types: "./dist/Windhover.d.ts", default: "./dist/Windhover.js" },
      "./*": { types: "./dist/*.d.ts", default: "./dist/*.js" }
    }
  }
}

/** True for files that the program reads, rather than loads: data, styles, and scripts for browsers. */
const isReadAtRunTime = (path: string): boolean =>
  !path.endsWith("tsconfig.json") && (!path.endsWith(".ts") || path.startsWith("http/pages/elements/"))

/** Compiles the sources, and lays out the package in `directory`. */
export const stagePackage = async (root: string, directory: string): Promise<void> => {
  const project = join(root, "scripts/release/tsconfig.json")
  await run(join(root, "node_modules/.bin/tsc"), ["--project", project, "--outDir", join(directory, "dist")], {
    cwd: root
  })
  for (const file of listFiles(join(root, "src")).filter(isReadAtRunTime)) {
    copy(join(root, "src", file), join(directory, "dist", file))
  }
  for (const file of ["bin/node", "bin/windhover", ...extras]) copy(join(root, file), join(directory, file))
  write(
    join(directory, "package.json"),
    `${JSON.stringify(makeManifest(readJson(join(root, "package.json"))), null, 2)}\n`
  )
  normalizeModes(directory)
}

/** Packs a staged package, and returns the name of the archive in `output`. npm gives all files one time, so that equal files give equal archives. */
export const packPackage = async (directory: string, output: string): Promise<string> => {
  const printed = await run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", output], {
    cwd: directory
  })
  return printed.trim().split("\n").at(-1) ?? ""
}
