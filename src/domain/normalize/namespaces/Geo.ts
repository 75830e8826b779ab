import { addPoint, parsePoints } from "#domain/normalize/Coordinates.ts"
import type { Draft } from "#domain/normalize/Draft.ts"
import { readChildren } from "#domain/normalize/ElementContext.ts"
import { type Element, getText, getTrimmedText } from "#domain/normalize/xml/Element.ts"
import type { Namespace } from "./Namespace.ts"

/** W3C Basic Geo: latitude and longitude, side by side or in a `Point`. */
export const geo: Namespace = {
  key: "geo",
  uris: ["http://www.w3.org/2003/01/geo/wgs84_pos#", "http://www.w3.org/2003/01/geo/wgs84_pos"],
  vocabulary: {
    lat: readLatitude,
    latitude: readLatitude,
    long: readLongitude,
    lon: readLongitude,
    longitude: readLongitude,
    lat_long: (element, draft) => addPoint(draft, parsePoints(getText(element))[0]),
    point: readChildren,
    location: readChildren
  }
}

/** The ICBM module: W3C Basic Geo with longer names. */
export const icbm: Namespace = {
  ...geo,
  key: "icbm",
  uris: ["http://geourl.org/rss/module", "http://postneo.com/icbm"]
}

function readLatitude(element: Element, draft: Draft): void {
  draft.fallbacks.latitude ??= parseDegrees(element)
  joinPoint(draft)
}

function readLongitude(element: Element, draft: Draft): void {
  draft.fallbacks.longitude ??= parseDegrees(element)
  joinPoint(draft)
}

const joinPoint = (draft: Draft): void => {
  const { latitude, longitude } = draft.fallbacks
  if (latitude === undefined || longitude === undefined) return
  addPoint(draft, { latitude, longitude })
  draft.fallbacks.latitude = undefined
  draft.fallbacks.longitude = undefined
}

const parseDegrees = (element: Element): number | undefined => {
  const number = Number.parseFloat(getTrimmedText(element))
  return Number.isNaN(number) ? undefined : number
}
