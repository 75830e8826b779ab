import type { StrangersTopic } from "#domain/limits/StrangerLedger.ts"
import { siteOf } from "#domain/Topic.ts"
import type { ResourceState } from "./Resource.ts"

/** The turn of a document at the threads that read and select. */
export interface WorkerTurn {
  /** Documents with equal keys share their time. */
  readonly key: string
  /** Only strangers watch the resource: a thread of their own serves it. */
  readonly isForStrangers: boolean
  /** The topic of strangers for which the ledger counts the time. */
  readonly topic?: StrangersTopic
}

/** Each resource of an account has turns of its own. Resources of strangers share the turns of their site, because names are free. */
export const workerTurnOf = (resource: ResourceState): WorkerTurn =>
  resource.strangersOnly === true
    ? { key: siteOf(resource.host), isForStrangers: true, topic: resource }
    : { key: resource.url, isForStrangers: false }
