import type { Context, Vocabulary } from "#domain/normalize/Context.ts"
import { addPoint, pointsOf, setShape } from "#domain/normalize/Coordinates.ts"
import type { Draft } from "#domain/normalize/Draft.ts"
import { type Element, elements, textOf, trimmed } from "#domain/normalize/Tree.ts"

/** The shapes of GML that GeoRSS uses. */
export const gml: Vocabulary = {
  point: (element, draft) => addPoint(draft, pointsOf(positions(element))[0]),
  linestring: (element, draft) => setShape(draft, "LineString", pointsOf(positions(element))),
  polygon: (element, draft) => setShape(draft, "Polygon", pointsOf(positions(element))),
  envelope: box,
  box
}

function box(element: Element, draft: Draft, _context: Context): void {
  const corners = [...elements(element)].filter(({ key }) => key.endsWith("corner")).map(trimmed).join(" ")
  setShape(draft, "Box", pointsOf(corners === "" ? positions(element) : corners))
}

const POSITIONS = new Set(["pos", "poslist", "coordinates"])

/** All positions inside, however deep: a polygon's stand in `exterior/LinearRing`. */
const positions = (element: Element): string =>
  [...elements(element)].map((child) => POSITIONS.has(child.key) ? textOf(child) : positions(child)).join(" ")
