import { Effect } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"

/** Path of the base URL: empty at the root of a host, otherwise such as `/windhover`. */
export const basePathOf = (baseUrl: string): string => new URL(baseUrl).pathname.replace(/\/+$/, "")

/** The URL of a request without the base path. A proxy that strips the base path sends none. */
export const withoutBasePath = (url: string, basePath: string): string => {
  if (!url.startsWith(basePath)) return url
  const rest = url.slice(basePath.length)
  return rest.startsWith("/") ? rest : rest === "" || /^[?&]/.test(rest) ? `/${rest}` : url
}

/** Serves requests below the base path like those of the root. */
export const stripBasePath =
  (basePath: string) => <E, R>(app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
    Effect.updateService(app, HttpServerRequest.HttpServerRequest, (request) => {
      const url = withoutBasePath(request.url, basePath)
      return url === request.url ? request : request.modify({ url })
    })

/** Attributes with own paths, as the templates of the pages write them. Texts have no quotation marks, because templates escape them. */
const ownPaths = / (href|src|action|formaction|data-src|data-path)="\/(?!\/)/g

/** The markup of a page with the base path in front of all own paths. */
export const withBasePath = (markup: string, basePath: string): string =>
  basePath === "" ? markup : markup.replace(ownPaths, ` $1="${basePath}/`)
