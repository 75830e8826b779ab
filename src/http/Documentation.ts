import { Effect } from "effect"
import { ProductVersion } from "#domain/ports/ProductVersion.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { makeCompressedPage } from "./CompressedPage.ts"
import { describeApi } from "./OpenApi.ts"
import * as Reply from "./Reply.ts"

/** Content-Security-Policy of the page: inline scripts and styles, and requests to this service alone. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The OpenAPI document, and Swagger UI over it. The first request creates and compresses both. */
export const makeDocumentation = Effect.gen(function*() {
  const settings = yield* Settings
  const version = yield* ProductVersion
  const openApi = yield* Effect.cached(Effect.sync(() => describeApi(settings, version)))
  const description = yield* Effect.cached(
    Effect.flatMap(openApi, (api) => makeCompressedPage(JSON.stringify(api), "application/json; charset=utf-8", {}))
  )
  const page = yield* Effect.cached(
    Effect.gen(function*() {
      const { renderPage } = yield* Effect.promise(() => import("./DocumentationPage.ts"))
      const html = yield* renderPage(yield* openApi)
      return yield* makeCompressedPage(html, "text/html; charset=utf-8", {
        "content-security-policy": contentSecurityPolicy
      })
    })
  )

  return {
    openapi: Reply.onlyGet((request) => Effect.map(description, (respond) => respond(request))),
    page: Reply.onlyGet((request) => Effect.map(page, (respond) => respond(request)))
  }
})
