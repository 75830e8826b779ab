import { type ChildProcess, spawn } from "node:child_process"
import { openSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { withSettings } from "./Environment.ts"

export interface ServiceOptions {
  readonly port: number
  /** Gets the output of all starts. */
  readonly logFile: string
  readonly dataDir: string
  readonly token: string
  /** Further settings. */
  readonly settings: Readonly<Record<string, string>>
}

/** Starts the service on loopback, and returns when it is ready. */
export const startService = async (
  { dataDir, logFile, port, settings, token }: ServiceOptions
): Promise<ChildProcess> => {
  const base = `http://127.0.0.1:${port}`
  const log = openSync(logFile, "a")
  const child = spawn(join(import.meta.dirname, "../bin/windhover"), ["serve"], {
    stdio: ["ignore", log, log],
    env: withSettings({
      WINDHOVER_PORT: String(port),
      WINDHOVER_HOST: "127.0.0.1",
      WINDHOVER_BASE_URL: base,
      WINDHOVER_DATA_DIR: dataDir,
      WINDHOVER_ALLOW_PRIVATE: "true",
      WINDHOVER_ADMIN_PASSWORD: "a password of a trial",
      WINDHOVER_ADMIN_TOKEN: token,
      ...settings
    })
  })
  for (;;) {
    const ready = await fetch(`${base}/readyz`).then(({ ok }) => ok, () => false)
    if (ready) return child
    if (child.exitCode !== null) throw new Error(`Windhover ended: ${readFileSync(logFile, "utf8").slice(-2000)}`)
    await sleep(200)
  }
}
