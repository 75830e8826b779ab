import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "./Run.ts"

interface Locked {
  readonly version?: string
  readonly dev?: boolean
  readonly link?: boolean
}

interface Bill {
  serialNumber: string
  readonly metadata: {
    timestamp: string
    readonly component: { readonly "bom-ref": string; name: string; properties: ReadonlyArray<unknown> }
  }
  components: ReadonlyArray<{ readonly "bom-ref": string }>
  dependencies: ReadonlyArray<{ readonly ref: string; readonly dependsOn: ReadonlyArray<string> }>
}

/** `name@version` of each package that the lockfile installs without development. */
const findProduction = (root: string): ReadonlySet<string> => {
  const locked: Readonly<Record<string, Locked>> =
    JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages
  return new Set(
    Object.entries(locked).filter(([path, { dev, link }]) => path.includes("node_modules/") && !dev && !link).map((
      [path, { version }]
    ) => `${path.replace(/^.*node_modules\//, "")}@${version}`)
  )
}

/**
 * The bill of materials in CycloneDX: all packages of a running Windhover with versions, licences and checksums, from the lockfile.
 *
 * `npm sbom --omit=dev` leaves out packages that development needs too, such as `effect`, so the lockfile decides. npm gives each bill a
 * random number and the present time. Both follow from the contents here, so that a rebuild gives the same bytes.
 */
export const makeSbom = async (root: string, epoch: number): Promise<string> => {
  const options = ["--package-lock-only", "--sbom-format=cyclonedx", "--sbom-type=application"]
  const bill: Bill = JSON.parse(await run("npm", ["sbom", ...options], { cwd: root }))
  const production = findProduction(root)
  const { component } = bill.metadata
  bill.components = bill.components.filter((one) => production.has(one["bom-ref"]))
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => production.has(ref) || ref === component["bom-ref"])
    .map(({ dependsOn, ref }) => ({ ref, dependsOn: dependsOn.filter((name) => production.has(name)) }))
  component.name = "windhover" // npm takes the name of the folder
  component.properties = []
  bill.metadata.timestamp = new Date(epoch * 1000).toISOString()
  bill.serialNumber = ""
  const hex = createHash("sha256").update(JSON.stringify(bill)).digest("hex")
  bill.serialNumber = `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${
    hex.slice(20, 32)
  }`
  return `${JSON.stringify(bill, null, 2)}\n`
}
