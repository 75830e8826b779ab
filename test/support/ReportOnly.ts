import { assert } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import * as http from "node:http"
import type * as net from "node:net"
import type { Page } from "playwright-core"

/** Path of the reports, which no page of the service has. */
const reportPath = "/csp-report"

export interface ReportOnly {
  /** The service behind the proxy. */
  readonly url: string
  /** Violations of the policy of pages, as a browser reports them: directive, blocked URL, page. */
  readonly reports: ReadonlyArray<string>
}

/** A URL that no page names. */
const provokedUrl = "https://outside.example/pixel.gif"

/**
 * Asserts that the browser has reported nothing. Ends with a violation of its own, whose report follows all earlier ones, so that a policy
 * without effect fails as well.
 */
export const checkNothingReported = (page: Page, { reports }: ReportOnly): Effect.Effect<void> =>
  Effect.promise(async () => {
    const provoked = () => reports.filter((report) => report.includes(provokedUrl)).length
    const before = provoked()
    await page.evaluate(`document.body.append(Object.assign(new Image(), { src: ${JSON.stringify(provokedUrl)} }))`)
    for (let look = 0; look < 100 && provoked() === before; look++) await page.waitForTimeout(50)
    assert.isAbove(provoked(), before, "the browser reports no violation")
    assert.deepStrictEqual(reports.filter((report) => !report.includes(provokedUrl)), [])
  })

/**
 * A proxy in front of a service that adds a second policy to each page: its own one, report-only, with an address for the reports.
 *
 * A browser reports there what it would otherwise block in silence, also without JavaScript.
 */
export const reportOnly = (target: string): Effect.Effect<ReportOnly, never, Scope.Scope> => {
  const reports: Array<string> = []
  const { hostname, port } = new URL(target)
  const server = http.createServer((request, response) => {
    if (request.url === reportPath) {
      let body = ""
      request.setEncoding("utf8").on("data", (part: string) => body += part).on("end", () => {
        reports.push(describe(body))
        response.writeHead(204).end()
      })
      return
    }
    const forward = http.request({
      hostname,
      port,
      method: request.method,
      path: request.url,
      headers: request.headers
    })
    forward.on("response", (answer) => {
      const policy = answer.headers["content-security-policy"]
      const reporting = policy === undefined
        ? {}
        : { "content-security-policy-report-only": `${policy}; report-uri ${reportPath}` }
      response.writeHead(answer.statusCode ?? 502, { ...answer.headers, ...reporting })
      answer.pipe(response)
    })
    forward.on("error", () => response.destroy())
    response.on("close", () => forward.destroy())
    request.pipe(forward)
  })
  return Effect.acquireRelease(
    Effect.callback<ReportOnly>((resume) => {
      server.listen(0, hostname, () => {
        const { port } = server.address() as net.AddressInfo
        resume(Effect.succeed({ url: `http://${hostname}:${port}`, reports }))
      })
    }),
    () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  )
}

const describe = (body: string): string => {
  const report = (JSON.parse(body) as { readonly "csp-report"?: { readonly [name: string]: unknown } })["csp-report"]
  return `${report?.["effective-directive"]} blocked ${report?.["blocked-uri"]} on ${report?.["document-uri"]}`
}
