import { createHash } from "node:crypto"
import { run } from "./Run.ts"

/**
 * The bill of materials in CycloneDX: all packages of a running Windhover with versions, licences and checksums, from the lockfile.
 *
 * npm gives each bill a random number and the present time. Both follow from the contents here, so that a rebuild gives the same bytes.
 */
export const makeSbom = async (root: string, epoch: number): Promise<string> => {
  const options = ["--omit=dev", "--package-lock-only", "--sbom-format=cyclonedx", "--sbom-type=application"]
  const bill = JSON.parse(await run("npm", ["sbom", ...options], { cwd: root }))
  bill.metadata.component.name = "windhover" // npm takes the name of the folder
  bill.metadata.component.properties = []
  bill.metadata.timestamp = new Date(epoch * 1000).toISOString()
  bill.serialNumber = ""
  const hex = createHash("sha256").update(JSON.stringify(bill)).digest("hex")
  bill.serialNumber = `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${
    hex.slice(20, 32)
  }`
  return `${JSON.stringify(bill, null, 2)}\n`
}
