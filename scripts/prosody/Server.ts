import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Installed } from "./Install.ts"

/** Options of a server on loopback without TLS, for the demo, tests and experiments. */
export interface Options {
  /** Directory of the configuration and data. */
  readonly directory: string
  readonly clientPort: number
  readonly componentPort: number
  /** Domain of the accounts. */
  readonly domain: string
  readonly component: string
  readonly secret: string
  /** Windhover's URL, which checks logins; or the logins themselves, with their passwords. */
  readonly authentication: string | Readonly<Record<string, string>>
  /** Additional lines for the global part of the configuration. */
  readonly more?: string
}

/** Directory of the project's Prosody modules. */
const modules = join(import.meta.dirname, "../../deploy/prosody")

/** Starts the server; resolves when both of its ports are open. */
export const start = async (installed: Installed, options: Options): Promise<ChildProcess> => {
  const config = join(options.directory, "prosody.cfg.lua")
  await mkdir(join(options.directory, "data"), { recursive: true })
  await writeFile(config, renderConfiguration(options))
  if (typeof options.authentication !== "string") {
    await writeAccounts(options.directory, options.domain, options.authentication)
  }
  const child = spawn(installed.lua, [installed.program, "-F", "--config", config], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...installed.environment }
  })
  try {
    await waitUntilOpen(child)
  } catch (error) {
    child.kill("SIGKILL")
    throw error
  }
  return child
}

/** Stops the server, unless the process has ended. */
export const stop = async (child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, "exit")
  child.kill(signal)
  await exit
}

const waitUntilOpen = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    const open = new Set<string>()
    let output = ""
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue
      createInterface({ input: stream }).on("line", (line) => {
        output = `${output}${line}\n`.slice(-4000)
        const takenPort = /Failed to open server port (\d+)/.exec(line)?.[1]
        if (takenPort !== undefined) {
          reject(
            new Error(
              `Port ${takenPort} of 127.0.0.1 is taken: another XMPP server runs here. End it, or choose another port.`
            )
          )
        }
        const service = /Activated service '(c2s|component)'/.exec(line)?.[1]
        if (service !== undefined) open.add(service)
        if (open.size === 2) resolve()
      })
    }
    child.once("error", reject)
    child.once("exit", (code) => reject(new Error(`Prosody ended with ${code}:\n${output}`)))
  })

const writeAccounts = async (directory: string, domain: string, accounts: Readonly<Record<string, string>>) => {
  const folder = join(directory, "data", domain.replaceAll(".", "%2e"), "accounts")
  await mkdir(folder, { recursive: true })
  for (const [login, password] of Object.entries(accounts)) {
    await writeFile(join(folder, `${login}.dat`), `return { password = ${quote(password)} };\n`)
  }
}

const quote = (text: string): string => JSON.stringify(text)

/** Allows logins in plain text over a plain socket. The server listens on loopback only. */
const renderConfiguration = (
  { authentication, clientPort, component, componentPort, directory, domain, more, secret }: Options
) =>
  `run_as_root = true
data_path = ${quote(join(directory, "data"))}
plugin_paths = { ${quote(modules)} }
interfaces = { "127.0.0.1" }
c2s_ports = { ${clientPort} }
component_ports = { ${componentPort} }
component_interfaces = { "127.0.0.1" }
modules_enabled = { "roster", "saslauth", "disco", "ping", "presence", "message", "iq", "offline" }
modules_disabled = { "s2s", "s2s_auth_certs", "tls", "http" }
c2s_require_encryption = false
allow_unencrypted_plain_auth = true
log = { { levels = { min = "info" }, to = "console" } }
storage = "internal"
${
    typeof authentication === "string"
      ? `authentication = "windhover"\nwindhover_auth_url = ${quote(`${authentication}/internal/xmpp/auth`)}`
      : `authentication = "internal_plain"`
  }
${more ?? ""}
VirtualHost ${quote(domain)}
Component ${quote(component)}
  component_secret = ${quote(secret)}
`
