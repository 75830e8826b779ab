import type { Point } from "#domain/feed/Entry.ts"
import { addPoint, parsePoints, setShape } from "#domain/normalize/Coordinates.ts"
import type { Draft } from "#domain/normalize/Draft.ts"
import type { ElementContext } from "#domain/normalize/ElementContext.ts"
import { type Element, getChildElements, getText, getTrimmedText, getValue } from "#domain/normalize/xml/Element.ts"
import type { Namespace } from "./Namespace.ts"

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

function readBox(element: Element, draft: Draft, _context: ElementContext): void {
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
