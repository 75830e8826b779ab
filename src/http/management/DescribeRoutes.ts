import { Schema } from "effect"
import { errorCodes } from "./JsonReply.ts"
import type { ManagementRoute } from "./ManagementRoute.ts"
import { managementRoutes } from "./ManagementRoutes.ts"

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
  return paths
}

const describeRoute = (
  { group, input, method, output, path, right, summary }: Omit<ManagementRoute<never>, "handle">,
  describe: DescribeSchema,
  errorResponses: Json
): Json => ({
  operationId: `${method.toLowerCase()}${
    path.replace(/^\/api/, "").replace(/[/-]\{?(\w)|\}/g, (_, first = "") => first.toUpperCase())
  }`,
  summary,
  description: `Needs the right \`${right}\`.`,
  tags: [group],
  ...(method === "GET" ? { parameters: describeQuery(describe(input), path) } : {
    requestBody: { content: { "application/json": { schema: describe(input) } } }
  }),
  responses: {
    200: { description: "The result.", content: { "application/json": { schema: describe(output) } } },
    ...errorResponses
  }
})

/** One parameter of the query, or of the path, per property of the input. */
const describeQuery = ({ properties, required }: Json, path: string): ReadonlyArray<Json> =>
  Object.entries(properties as Json).map(([name, schema]) => ({
    name,
    in: path.includes(`{${name}}`) ? "path" : "query",
    required: Array.isArray(required) && required.includes(name),
    schema
  }))
