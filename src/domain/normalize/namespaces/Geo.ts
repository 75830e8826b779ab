import type { Draft } from "#domain/normalize/Draft.ts"
import type { Vocabulary } from "#domain/normalize/ElementContext.ts"
import { readChildren } from "#domain/normalize/ElementContext.ts"
import { addPoint, pointsOf } from "#domain/normalize/Coordinates.ts"
import { type Element, textOf, trimmed } from "#domain/normalize/xml/Element.ts"

/** W3C Basic Geo, and the ICBM module, which has the same under longer names. The two halves stand beside each other or in a `Point`. */
export const geo: Vocabulary = {
  lat: latitude,
  latitude,
  long: longitude,
  lon: longitude,
  longitude,
  lat_long: (element, draft) => addPoint(draft, pointsOf(textOf(element))[0]),
  point: readChildren,
  location: readChildren
}

function latitude(element: Element, draft: Draft): void {
  draft.other.latitude ??= degrees(element)
  join(draft)
}

function longitude(element: Element, draft: Draft): void {
  draft.other.longitude ??= degrees(element)
  join(draft)
}

const join = (draft: Draft): void => {
  const { latitude, longitude } = draft.other
  if (latitude === undefined || longitude === undefined) return
  addPoint(draft, { latitude, longitude })
  draft.other.latitude = undefined
  draft.other.longitude = undefined
}

const degrees = (element: Element): number | undefined => {
  const number = Number.parseFloat(trimmed(element))
  return Number.isNaN(number) ? undefined : number
}
