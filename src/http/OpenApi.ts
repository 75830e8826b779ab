import { Schema } from "effect"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import type { Operation } from "#http/api/Operation.ts"
import { operations } from "#http/api/Operations.ts"
import { describeManagementPaths } from "#http/management/DescribeRoutes.ts"
import { hubParameters } from "#http/websub/WebSubParameters.ts"
import { describeWebhooks } from "./OpenApiWebhooks.ts"

type Json = { readonly [key: string]: unknown }

/** The JSON Schema (2020-12, as in OpenAPI 3.1) of an encoded value. */
const schemaOf = (schema: Schema.Codec<unknown>): Json => {
  const { definitions, schema: root } = Schema.toJsonSchemaDocument(schema)
  return inline(root, definitions) as Json
}

/** Replaces references by their definitions, so that each small schema is complete by itself. */
const inline = (value: unknown, definitions: Json): unknown => {
  if (Array.isArray(value)) return value.map((item) => inline(item, definitions))
  if (typeof value !== "object" || value === null) return value
  const name = "$ref" in value && typeof value.$ref === "string" ? value.$ref.split("/").at(-1) : undefined
  if (name !== undefined) return inline(definitions[name], definitions)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inline(item, definitions)]))
}

/** The parameters of a mode with `hub.mode` in front. */
const requestSchema = (mode: string, parameters: Schema.Codec<unknown>): Json => {
  const { additionalProperties, properties, required, type } = schemaOf(parameters)
  return {
    type,
    properties: { "hub.mode": schemaOf(Schema.Literal(mode)), ...properties as Json },
    required: ["hub.mode", ...required as ReadonlyArray<string> | undefined ?? []],
    additionalProperties
  }
}

const plainText = { "text/plain": { schema: { type: "string" } } }

const errorText = {
  "text/plain": { schema: { type: "string", description: "The problem, the received value, and a correct one." } }
}

const errors: { readonly [status: string]: string } = {
  400: "The body is not a JSON object or not valid multipart, or ended early.",
  401: "The credentials are missing or wrong.",
  403: "The token lacks the right that the response names, or a page of another site used stored credentials.",
  404: "The account has no subscription to the resource.",
  405: "The operation needs another method; see Allow.",
  408: "The request did not arrive in time.",
  413: "The request has too many bytes or parameters.",
  415: "The body is compressed or has an unsupported type.",
  422: "A parameter is missing or invalid, the callback did not confirm, or the operation is impossible.",
  429: "Too many requests, open streams or failed logins; see Retry-After.",
  431: "The header of the request is too large.",
  500: "Internal error; the log has the details.",
  503: "The database or the owner of the resource is unavailable, or a queue is full; see Retry-After."
}

const errorResponses = Object.fromEntries(
  Object.entries(errors).map(([status, description]) => [status, { description, content: errorText }])
)

/** Errors of the open hub, which has no logins and reveals no subscriptions. */
const hubErrorResponses = Object.fromEntries(
  Object.entries(errorResponses).filter(([status]) => !["401", "403", "404"].includes(status))
)

const doneResponse = { description: "Done." }
const pendingResponse = { description: "Accepted; Windhover asks the callback in the background." }
const atom = { "application/atom+xml": { schema: { type: "string" } } }

type OperationEntries = ReadonlyArray<readonly [mode: string, operation: Operation]>

const operationEntries: OperationEntries = Object.entries(operations)
const changing = operationEntries.filter(([, { changesState }]) => changesState)
const reading = operationEntries.filter(([, { changesState }]) => !changesState)

const namesOf = (entries: OperationEntries): string => entries.map(([mode]) => mode).join(", ")

const requestsOf = (entries: OperationEntries): Json => ({
  oneOf: entries.map(([mode, { parameters }]) => requestSchema(mode, parameters))
})

const responsesOf = (entries: OperationEntries): Json => ({
  "application/json": {
    schema: { oneOf: [...new Set(entries.flatMap(([, { responses = [] }]) => responses))].map(schemaOf) }
  },
  ...atom
})

/** Parameters in the body, once per format that Windhover reads. */
const describeBody = (schema: Json) => ({
  required: true,
  content: Object.fromEntries(
    ["application/x-www-form-urlencoded", "application/json", "multipart/form-data"].map((type) => [type, { schema }])
  )
})

/** Parameters in the query, as one object. */
const describeQuery = (schema: Json) => [
  { name: "parameters", in: "query", required: true, style: "form", explode: true, schema }
]

const describeHubPath = (): Json => ({
  get: {
    operationId: "aboutHub",
    summary: "Describes the open hub",
    security: [],
    responses: { 200: { description: "A short text.", content: plainText }, ...hubErrorResponses }
  },
  post: {
    operationId: "tellHub",
    summary: `${Object.keys(hubParameters).join(", ")} without credentials; the callback confirms`,
    security: [],
    requestBody: describeBody({
      oneOf: Object.entries(hubParameters).map(([mode, parameters]) => requestSchema(mode, parameters))
    }),
    responses: {
      202: pendingResponse,
      204: { description: "The hub has accepted the ping, or with hub.verify=sync the callback has confirmed." },
      ...hubErrorResponses
    }
  }
})

const describeApiPath = (): Json => ({
  get: {
    operationId: "ask",
    summary: `${namesOf(reading)}, selected by hub.mode`,
    parameters: describeQuery(requestsOf(reading)),
    responses: {
      200: {
        description:
          "The result. A resource that is not a feed keeps its own bytes and type, unless the client requests a format.",
        content: {
          ...responsesOf(reading),
          "text/javascript": { schema: { type: "string", description: "With callback: a script (JSONP)." } }
        }
      },
      204: doneResponse,
      304: { description: "The representation that If-None-Match names is current." },
      ...errorResponses
    }
  },
  post: {
    operationId: "tell",
    summary: `${namesOf(changing)}, selected by hub.mode, and every operation of GET`,
    requestBody: describeBody(requestsOf([...changing, ...reading])),
    responses: {
      200: {
        description: "With retrieve=true: the stored entries. Otherwise as with GET.",
        content: responsesOf([...changing, ...reading])
      },
      202: pendingResponse,
      204: doneResponse,
      ...errorResponses
    }
  }
})

/** The operations with `streamParameters`. */
const describeStreamPath = (): Json => {
  const [streamed, ...more] = operationEntries.flatMap(([mode, { streamParameters }]) =>
    streamParameters === undefined ? [] : [requestSchema(mode, streamParameters)]
  )
  return {
    get: {
      operationId: "stream",
      summary: "retrieve, followed by future entries",
      parameters: describeQuery(more.length === 0 ? streamed ?? {} : { oneOf: [streamed, ...more] }),
      responses: {
        200: {
          description:
            "Past entries, then future ones. With wait=poll: the next entries in the order of storing, or none after 55 s.",
          content: {
            "text/event-stream": { schema: { type: "string" } },
            "application/x-ndjson": { schema: { type: "string" } },
            ...responsesOf(operationEntries.filter(([, { streamParameters }]) => streamParameters !== undefined))
          }
        },
        304: {
          description:
            "With wait=poll: no entry came in time, and the representation that If-None-Match names is current."
        },
        ...errorResponses
      }
    }
  }
}

const describeProbe = (operationId: string, summary: string): Json => ({
  get: {
    operationId,
    summary,
    security: [],
    responses: {
      200: { description: "Yes.", content: { "text/plain": { schema: { const: "ok" } } } },
      503: { description: "No.", content: errorText }
    }
  }
})

const describePaths = (hubOpen: boolean): Json => ({
  "/": describeApiPath(),
  "/stream": describeStreamPath(),
  ...(hubOpen ? { "/hub": describeHubPath() } : {}),
  ...describeManagementPaths(schemaOf, errors),
  "/healthz": describeProbe("healthz", "Health: the database is readable and writable"),
  "/readyz": describeProbe("readyz", "Readiness: the runner's partitions are awake")
})

/**
 * The OpenAPI 3.1 document of the API, the management API and the open hub, from the tables of operations and routes with the schemas of
 * their requests, and of the requests to callbacks.
 * `version` is the version of the product.
 */
export const describeApi = ({ baseUrl, hubOpen }: Pick<SettingsValues, "baseUrl" | "hubOpen">, version: string) => ({
  openapi: "3.1.0",
  info: {
    title: "Windhover",
    version,
    description: "Watches any URL and pushes new content.",
    license: { name: "MIT", identifier: "MIT" }
  },
  servers: [{ url: baseUrl }],
  security: [{ basic: [] }, { authorization: [] }],
  paths: describePaths(hubOpen),
  webhooks: describeWebhooks(schemaOf),
  components: {
    securitySchemes: {
      basic: { type: "http", scheme: "basic", description: "Login, and a token or the password." },
      authorization: {
        type: "apiKey",
        in: "query",
        name: "authorization",
        description: "Base64 of login:token, for clients that cannot set headers."
      }
    }
  }
})
