import type { Notification } from "./Notification.ts"

/** Missing notifications of a subscription: Windhover dropped them, or they were lost behind it. */
export interface Gap {
  /** The subscription's number in Windhover; undefined from other senders. */
  readonly subscription: string | undefined
  readonly topic: string
  /** First and last missing sequence. */
  readonly first: number
  readonly last: number
  /** The missing sequences, at most the first 10,000. */
  readonly missing: ReadonlyArray<number>
}

/** Retrieved notifications, oldest first. */
export type Retrieved = AsyncIterable<Notification> | Iterable<Notification>

const maxListed = 10_000

export const toGap = (
  { subscription, topic }: Pick<Gap, "subscription" | "topic">,
  first: number,
  last: number
): Gap => ({
  subscription,
  topic,
  first,
  last,
  missing: Array.from({ length: Math.min(last - first + 1, maxListed) }, (_, i) => first + i)
})
