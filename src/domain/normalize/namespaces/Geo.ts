import type { Point, Shape } from "#domain/feed/Entry.ts"
import type { Draft } from "#domain/normalize/Draft.ts"
import { readChildren } from "#domain/normalize/ElementContext.ts"
import { readExtension } from "#domain/normalize/FieldReaders.ts"
import type { Namespace } from "./Namespace.ts"
import { type Element, getChildElements, getText, getTrimmedText, getValue } from "#domain/normalize/xml/Element.ts"

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

/** GeoRSS Simple. `where` contains the shapes of GML. */
export const geoRss: Namespace = {
  key: "georss",
  uris: ["http://www.georss.org/georss", "http://www.georss.org/georss/10", "http://www.georss.org"],
  vocabulary: {
    point: (element, draft) => addPoint(draft, parsePoints(getText(element))[0]),
    line: (element, draft) => setShape(draft, "LineString", parsePoints(getText(element))),
    polygon: (element, draft) => setShape(draft, "Polygon", parsePoints(getText(element))),
    box: (element, draft) => setShape(draft, "Box", parsePoints(getText(element))),
    where: readChildren,
    featurename: readExtension("georss")
  }
}

/** Shapes of GML in GeoRSS. */
export const gml: Namespace = {
  key: "gml",
  uris: ["http://www.opengis.net/gml"],
  vocabulary: {
    point: (element, draft) => addPoint(draft, readPoints(element)[0]),
    linestring: (element, draft) => setShape(draft, "LineString", readPoints(element)),
    polygon: (element, draft) => setShape(draft, "Polygon", readPoints(element)),
    envelope: readBox,
    box: readBox
  }
}

function readBox(element: Element, draft: Draft): void {
  const corners = getChildElements(element).filter(({ key }) => key.endsWith("corner")).map(getTrimmedText).join(" ")
  setShape(draft, "Box", orderAxes(element, parsePoints(corners === "" ? joinPositions(element) : corners)))
}

const readPoints = (element: Element): ReadonlyArray<Point> => orderAxes(element, parsePoints(joinPositions(element)))

/** Puts latitude first. Projected reference systems (EPSG numbers outside of 4000 to 4999) and CRS84 have x before y. */
const orderAxes = (element: Element, points: ReadonlyArray<Point>): ReadonlyArray<Point> => {
  const system = getValue(element, "srsname") ?? ""
  const number = /EPSG\D*(?:[\d.]*:)?(\d{4,6})$/i.exec(system)?.[1]
  const xFirst = system.endsWith("CRS84") || number !== undefined && !/^4\d{3}$/.test(number)
  return xFirst ? points.map(({ latitude, longitude }) => ({ latitude: longitude, longitude: latitude })) : points
}

const positionElements = new Set(["pos", "poslist", "coordinates"])

/** All positions inside an element, at any depth. A polygon has `exterior/LinearRing`. */
const joinPositions = (element: Element): string => {
  let found = ""
  for (const child of element.children) {
    if (typeof child !== "string") {
      found += ` ${positionElements.has(child.key) ? getText(child) : joinPositions(child)}`
    }
  }
  return found
}

const maxShapePoints = 10_000
const maxPoints = 50

/** Parses points of GeoRSS: latitude before longitude, separated by spaces or commas. */
const parsePoints = (text: string): ReadonlyArray<Point> => {
  const numbers = text.trim().split(/[\s,]+/, 2 * maxShapePoints).map(Number)
  const points: Array<Point> = []
  for (let at = 0; at + 1 < numbers.length; at += 2) {
    const point = { latitude: numbers[at] ?? Number.NaN, longitude: numbers[at + 1] ?? Number.NaN }
    if (isOnEarth(point)) points.push(point)
  }
  return points
}

const isOnEarth = ({ latitude, longitude }: Point): boolean => Math.abs(latitude) <= 90 && Math.abs(longitude) <= 360

const addPoint = (draft: Draft, point: Point | undefined): void => {
  const points = draft.points ??= []
  const known = point === undefined ||
    points.some((other) => other.latitude === point.latitude && other.longitude === point.longitude)
  if (!known && points.length < maxPoints && isOnEarth(point)) points.push(point)
}

const setShape = (draft: Draft, type: Shape["type"], points: ReadonlyArray<Point>): void => {
  if (points.length >= 2) {
    draft.shape ??= { type, coordinates: points.map(({ latitude, longitude }) => [longitude, latitude]) }
  }
}
