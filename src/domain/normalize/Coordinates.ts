import type { Point, Shape } from "#domain/feed/Entry.ts"
import type { Draft } from "./Draft.ts"

const maxShapePoints = 10_000
const maxPoints = 50

/** Parses points of GeoRSS: latitude before longitude, separated by spaces or commas. */
export const parsePoints = (text: string): ReadonlyArray<Point> => {
  const numbers = text.trim().split(/[\s,]+/, 2 * maxShapePoints).map(Number)
  const points: Array<Point> = []
  for (let at = 0; at + 1 < numbers.length; at += 2) {
    const point = { latitude: numbers[at] ?? Number.NaN, longitude: numbers[at + 1] ?? Number.NaN }
    if (isOnEarth(point)) points.push(point)
  }
  return points
}

const isOnEarth = ({ latitude, longitude }: Point): boolean => Math.abs(latitude) <= 90 && Math.abs(longitude) <= 360

export const addPoint = (draft: Draft, point: Point | undefined): void => {
  const points = draft.points ??= []
  const known = point === undefined ||
    points.some((other) => other.latitude === point.latitude && other.longitude === point.longitude)
  if (!known && points.length < maxPoints && isOnEarth(point)) points.push(point)
}

export const setShape = (draft: Draft, type: Shape["type"], points: ReadonlyArray<Point>): void => {
  if (points.length >= 2) {
    draft.shape ??= { type, coordinates: points.map(({ latitude, longitude }) => [longitude, latitude]) }
  }
}
