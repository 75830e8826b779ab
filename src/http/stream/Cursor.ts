/**
 * Where a listener is, as the `id` of an event: the sequence of the notification, or, where several resources are listened to,
 * the sequence of each (`17:4.23:1`, resource and sequence in base 36).
 */
export const write = (cursors: ReadonlyMap<number, number>): string => {
  const [only] = cursors.values()
  return cursors.size === 1 && only !== undefined
    ? String(only)
    : [...cursors].map(([resource, sequence]) => `${resource.toString(36)}:${sequence.toString(36)}`).join(".")
}

/** More resources than a retrieve allows are in no id that was given out. */
const maxLength = 8192

/**
 * The sequences, by resource, of an `id` that a client brings back; undefined when it is none that was given out for some of these resources.
 * A resource that was added since is not in it.
 */
export const read = (id: string, resources: ReadonlyArray<number>): ReadonlyMap<number, number> | undefined => {
  const [only] = resources
  if (number.test(id)) {
    return resources.length === 1 && only !== undefined ? new Map([[only, Number(id)]]) : undefined
  }
  if (id.length > maxLength || !list.test(id)) return undefined
  const brought = id.split(".").map((pair) => {
    const [resource = "", sequence = ""] = pair.split(":")
    return [parseInt(resource, 36), parseInt(sequence, 36)] as const
  })
  const known = brought.filter(([resource]) => resources.includes(resource))
  return known.length === 0 ? undefined : new Map(known)
}

const number = /^\d{1,15}$/
const list = /^[0-9a-z]{1,10}:[0-9a-z]{1,10}(?:\.[0-9a-z]{1,10}:[0-9a-z]{1,10})*$/
