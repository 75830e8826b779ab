import type { Vocabulary } from "#domain/normalize/ElementContext.ts"
import { readChildren } from "#domain/normalize/ElementContext.ts"
import { addPoint, parsePoints, setShape } from "#domain/normalize/Coordinates.ts"
import { readExtension } from "#domain/normalize/Extensions.ts"
import { getText } from "#domain/normalize/xml/Element.ts"

/** GeoRSS Simple, and the door to GeoRSS GML (`where`). */
export const geoRss: Vocabulary = {
  point: (element, draft) => addPoint(draft, parsePoints(getText(element))[0]),
  line: (element, draft) => setShape(draft, "LineString", parsePoints(getText(element))),
  polygon: (element, draft) => setShape(draft, "Polygon", parsePoints(getText(element))),
  box: (element, draft) => setShape(draft, "Box", parsePoints(getText(element))),
  where: readChildren,
  featurename: readExtension("georss")
}
