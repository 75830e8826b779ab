import { Layer } from "effect"
import { readFileSync } from "node:fs"
import { ProductVersion } from "#domain/ports/ProductVersion.ts"

const read = (): string => {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"))
  return typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "0"
}

/** Version of this Windhover, as package.json names it. */
export const version = read()

export const layer = Layer.succeed(ProductVersion, version)
