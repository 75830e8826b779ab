import { Effect, Scope } from "effect"
import { HttpRouter } from "effect/http"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiSwagger from "effect/http-api/HttpApiSwagger"
import * as OpenApi from "effect/http-api/OpenApi"

/** Swagger UI over an OpenAPI document, from `effect`, as one page without further requests. */
export const makePage = Effect.fnUntraced(function*(openApi: Record<string, unknown>) {
  const api = HttpApi.make("windhover").annotate(OpenApi.Transform, () => openApi)
  return yield* Scope.provide(HttpRouter.toHttpEffect(HttpApiSwagger.layer(api)), yield* Effect.scope)
})
