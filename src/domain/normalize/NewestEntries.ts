/** The entries of a document beyond its limit. */
export interface LeftOut {
  readonly count: number
  /** Date of the newest entry left out, at most; epoch ms. Absent if entries without a date are left out. */
  readonly notAfter?: number
}

export interface NewestEntries {
  /** For each date, whether its entry is kept. */
  readonly isKept: ReadonlyArray<boolean>
  readonly leftOut: LeftOut
}

/**
 * Chooses the newest entries of a document with more than `max` entries; undefined for other documents.
 *
 * Entries without a date count as new. Among equals, both ends of the document are kept, because feeds grow at either end.
 */
export const chooseNewest = (
  dates: ReadonlyArray<number | undefined>,
  max: number
): NewestEntries | undefined => {
  if (dates.length <= max) return undefined
  const times = dates.map((date) => date ?? Infinity)
  const limit = Float64Array.from(times).toSorted().at(-max) ?? Infinity
  const equals = times.flatMap((time, index) => time === limit ? [index] : [])
  const places = max - times.filter((time) => time > limit).length
  const first = Math.ceil(places / 2)
  const kept = new Set([...equals.slice(0, first), ...equals.slice(equals.length - (places - first))])
  return {
    isKept: times.map((time, index) => time > limit || kept.has(index)),
    leftOut: { count: dates.length - max, ...(limit === Infinity ? {} : { notAfter: limit }) }
  }
}
