import { Effect, Scope } from "effect"
import { HttpServerResponse } from "effect/http"
import { ProductVersion } from "#domain/ports/ProductVersion.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { document } from "./OpenApi.ts"
import * as Reply from "#http/Reply.ts"

/** What the page may load and do: its own scripts and styles, which are within it, and calls to this very service. */
const policy =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The API's description: for programs, and as a page for people. Made, and the page loaded, when somebody looks at it. */
export const makeDocumentation = Effect.gen(function*() {
  const settings = yield* Settings
  const version = yield* ProductVersion
  const scope = yield* Effect.scope
  const described = yield* Effect.cached(Effect.sync(() => document(settings, version)))
  const page = yield* Effect.cached(
    Effect.gen(function*() {
      const { makePage } = yield* Effect.promise(() => import("./DocumentationPage.ts"))
      return yield* makePage(yield* described)
    }).pipe(Scope.provide(scope))
  )

  return {
    openapi: Reply.onlyGet(
      Effect.map(
        described,
        (text) => Reply.json(JSON.stringify(text), { "cache-control": "no-cache", vary: "Accept-Encoding" })
      )
    ),
    page: Reply.onlyGet(
      Effect.map(
        Effect.scoped(Effect.flatten(page)),
        HttpServerResponse.setHeaders({ "content-security-policy": policy, "x-content-type-options": "nosniff" })
      )
    )
  }
})
