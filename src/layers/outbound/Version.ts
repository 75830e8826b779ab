import { Layer, Schema } from "effect"
import { readFileSync } from "node:fs"
import { ProductVersion } from "#domain/ports/ProductVersion.ts"

const Manifest = Schema.fromJsonString(Schema.Struct({ version: Schema.String }))

/** Version of this Windhover, from package.json. */
export const version = Schema.decodeSync(Manifest)(
  readFileSync(new URL("../../../package.json", import.meta.url), "utf8")
).version

export const layer = Layer.succeed(ProductVersion, version)
