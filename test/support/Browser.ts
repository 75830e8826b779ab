import { Effect, type Scope } from "effect"
import * as fs from "node:fs"
import * as http from "node:http"
import type * as net from "node:net"
import { type Browser, chromium } from "playwright-core"

/** Debian's Chromium, without a download. Where the browser is missing, its tests are skipped with a warning; in CI they fail. */
const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) =>
  fs.existsSync(path)
)

export const available = executablePath !== undefined || process.env["CI"] === "true"
if (executablePath === undefined) {
  console.warn(
    "\n!! The tests in a browser are SKIPPED: there is no Chromium here (on Debian: apt-get install chromium).\n"
  )
}

/** A headless browser, closed with the scope. */
export const browser: Effect.Effect<Browser, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() =>
    chromium.launch({ ...(executablePath !== undefined && { executablePath }), args: ["--disable-gpu"] })
  ),
  (open) => Effect.promise(() => open.close())
)

/** URL of an empty page on an origin of its own. */
export const emptyPage: Effect.Effect<string, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.callback<http.Server>((resume) => {
      const server = http.createServer((_, response) => {
        response.setHeader("content-type", "text/html")
        response.end("<!doctype html><title>A page</title>")
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  ),
  (server) => `http://127.0.0.1:${(server.address() as net.AddressInfo).port}/`
)
