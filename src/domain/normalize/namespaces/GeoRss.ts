import type { Vocabulary } from "#domain/normalize/ElementContext.ts"
import { readChildren } from "#domain/normalize/ElementContext.ts"
import { addPoint, pointsOf, setShape } from "#domain/normalize/Coordinates.ts"
import { extend } from "#domain/normalize/Extensions.ts"
import { textOf } from "#domain/normalize/xml/Element.ts"

/** GeoRSS Simple, and the door to GeoRSS GML (`where`). */
export const geoRss: Vocabulary = {
  point: (element, draft) => addPoint(draft, pointsOf(textOf(element))[0]),
  line: (element, draft) => setShape(draft, "LineString", pointsOf(textOf(element))),
  polygon: (element, draft) => setShape(draft, "Polygon", pointsOf(textOf(element))),
  box: (element, draft) => setShape(draft, "Box", pointsOf(textOf(element))),
  where: readChildren,
  featurename: extend("georss")
}
