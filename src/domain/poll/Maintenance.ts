import type { ResourceState } from "./Resource.ts"
import { dayMs } from "#domain/Time.ts"

/** Whether a maintenance cycle is over. The first cycle begins with the first document; each cycle takes at least a day. */
export const isMaintenanceDue = ({ lastMaintenanceAt, lastParse }: ResourceState, now: number): boolean =>
  lastMaintenanceAt === undefined ? lastParse !== undefined : now - lastMaintenanceAt >= dayMs

/**
 * The state at the beginning of the next cycle.
 *
 * `velocity` is entries a day, the mean of the last day and the previous value. Entries of a first document are no updates, so the first
 * cycle has no velocity. `popularity` starts at 0, and grows by one with ten times the subscribers. `pornRank` is undefined when switched
 * off.
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
  const pace = entriesSinceMaintenance * dayMs / (now - lastMaintenanceAt)
  return { ...begun, velocity: rounded(velocity === undefined ? pace : (velocity + pace) / 2) }
}

const rounded = (value: number): number => Math.round(value * 100) / 100
