/** State of one subscription, as JSON. Its length is bounded by 256 ids. */
export interface SubscriptionState {
  /** Highest handled sequence; 0 before the first one. */
  readonly last: number
  /** Id of sequence 1, by which a subscription is recognized that starts anew. */
  readonly first?: string
  /** Handled notifications, the latest at the end. The sequence is null for senders without numbers. */
  readonly recent: ReadonlyArray<readonly [id: string, sequence: number | null]>
}

/** Keeps the state of subscriptions, such as in the database of the program. `key` has at most 2,600 characters. */
export interface Store {
  readonly load: (key: string) => Promise<SubscriptionState | undefined>
  /** Returns when the state is stored. */
  readonly save: (key: string, state: SubscriptionState) => Promise<void>
  /**
   * Runs `run` while no other process has the lock of `key`.
   *
   * Required when several processes receive the notifications of one subscription. Within a process, the receiver has its own order.
   */
  readonly lock?: <A>(key: string, run: () => Promise<A>) => Promise<A>
}
