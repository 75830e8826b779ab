import { Schema } from "effect"
import { errorCodes } from "./JsonReply.ts"
import type { ManagementRoute, RouteHead } from "./ManagementRoute.ts"
import { managementRoutes, streamedRoutes } from "./ManagementRoutes.ts"
import type { StreamedRoute } from "./StreamedRoute.ts"

type Json = { readonly [key: string]: unknown }
type DescribeSchema = (schema: Schema.Codec<unknown>) => Json

const ErrorBody = Schema.Struct({
  error: Schema.Struct({ code: Schema.Literals(errorCodes), message: Schema.String })
})

/**
 * The paths of the management API for the OpenAPI document.
 *
 * `describe` makes the JSON schema of a value, and `errors` describes the statuses of errors.
 */
export const describeManagementPaths = (
  describe: DescribeSchema,
  errors: { readonly [status: string]: string }
): Json => {
  const content = { "application/json": { schema: describe(ErrorBody) } }
  const errorResponses = Object.fromEntries(
    Object.entries(errors).map(([status, description]) => [status, { description, content }])
  )
  const paths: { [path: string]: { [method: string]: Json } } = {}
  for (const route of managementRoutes) {
    ;(paths[route.path] ??= {})[route.method.toLowerCase()] = describeRoute(route, describe, errorResponses)
  }
  for (const route of streamedRoutes) {
    ;(paths[route.path] ??= {})[route.method.toLowerCase()] = describeStreamedRoute(route, describe, errorResponses)
  }
  return paths
}

const describeHead = ({ group, method, path, right, summary }: RouteHead): Json => ({
  operationId: `${method.toLowerCase()}${
    path.replace(/^\/api/, "").replace(/[/-]\{?(\w)|\}/g, (_, first = "") => first.toUpperCase())
  }`,
  summary,
  description: `Needs the right \`${right}\`.`,
  tags: [group]
})

const file = { schema: { type: "string", format: "binary" } }

const describeStreamedRoute = (
  { body, input, produces, ...head }: Omit<StreamedRoute<never>, "open">,
  describe: DescribeSchema,
  errorResponses: Json
): Json => ({
  ...describeHead(head),
  parameters: describeQuery(describe(input), head.path),
  ...(body !== undefined && { requestBody: { description: body, content: { "application/octet-stream": file } } }),
  responses: {
    200: { description: "A stream.", content: Object.fromEntries(produces.map((type) => [type, file])) },
    ...errorResponses
  }
})

const describeRoute = (
  { input, output, ...head }: Omit<ManagementRoute<never>, "handle">,
  describe: DescribeSchema,
  errorResponses: Json
): Json => ({
  ...describeHead(head),
  ...(head.method === "GET" ? { parameters: describeQuery(describe(input), head.path) } : {
    requestBody: { content: { "application/json": { schema: describe(input) } } }
  }),
  responses: {
    200: { description: "The result.", content: { "application/json": { schema: describe(output) } } },
    ...errorResponses
  }
})

/** One parameter of the query, or of the path, per property of the input. */
const describeQuery = ({ properties, required }: Json, path: string): ReadonlyArray<Json> =>
  Object.entries((properties ?? {}) as Json).map(([name, schema]) => ({
    name,
    in: path.includes(`{${name}}`) ? "path" : "query",
    required: Array.isArray(required) && required.includes(name),
    schema
  }))
