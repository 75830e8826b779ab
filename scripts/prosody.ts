/** Unpacks Debian's Prosody into `./data/prosody`: no root, nothing outside. */
import { join } from "node:path"
import { install } from "./prosody/Install.ts"

const { program } = await install(join(import.meta.dirname, "../data/prosody"))
process.stdout.write(`Prosody is unpacked: ${program}\n`)
