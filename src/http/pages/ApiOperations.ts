/** One request of the API, from the OpenAPI document. */
export interface ApiOperation {
  readonly id: string
  readonly group: string
  readonly method: "GET" | "POST"
  readonly path: string
  readonly summary: string
  readonly description: string
  readonly fields: ReadonlyArray<ApiField>
  readonly body: "none" | "form" | "json"
  readonly needsLogin: boolean
}

export interface ApiField {
  readonly name: string
  readonly isRequired: boolean
  /** Part of the path instead of the query or the body. */
  readonly isInPath: boolean
  readonly type: string
  readonly choices: ReadonlyArray<string>
  readonly description: string
  /** The only value, such as `hub.mode` of an operation. */
  readonly fixed?: string
}

// oxlint-disable-next-line typescript/no-explicit-any -- an OpenAPI document is any JSON, and this service has made it
type Json = any

/** The operations of an OpenAPI document. An operation with `hub.mode` stands once for each mode. */
export const listOperations = (document: Json): ReadonlyArray<ApiOperation> => {
  const operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).flatMap(([method, operation]) =>
      expand(path, method === "post" ? "POST" : "GET", operation)
    )
  )
  // each operation of GET exists as POST as well
  const read = new Set(operations.filter(({ method }) => method === "GET").map(({ id }) => id))
  return operations.filter(({ id, method }) => method === "GET" || !read.has(id))
}

const expand = (path: string, method: "GET" | "POST", operation: Json): ReadonlyArray<ApiOperation> => {
  const content = operation.requestBody?.content
  const body = content === undefined ? "none" : "application/x-www-form-urlencoded" in content ? "form" : "json"
  const schema = content === undefined ? undefined : Object.values<Json>(content)[0]?.schema
  const parameters: ReadonlyArray<Json> = operation.parameters ?? []
  const query = parameters.length === 1 && parameters[0].name === "parameters" ? parameters[0].schema : undefined
  const variants: ReadonlyArray<Json> = (schema ?? query)?.oneOf ?? [schema ?? query]
  return variants.map((variant) => {
    const fields = variant === undefined
      ? parameters.map((parameter) =>
        fieldOf(parameter.name, parameter.schema, parameter.required === true, parameter.in === "path")
      )
      : Object.entries<Json>(variant.properties ?? {}).map(([name, property]) =>
        fieldOf(name, property, (variant.required ?? []).includes(name), false)
      )
    const mode = fields.find(({ name }) => name === "hub.mode")?.fixed
    return {
      id: `${path}${mode === undefined ? `:${operation.operationId}` : `:${mode}`}`.replace(/[^\w:-]/g, "-"),
      group: operation.tags?.[0] ?? groups[path] ?? "Service",
      method,
      path,
      summary: mode === undefined ? operation.summary : `hub.mode=${mode}`,
      description: operation.description ?? "",
      fields,
      body,
      needsLogin: operation.security?.length !== 0
    }
  })
}

const groups: { readonly [path: string]: string } = {
  "/": "Subscriptions and entries",
  "/stream": "Streams",
  "/hub": "Open hub"
}

const fieldOf = (name: string, schema: Json, isRequired: boolean, isInPath: boolean): ApiField => {
  const choices: ReadonlyArray<string> = schema.enum ?? (schema.const === undefined ? [] : [schema.const])
  return {
    name,
    isRequired,
    isInPath,
    type: schema.type ?? "text",
    choices: choices.map(String),
    description: schema.description ?? "",
    ...(choices.length === 1 && { fixed: String(choices[0]) })
  }
}
