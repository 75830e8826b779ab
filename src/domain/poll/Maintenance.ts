import type { ResourceState } from "./Resource.ts"

const DAY = 24 * 60 * 60_000

/** Whether a cycle of a resource is over: the first begins with its first document, each takes at least a day. */
export const isMaintenanceDue = ({ lastMaintenanceAt, lastParse }: ResourceState, now: number): boolean =>
  lastMaintenanceAt === undefined ? lastParse !== undefined : now - lastMaintenanceAt >= DAY

/**
 * The state at the beginning of the next cycle.
 *
 * `velocity` is entries a day, half of it what was known before: one lively day makes no lively feed. The entries of a first document are
 * no updates, so the first cycle begins with none and knows no velocity. `popularity` starts at 0 and grows by one with ten times the subscribers.
 * `pornRank` is undefined where nobody asks for it.
 */
export const maintain = (state: ResourceState, now: number, pornRank?: number): ResourceState => {
  const { entriesSinceMaintenance, lastMaintenanceAt, pornRank: _, subscribers, velocity, ...others } = state
  const begun = {
    ...others,
    ...(velocity === undefined ? {} : { velocity }),
    ...(pornRank === undefined ? {} : { pornRank }),
    subscribers,
    lastMaintenanceAt: now,
    entriesSinceMaintenance: 0,
    popularity: rounded(Math.log10(1 + subscribers))
  }
  if (lastMaintenanceAt === undefined) return begun
  const pace = entriesSinceMaintenance * DAY / (now - lastMaintenanceAt)
  return { ...begun, velocity: rounded(velocity === undefined ? pace : (velocity + pace) / 2) }
}

const rounded = (value: number): number => Math.round(value * 100) / 100
