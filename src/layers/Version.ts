import { readFileSync } from "node:fs"

const read = (): string => {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
  return typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "0"
}

/** Of this Windhover, as package.json has it. */
export const version = read()
