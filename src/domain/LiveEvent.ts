/** A happening that an open page shows at once. Times are epoch ms. */
export type LiveEvent =
  /** An attempt of a delivery. */
  | {
    readonly _tag: "Delivery"
    readonly at: number
    readonly accountId: number
    readonly subscriptionId: number
    readonly topic: string
    readonly endpoint: string
    readonly sequence: number
    readonly attempt: number
    readonly isDelivered: boolean
    readonly code: number
    readonly message: string
  }
  /** A fetch that changed the state of its resource. */
  | {
    readonly _tag: "Fetch"
    readonly at: number
    readonly resourceId: number
    readonly url: string
    readonly code: number
    readonly news: number
    readonly failures: number
  }
