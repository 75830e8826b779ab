import { Effect } from "effect"
import type { ApiCall } from "#http/api/Operation.ts"

/** Maximum length of an id. An id with all resources of the largest retrieve is shorter. */
const maxIdLength = 8192

/**
 * Formats the position of a listener as the `id` of an event: the sequence of the notification. With several resources the id lists
 * resource and sequence of each in base 36 (`17:4.23:1`).
 */
export const format = (cursors: ReadonlyMap<number, number>): string => {
  const [only] = cursors.values()
  return cursors.size === 1 && only !== undefined
    ? String(only)
    : [...cursors].map(([resource, sequence]) => `${resource.toString(36)}:${sequence.toString(36)}`).join(".")
}

/**
 * Parses an `id` that a client returns into sequences by resource. Undefined for an id that Windhover did not send for any of these
 * resources. Resources that the subscription has gained since are missing in the result.
 */
export const parse = (id: string, resources: ReadonlyArray<number>): ReadonlyMap<number, number> | undefined => {
  const [only] = resources
  if (singlePattern.test(id)) {
    return resources.length === 1 && only !== undefined ? new Map([[only, Number(id)]]) : undefined
  }
  if (id.length > maxIdLength || !listPattern.test(id)) return undefined
  const pairs = id.split(".").map((pair) => {
    const [resource = "", sequence = ""] = pair.split(":")
    return [parseInt(resource, 36), parseInt(sequence, 36)] as const
  })
  const known = pairs.filter(([resource]) => resources.includes(resource))
  return known.length === 0 ? undefined : new Map(known)
}

const singlePattern = /^\d{1,15}$/
const listPattern = /^[0-9a-z]{1,10}:[0-9a-z]{1,10}(?:\.[0-9a-z]{1,10}:[0-9a-z]{1,10})*$/

/** Moves the cursors back to the client's last event. `unknown` for an id that Windhover has not sent. */
export const resume = Effect.fnUntraced(
  function*(call: Pick<ApiCall, "lastEventId" | "parameters">, cursors: Map<number, number>) {
    const id = call.lastEventId ?? (yield* call.parameters.one("lastEventId"))
    if (id === undefined || id === "") return "new"
    const sequences = parse(id, [...cursors.keys()])
    if (sequences === undefined) return "unknown"
    for (const [resource, sequence] of sequences) {
      if (sequence > (cursors.get(resource) ?? 0)) return "unknown"
    }
    for (const [resource, sequence] of sequences) cursors.set(resource, sequence)
    return "resumed"
  }
)
