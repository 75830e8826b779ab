import { Effect } from "effect"
import type { Refusal } from "#domain/Refusal.ts"
import type { Format } from "#domain/Subscription.ts"
import type { Parameters } from "./Parameters.ts"
import { formatSchema } from "./ParameterSchemas.ts"

/** The format that a client requests, and its scope. */
export interface RequestedFormat {
  readonly format: Format | undefined
  /** Only feeds take the format. Clients send `Accept` by default, so other resources keep their own bytes without `format`. */
  readonly feedsOnly: boolean
}

/** The format of the parameter `format`, otherwise of the `Accept` header; undefined when the client requests none. */
export const readFormat = (
  parameters: Parameters,
  accept: string | undefined
): Effect.Effect<Format | undefined, Refusal> =>
  Effect.map(readRequestedFormat(parameters, accept), ({ format }) => format)

/** Reads the format as `readFormat` does, and whether only feeds take the format. */
export const readRequestedFormat = (
  parameters: Parameters,
  accept: string | undefined
): Effect.Effect<RequestedFormat, Refusal> =>
  Effect.map(parameters.choice("format", formatSchema), (explicit) => {
    const format = explicit ?? formatOfAccept(accept ?? "")
    return { format, feedsOnly: format !== undefined && explicit === undefined }
  })

const formatOfAccept = (accept: string): Format | undefined => {
  const json = qualityOf(accept, "application/json")
  const atom = qualityOf(accept, "application/atom+xml")
  if (json > 0 && json >= atom) return "json"
  return atom > 0 ? "atom" : undefined
}

/** True when `Accept` names this type. */
export const accepts = (accept: string | undefined, type: string): boolean => qualityOf(accept ?? "", type) > 0

/** The q value of a type, 0 when `Accept` does not name the type. Wildcards name no type. */
const qualityOf = (accept: string, type: string): number => {
  for (const range of accept.split(",")) {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase())
    if (name !== type) continue
    const quality = parameters.find((parameter) => parameter.startsWith("q="))
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0
  }
  return 0
}

/** True when `If-None-Match` names the ETag. Weak and strong tags compare alike here (RFC 9110, 13.1.2). */
export const matches = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined &&
  (ifNoneMatch.trim() === "*" || ifNoneMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag))
