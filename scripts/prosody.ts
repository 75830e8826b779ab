/**
 * An XMPP server for experiments: Debian's Prosody, unpacked without root into `./data/prosody`, on loopback and without TLS.
 *
 * Run `npm run prosody`, and end the server with Ctrl-C. `-- --unpack` only unpacks Prosody. `--client-port` and `--component-port` replace
 * the usual ports; `--windhover` sets the URL that checks logins.
 */
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { exitWithError, parseOptions } from "./Options.ts"
import { install } from "./prosody/Install.ts"
import { start, stop } from "./prosody/Server.ts"

const usage =
  "npm run prosody [-- --unpack | --windhover URL --client-port N --component-port N]: an XMPP server on loopback."
const values = parseOptions(usage, {
  unpack: { type: "boolean", default: false },
  windhover: { type: "string", default: "http://127.0.0.1:8080" },
  "client-port": { type: "string", default: "5222" },
  "component-port": { type: "string", default: "5347" }
})

const directory = join(import.meta.dirname, "../data/prosody")
const clientPort = Number(values["client-port"])
const componentPort = Number(values["component-port"])
for (const option of ["client-port", "component-port"] as const) {
  const port = Number(values[option])
  if (!(Number.isInteger(port) && port > 0 && port < 65536)) {
    exitWithError(`--${option} is a TCP port, not "${values[option]}".\n${usage}`)
  }
}
const domain = "localhost"
const component = "push.localhost"
const secret = "for development only"

const run = async (): Promise<void> => {
  const installed = await install(directory)
  if (values.unpack) return void process.stdout.write(`Prosody is unpacked: ${installed.program}\n`)
  const own = join(directory, "development")
  await mkdir(own, { recursive: true })
  const server = await start(installed, {
    directory: own,
    clientPort,
    componentPort,
    domain,
    component,
    secret,
    authentication: values.windhover
  })
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void stop(server))
  const port = componentPort === 5347 ? "" : ` WINDHOVER_XMPP_PORT=${componentPort}`
  process.stdout.write(
    `Prosody runs on 127.0.0.1: clients on port ${clientPort}, components on port ${componentPort}. Start Windhover with\n\n` +
      `  WINDHOVER_XMPP_COMPONENT=${component} WINDHOVER_XMPP_DOMAIN=${domain} ` +
      `WINDHOVER_XMPP_SECRET="${secret}"${port} npm start\n\n` +
      `and log in as <login>@${domain}, with the password or a token; no encryption. Its logins are checked at ${values.windhover}.\n`
  )
}

await run().catch((error: unknown) => {
  process.exitCode = 1
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
})
