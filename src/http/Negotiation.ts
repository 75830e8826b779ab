import { Effect } from "effect"
import type { Refusal } from "#domain/Refusal.ts"
import * as Contract from "#http/api/Contract.ts"
import type { Parameters } from "./Parameters.ts"

/** The formats that a request can ask for. */
export type Asked = typeof Contract.format.Type

/** The parameter `format` decides; without it `Accept` can ask. Undefined: nothing was asked for. */
export const askedFormat = (
  parameters: Parameters,
  accept: string | undefined
): Effect.Effect<Asked | undefined, Refusal> =>
  Effect.map(parameters.choice("format", Contract.format), (format) => format ?? acceptedFormat(accept ?? ""))

/** The same, and whether it is for feeds alone: clients send `Accept` on their own, and what is no feed comes as it is unless somebody says otherwise. */
export const wantedFormat = Effect.fnUntraced(function*(parameters: Parameters, accept: string | undefined) {
  const format = yield* askedFormat(parameters, accept)
  const said = yield* parameters.choice("format", Contract.format)
  return { format, feedsOnly: format !== undefined && said === undefined }
})

const acceptedFormat = (accept: string): Asked | undefined => {
  const json = qualityOf(accept, "application/json")
  const atom = qualityOf(accept, "application/atom+xml")
  if (json > 0 && json >= atom) return "json"
  return atom > 0 ? "atom" : undefined
}

/** Whether `Accept` names this type. */
export const accepts = (accept: string | undefined, type: string): boolean => qualityOf(accept ?? "", type) > 0

/** 0 when the type is not named: wildcards ask for nothing. */
const qualityOf = (accept: string, type: string): number => {
  for (const range of accept.split(",")) {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase())
    if (name !== type) continue
    const quality = parameters.find((parameter) => parameter.startsWith("q="))
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0
  }
  return 0
}

/** Whether `If-None-Match` names this tag; weak and strong tags compare alike here (RFC 9110, 13.1.2). */
export const matches = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined &&
  (ifNoneMatch.trim() === "*" || ifNoneMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag))
