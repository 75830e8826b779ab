import { Effect } from "effect"
import { ProductVersion } from "#domain/ports/ProductVersion.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { makeCompressedPage } from "./CompressedPage.ts"
import * as Reply from "./Reply.ts"

/** The OpenAPI document. The first request loads its modules, creates and compresses it. */
export const makeDescription = Effect.gen(function*() {
  const settings = yield* Settings
  const version = yield* ProductVersion
  const description = yield* Effect.cached(
    Effect.flatMap(
      Effect.promise(() => import("./OpenApi.ts")),
      ({ describeApi }) =>
        makeCompressedPage(JSON.stringify(describeApi(settings, version)), "application/json; charset=utf-8", {})
    )
  )
  return Reply.onlyGet((request) => Effect.map(description, (respond) => respond(request)))
})
