import { Effect } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "#scripts/FreePort.ts"
import { install, type Installed } from "#scripts/prosody/Install.ts"
import { type Options, start, stop } from "#scripts/prosody/Server.ts"

/**
 * Debian's Prosody, unpacked once for all runs. Where the packages are unavailable, its tests are skipped with a warning; in CI they fail.
 */
export const installed: Installed | undefined = await install(join(import.meta.dirname, "../../data/prosody")).catch(
  (error: unknown) => {
    if (process.env["CI"] === "true") throw error
    console.warn(
      `\n!! The tests on a real XMPP server are SKIPPED: Prosody cannot be unpacked here.\n${String(error)}\n`
    )
    return undefined
  }
)

export const domain = "xmpp.test"
export const component = "push.xmpp.test"
export const secret = "a secret of the component"

/** A running server. After a kill, the server restarts with the same ports and data. */
export interface Prosody {
  readonly clientPort: number
  readonly componentPort: number
  readonly kill: Effect.Effect<void>
  readonly start: Effect.Effect<void>
}

/** Starts a server on loopback with these logins; stopped with the scope. */
export const prosody = (
  authentication: Options["authentication"],
  more?: string,
  names: Pick<Options, "domain" | "component"> = { domain, component }
) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        if (installed === undefined) throw new Error("no Prosody")
        const options: Options = {
          directory: await mkdtemp(join(tmpdir(), "windhover-prosody-")),
          clientPort: await freePort(),
          componentPort: await freePort(),
          ...names,
          secret,
          authentication,
          ...(more === undefined ? {} : { more })
        }
        return { installed, options, child: await start(installed, options) }
      }),
      ({ child, options }) =>
        Effect.promise(async () => {
          await stop(child, "SIGKILL")
          await rm(options.directory, { recursive: true, force: true })
        })
    ),
    (running): Prosody => ({
      clientPort: running.options.clientPort,
      componentPort: running.options.componentPort,
      kill: Effect.promise(() => stop(running.child, "SIGKILL")),
      start: Effect.promise(async () => {
        running.child = await start(running.installed, running.options)
      })
    })
  )
