import type { Point } from "#domain/feed/Entry.ts"
import type { Context, Vocabulary } from "#domain/normalize/ElementContext.ts"
import { addPoint, pointsOf, setShape } from "#domain/normalize/Coordinates.ts"
import type { Draft } from "#domain/normalize/Draft.ts"
import { type Element, elements, textOf, trimmed, value } from "#domain/normalize/xml/Element.ts"

/** The shapes of GML that GeoRSS uses. */
export const gml: Vocabulary = {
  point: (element, draft) => addPoint(draft, placesIn(element)[0]),
  linestring: (element, draft) => setShape(draft, "LineString", placesIn(element)),
  polygon: (element, draft) => setShape(draft, "Polygon", placesIn(element)),
  envelope: box,
  box
}

function box(element: Element, draft: Draft, _context: Context): void {
  const corners = elements(element).filter(({ key }) => key.endsWith("corner")).map(trimmed).join(" ")
  setShape(draft, "Box", inOrder(element, pointsOf(corners === "" ? positions(element) : corners)))
}

const placesIn = (element: Element): ReadonlyArray<Point> => inOrder(element, pointsOf(positions(element)))

/** Latitude stands first, unless the reference system is a projected one (EPSG numbers other than 4000s) or CRS84: x before y. */
const inOrder = (element: Element, points: ReadonlyArray<Point>): ReadonlyArray<Point> => {
  const system = value(element, "srsname") ?? ""
  const number = /EPSG\D*(?:[\d.]*:)?(\d{4,6})$/i.exec(system)?.[1]
  const xFirst = system.endsWith("CRS84") || number !== undefined && !/^4\d{3}$/.test(number)
  return xFirst ? points.map(({ latitude, longitude }) => ({ latitude: longitude, longitude: latitude })) : points
}

const POSITIONS = new Set(["pos", "poslist", "coordinates"])

/** All positions inside, however deep: a polygon's stand in `exterior/LinearRing`. */
const positions = (element: Element): string => {
  let found = ""
  for (const child of element.children) {
    if (typeof child !== "string") found += ` ${POSITIONS.has(child.key) ? textOf(child) : positions(child)}`
  }
  return found
}
