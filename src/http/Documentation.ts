import { Effect, Scope } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiSwagger, OpenApi } from "effect/http-api"
import { Settings } from "#domain/ports/Settings.ts"
import { document } from "./OpenApi.ts"
import * as Reply from "./Reply.ts"

/** What the page may load and do: its own scripts and styles, which are within it, and calls to this very service. */
const policy =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The API's description: for programs, and as a page for people (Swagger UI, as `effect` brings it along). */
export const makeDocumentation = Effect.gen(function*() {
  const described = document(yield* Settings)
  const scope = yield* Effect.scope
  const api = HttpApi.make("windhover").annotate(OpenApi.Transform, () => described)

  // Two megabytes of scripts are read when somebody looks at the page.
  const page = yield* Effect.cached(Scope.provide(HttpRouter.toHttpEffect(HttpApiSwagger.layer(api)), scope))

  return {
    openapi: Reply.onlyGet(
      Effect.succeed(Reply.json(JSON.stringify(described), { "cache-control": "no-cache", vary: "Accept-Encoding" }))
    ),
    page: Reply.onlyGet(
      Effect.map(
        Effect.scoped(Effect.flatten(page)),
        HttpServerResponse.setHeaders({ "content-security-policy": policy, "x-content-type-options": "nosniff" })
      )
    )
  }
})
