import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiSwagger from "effect/http-api/HttpApiSwagger"
import * as OpenApi from "effect/http-api/OpenApi"

/** Swagger UI over an OpenAPI document, from `effect`, as the HTML of one page without further requests. */
export const renderPage = Effect.fnUntraced(
  function*(openApi: Record<string, unknown>) {
    const api = HttpApi.make("windhover").annotate(OpenApi.Transform, () => openApi)
    const respond = yield* HttpRouter.toHttpEffect(HttpApiSwagger.layer(api))
    const response = yield* Effect.provideService(
      respond,
      HttpServerRequest.HttpServerRequest,
      HttpServerRequest.fromWeb(new Request("http://localhost/docs"))
    )
    return yield* Effect.promise(() => HttpServerResponse.toWeb(response).text())
  },
  Effect.scoped,
  Effect.orDie
)
