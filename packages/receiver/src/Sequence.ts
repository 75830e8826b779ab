import type { SubscriptionState } from "./Store.ts"

/** Place of a notification in its subscription. */
export type Place =
  /** Was handled before. */
  | { readonly _tag: "Duplicate" }
  /** Follows the last one, or is a late one. */
  | { readonly _tag: "Next" }
  /** The subscription counts from 1 again: Windhover was set up anew. */
  | { readonly _tag: "Restart" }
  /** The numbers `first` to `last` are missing before it. */
  | { readonly _tag: "Gap"; readonly first: number; readonly last: number }

/** Ids that are remembered of a subscription. Windhover repeats only the last notification of its own accord. */
const maxRecent = 256

/**
 * The place of a notification with an id and perhaps a sequence.
 *
 * An unknown id below the last sequence is a late notification, such as one that was sent again on request. Numbers that are too old to be
 * remembered count as late too: a repetition is better than a loss.
 */
export const findPlace = (
  state: SubscriptionState | undefined,
  id: string,
  sequence: number | undefined,
  expectsFirst: boolean
): Place => {
  if (state?.recent.some(([known]) => known === id) || state?.first === id) return { _tag: "Duplicate" }
  if (sequence === undefined) return { _tag: "Next" }
  const last = state === undefined || state.last === 0 ? expectsFirst ? 0 : sequence - 1 : state.last
  if (sequence > last + 1) return { _tag: "Gap", first: last + 1, last: sequence - 1 }
  const isTaken = sequence <= last && state !== undefined &&
    (state.recent.some(([, known]) => known === sequence) || sequence === 1 && state.first !== undefined)
  return isTaken ? { _tag: "Restart" } : { _tag: "Next" }
}

/** The state after a handled notification. */
export const remember = (
  state: SubscriptionState | undefined,
  id: string,
  sequence: number | undefined,
  isRestart = false
): SubscriptionState => {
  const { first, last = 0, recent = [] } = isRestart || state === undefined ? {} : state
  const firstId = first ?? (sequence === 1 ? id : undefined)
  return {
    last: Math.max(last, sequence ?? 0),
    ...(firstId === undefined ? {} : { first: firstId }),
    recent: [...recent, [id, sequence ?? null] as const].slice(-maxRecent)
  }
}

/** The state after a gap whose notifications cannot be had any more. */
export const passOver = (state: SubscriptionState | undefined, last: number): SubscriptionState => ({
  ...(state ?? { recent: [] }),
  last: Math.max(state?.last ?? 0, last)
})
