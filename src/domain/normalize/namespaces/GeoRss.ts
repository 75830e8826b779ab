import { addPoint, parsePoints, setShape } from "#domain/normalize/Coordinates.ts"
import { readChildren } from "#domain/normalize/ElementContext.ts"
import { readExtension } from "#domain/normalize/Extensions.ts"
import { getText } from "#domain/normalize/xml/Element.ts"
import type { Namespace } from "./Namespace.ts"

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
