import { Schema } from "effect"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import { answers, hubRequests, requests, streamRequest } from "./Contract.ts"

type Json = { readonly [key: string]: unknown }

/** The JSON Schema (2020-12, as OpenAPI 3.1 has it) of what is on the wire. */
const schemaOf = (schema: Schema.Codec<unknown>): Json => {
  const { definitions, schema: root } = Schema.toJsonSchemaDocument(schema)
  return inlined(root, definitions) as Json
}

/** Definitions stand where they are used: schemas are small, and each is whole by itself. */
const inlined = (value: unknown, definitions: Json): unknown => {
  if (Array.isArray(value)) return value.map((one) => inlined(one, definitions))
  if (typeof value !== "object" || value === null) return value
  const name = "$ref" in value && typeof value.$ref === "string" ? value.$ref.split("/").at(-1) : undefined
  if (name !== undefined) return inlined(definitions[name], definitions)
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inlined(one, definitions)]))
}

const sentence = {
  "text/plain": { schema: { type: "string", description: "What was wrong, received, and is right." } }
}

const refusals: { readonly [status: string]: string } = {
  400: "The body is no JSON object, no multipart, or ended early.",
  401: "No credentials, or wrong ones.",
  403: "The token does not have the right; it is named.",
  404: "Not subscribed to that resource.",
  405: "This needs another method; Allow names it.",
  408: "The request did not arrive in time.",
  413: "Too many bytes or parameters.",
  415: "The body is of a type that is not read, or compressed.",
  422: "A parameter is missing or cannot be used, the callback did not confirm, or it cannot be done.",
  429: "Too many requests, open streams or failed logins; see Retry-After.",
  431: "The header of the request is too large.",
  500: "Something is wrong inside; the log says more.",
  503: "The database or the owner of the resource is away for the moment, or too much waits already; see Retry-After."
}

const refused = Object.fromEntries(
  Object.entries(refusals).map(([status, description]) => [status, { description, content: sentence }])
)

/** Of the open hub: nobody logs in there, and nobody is told what others have subscribed to. */
const refusedByHub = Object.fromEntries(
  Object.entries(refused).filter(([status]) => !["401", "403", "404"].includes(status))
)

const done = { description: "Done." }
const pending = { description: "Accepted; the callback is asked in the background." }
const json = (...schemas: ReadonlyArray<Schema.Codec<unknown>>) => ({
  "application/json": { schema: oneOf(schemas) }
})
const atom = { "application/atom+xml": { schema: { type: "string" } } }

const oneOf = (schemas: ReadonlyArray<Schema.Codec<unknown>>) => ({ oneOf: schemas.map(schemaOf) })

const modes = (...names: ReadonlyArray<keyof typeof requests>) => oneOf(names.map((name) => requests[name]))

/** Parameters in the body, in each of the ways that are read. */
const body = (schema: Json) => ({
  required: true,
  content: Object.fromEntries(
    ["application/x-www-form-urlencoded", "application/json", "multipart/form-data"].map((type) => [type, { schema }])
  )
})

/** One object of parameters whose properties are the names in the query. */
const query = (
  schema: Json
) => [{ name: "parameters", in: "query", required: true, style: "form", explode: true, schema }]

const openHub = (): Json => ({
  get: {
    operationId: "aboutHub",
    summary: "What the open hub is",
    security: [],
    responses: {
      200: { description: "In a sentence or two.", content: { "text/plain": { schema: { type: "string" } } } },
      ...refusedByHub
    }
  },
  post: {
    operationId: "tellHub",
    summary: "subscribe, unsubscribe, publish, without credentials: the callback is asked",
    security: [],
    requestBody: body(oneOf(Object.values(hubRequests))),
    responses: {
      202: pending,
      204: { description: "The ping is taken; or, with hub.verify=sync, the callback has agreed." },
      ...refusedByHub
    }
  }
})

/** The methods and addresses of the API. */
const paths = (hubOpen: boolean): Json => ({
  "/": {
    get: {
      operationId: "ask",
      summary: "list, retrieve, replay, authenticate: what hub.mode says",
      parameters: query(modes("list", "retrieve", "replay", "authenticate")),
      responses: {
        200: {
          description:
            "What was asked for. A resource that is no feed comes as its own bytes, with its own type, unless a format was asked for.",
          content: {
            ...json(answers.list, answers.listDetailed, answers.retrieve, answers.authenticate),
            ...atom,
            "text/javascript": { schema: { type: "string", description: "With callback: a script (JSONP)." } }
          }
        },
        204: done,
        304: { description: "What If-None-Match names is still right." },
        ...refused
      }
    },
    post: {
      operationId: "tell",
      summary: "subscribe, unsubscribe, publish: what hub.mode says; everything that GET does as well",
      requestBody: body(modes("subscribe", "unsubscribe", "publish", "list", "retrieve", "replay", "authenticate")),
      responses: {
        200: {
          description: "With retrieve=true: what is stored. Otherwise as with GET.",
          content: { ...json(answers.retrieve, answers.list, answers.listDetailed, answers.authenticate), ...atom }
        },
        202: pending,
        204: done,
        ...refused
      }
    }
  },
  "/stream": {
    get: {
      operationId: "stream",
      summary: "retrieve, and what comes after it",
      parameters: query(schemaOf(streamRequest)),
      responses: {
        200: {
          description:
            "Past entries, then future ones; with wait=poll those that came, none when nothing came in time.",
          content: {
            "text/event-stream": { schema: { type: "string" } },
            "application/x-ndjson": { schema: { type: "string" } },
            ...json(answers.retrieve),
            ...atom
          }
        },
        304: { description: "With wait=poll: nothing came in time, and what If-None-Match names is still right." },
        ...refused
      }
    }
  },
  ...(hubOpen ? { "/hub": openHub() } : {}),
  ...Object.fromEntries(["/healthz", "/readyz"].map((path) => [path, {
    get: {
      operationId: path.slice(1),
      summary: path === "/healthz" ? "Whether the service can work" : "Whether it does",
      security: [],
      responses: {
        200: { description: "Yes.", content: { "text/plain": { schema: { const: "ok" } } } },
        503: { description: "No.", content: sentence }
      }
    }
  }]))
})

/**
 * The OpenAPI 3.1 document of the API and the open hub, from the schemas that decode their requests.
 * `version` is the version of the product.
 */
export const document = ({ baseUrl, hubOpen }: Pick<SettingsValues, "baseUrl" | "hubOpen">, version: string) => ({
  openapi: "3.1.0",
  info: {
    title: "Windhover",
    version,
    description: "Watches any URL and pushes what is new.",
    license: { name: "MIT", identifier: "MIT" }
  },
  servers: [{ url: baseUrl }],
  security: [{ basic: [] }, { authorization: [] }],
  paths: paths(hubOpen),
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
