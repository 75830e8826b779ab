/** The first message to the thread of the embedded database. */
export interface Start {
  /** Directory of the cluster. */
  readonly cluster: string
  /** True if the thread may create a missing cluster from the template. */
  readonly mayCreate: boolean
  /** An idle transaction ends after so many ms when other connections wait. */
  readonly idleTransactionMs: number
}

export type ToWorker =
  | { readonly _tag: "Open"; readonly id: number }
  | { readonly _tag: "Data"; readonly id: number; readonly bytes: Uint8Array }
  | { readonly _tag: "Close"; readonly id: number }
  /** Answered by `Checkpointed`. One at a time. */
  | { readonly _tag: "Checkpoint" }
  | { readonly _tag: "Shutdown" }

export type FromWorker =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Data"; readonly id: number; readonly bytes: Uint8Array }
  | { readonly _tag: "Closed"; readonly id: number }
  | { readonly _tag: "Checkpointed"; readonly isMade: boolean }
  /** A line of the log of PostgreSQL. */
  | { readonly _tag: "Log"; readonly line: string }
  /** The database does not start, or cannot continue. The thread ends next. */
  | { readonly _tag: "Crashed"; readonly problem: string }
