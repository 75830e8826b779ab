import { assert } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import * as fs from "node:fs"
import * as http from "node:http"
import type * as net from "node:net"
import axe from "axe-core"
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core"

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

/** Widths of the screens in tests of pages: a desk and a phone. */
export const widths = [1280, 360] as const

/** A tab of its own browser context, with all that the browser complains about. */
export interface Tab {
  readonly page: Page
  /** Errors of the console, of scripts, and of the Content-Security-Policy. */
  readonly errors: ReadonlyArray<string>
}

export interface TabOptions {
  readonly width?: number
  readonly dark?: boolean
  readonly javaScript?: boolean
  /** Value of a Cookie header: `name=value`. */
  readonly cookie?: { readonly url: string; readonly text: string }
}

/** Opens a tab, closed with the scope. */
export const openTab = (
  open: Browser,
  { cookie, dark = false, javaScript = true, width = 1280 }: TabOptions = {}
): Effect.Effect<Tab, never, Scope.Scope> => {
  const options: BrowserContextOptions = {
    viewport: { width, height: 800 },
    colorScheme: dark ? "dark" : "light",
    javaScriptEnabled: javaScript,
    reducedMotion: "reduce"
  }
  return Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const context = await open.newContext(options)
        context.setDefaultTimeout(30_000)
        if (cookie !== undefined) {
          const [name = "", value = ""] = cookie.text.split("=")
          const isSecure = name.startsWith("__Host-")
          // browsers take secure cookies of this machine over HTTP, and the protocol of the test only those of HTTPS
          await context.addCookies([{
            name,
            value,
            url: isSecure ? cookie.url.replace("http:", "https:") : cookie.url,
            httpOnly: true,
            secure: isSecure,
            sameSite: "Strict"
          }])
        }
        return { context, page: await context.newPage() }
      }),
      ({ context }) => Effect.promise(() => context.close())
    ),
    ({ page }) => {
      const errors: Array<string> = []
      page.on("console", (message) => {
        if (message.type() === "error") errors.push(message.text())
      })
      page.on("pageerror", (error) => errors.push(error.message))
      return { page, errors }
    }
  )
}

/**
 * Asserts that axe-core finds nothing on the open page, and that the page is not wider than the screen.
 *
 * axe runs outside of the page's Content-Security-Policy, in the world of Playwright. A tab without JavaScript runs no timers, so that
 * those of axe end at once there.
 */
export const checkAccessibility = Effect.fnUntraced(function*(page: Page, javaScript = true) {
  const { overflow, violations } = yield* Effect.promise(async () => {
    if (!javaScript) await page.evaluate(timersAtOnce)
    await page.evaluate(axe.source)
    return page.evaluate<{ readonly violations: ReadonlyArray<string>; readonly overflow: number }>(
      `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => ({
        violations: violations.flatMap(({ id, nodes }) =>
          nodes.map(({ failureSummary, html }) => id + ": " + html.slice(0, 200) + " " + failureSummary)),
        overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth
      }))`
    )
  })
  assert.deepStrictEqual(violations, [], page.url())
  assert.isAtMost(overflow, 0, `${page.url()} is wider than the screen`)
})

const timersAtOnce =
  "window.setTimeout = (run, _, ...args) => { void Promise.resolve().then(() => run(...args)); return 0 }"

/** Saves a picture of the whole page in the folder `WINDHOVER_SCREENSHOTS`, if that is set. */
export const picture = (page: Page, name: string): Effect.Effect<void> => {
  const folder = process.env["WINDHOVER_SCREENSHOTS"]
  return folder === undefined ? Effect.void : Effect.promise(async () => {
    await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
  })
}
