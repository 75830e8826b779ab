/** The first message to the thread of the embedded database: which one it starts. */
export interface Start {
  /** Directory of the cluster. */
  readonly cluster: string
  /** Whether it is made from the template when it is missing. */
  readonly mayMake: boolean
  /** Milliseconds after which a silent transaction is ended when others wait for it. */
  readonly idleTransaction: number
}

export type ToWorker =
  | { readonly _tag: "Open"; readonly id: number }
  | { readonly _tag: "Data"; readonly id: number; readonly bytes: Uint8Array }
  | { readonly _tag: "Close"; readonly id: number }
  | { readonly _tag: "Shutdown" }

export type FromWorker =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Data"; readonly id: number; readonly bytes: Uint8Array }
  | { readonly _tag: "Closed"; readonly id: number }
  /** A line of the server's log. */
  | { readonly _tag: "Log"; readonly line: string }
  /** It does not start, or cannot go on; the thread ends next. */
  | { readonly _tag: "Crashed"; readonly why: string }
