import { Effect, Scope } from "effect"
import { HttpServerResponse } from "effect/http"
import { ProductVersion } from "#domain/ports/ProductVersion.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { describeApi } from "./OpenApi.ts"
import * as Reply from "./Reply.ts"

/** Content-Security-Policy of the page: inline scripts and styles, and requests to this service alone. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The OpenAPI document, and Swagger UI over it. The first request creates both. */
export const makeDocumentation = Effect.gen(function*() {
  const settings = yield* Settings
  const version = yield* ProductVersion
  const scope = yield* Effect.scope
  const openApi = yield* Effect.cached(Effect.sync(() => describeApi(settings, version)))
  const page = yield* Effect.cached(
    Effect.gen(function*() {
      const { makePage } = yield* Effect.promise(() => import("./DocumentationPage.ts"))
      return yield* makePage(yield* openApi)
    }).pipe(Scope.provide(scope))
  )

  return {
    openapi: Reply.onlyGet(
      Effect.map(
        openApi,
        (description) =>
          Reply.json(JSON.stringify(description), { "cache-control": "no-cache", vary: "Accept-Encoding" })
      )
    ),
    page: Reply.onlyGet(
      Effect.map(
        Effect.scoped(Effect.flatten(page)),
        HttpServerResponse.setHeaders({
          "content-security-policy": contentSecurityPolicy,
          "x-content-type-options": "nosniff"
        })
      )
    )
  }
})
