import type { CatalogItem } from "#domain/ports/ResourceCatalog.ts"
import { isEvents } from "#domain/EventsTopic.ts"
import type { IntervalBounds } from "./PollingInterval.ts"

/** A sentence that tells why a resource has its polling period. */
export const explainPeriod = (
  { failures, hub, resource, subscribers, url }: CatalogItem,
  { maxPeriod, minPeriod }: IntervalBounds
): string => {
  const { kind, lastFetch, period, velocity } = resource
  if (isEvents(url)) return "Events are read from the database, and never fetched."
  if (subscribers === 0) return "Nobody is subscribed, so the resource is not polled."
  if (lastFetch === undefined) return "The first fetch is due."
  if (failures > 0) {
    return `${
      failures === 1 ? "The last fetch" : `The last ${failures} fetches`
    } failed. Each failure doubles the period, up to a day.`
  }
  if (hub?.isReliable === true && hub.state === "active") {
    return "The publisher's hub pushes new content, so polls only check the hub."
  }
  const shortest = kind === "feed" || kind === "unknown" ? minPeriod : minPeriod * 5
  if (period <= shortest) return "The shortest period of this kind: news came lately."
  if (period >= Math.max(maxPeriod, shortest)) return "The longest period: no news for a while."
  const pace = velocity === undefined ? "" : ` The pace is ${Math.round(velocity * 10) / 10} entries a day.`
  return `News halve the period, and silence or a hint of the publisher lengthens it.${pace}`
}
