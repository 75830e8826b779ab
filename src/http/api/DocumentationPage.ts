import { Effect, Scope } from "effect"
import { HttpRouter } from "effect/http"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiSwagger from "effect/http-api/HttpApiSwagger"
import * as OpenApi from "effect/http-api/OpenApi"

/** Swagger UI over an OpenAPI document, as `effect` brings it along, within one page. */
export const makePage = Effect.fnUntraced(function*(described: Record<string, unknown>) {
  const api = HttpApi.make("windhover").annotate(OpenApi.Transform, () => described)
  return yield* Scope.provide(HttpRouter.toHttpEffect(HttpApiSwagger.layer(api)), yield* Effect.scope)
})
