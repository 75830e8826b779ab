import { siteOf } from "#domain/Topic.ts"
import type { ResourceState } from "./Resource.ts"

/** The turn of a document at the threads that read and select. */
export interface WorkerTurn {
  /** Documents with equal keys share their time. */
  readonly key: string
  /** Only strangers watch the resource: a thread of their own serves it. */
  readonly isForStrangers: boolean
}

/** Each resource of an account has turns of its own. Resources of strangers share the turns of their site, because names are free. */
export const workerTurnOf = ({ host, strangersOnly, url }: ResourceState): WorkerTurn =>
  strangersOnly === true ? { key: siteOf(host), isForStrangers: true } : { key: url, isForStrangers: false }
