import type { Event } from "#domain/Event.ts"
import { minuteMs } from "#domain/Time.ts"

/** Events of one type that a log takes in a minute. Later ones of the minute are counted. */
const maxPerMinute = 20

/** Pairs of a log and a type with an event in the last minute. Events of further pairs count in the operators' log only. */
const maxWindows = 20_000

/** The account of the operators' log. */
export const operators = 0

interface Window {
  readonly since: number
  readonly accountId: number
  readonly type: string
  count: number
}

/** The aggregate event of a log. */
export interface OmittedEvents {
  readonly accountId: number
  readonly event: Event
}

/** Bounds the events of one type in one log, so that a dead host with 100,000 subscriptions causes tens of events. */
export class EventThrottle {
  readonly #windows = new Map<string, Window>()

  /** Whether the log takes another event of the type at a time (epoch ms). Counts the event otherwise. */
  admit(accountId: number, type: string, now: number): boolean {
    const window = this.#windowOf(accountId, type, now)
    return ++window.count <= maxPerMinute
  }

  #windowOf(accountId: number, type: string, now: number): Window {
    const key = `${accountId} ${type}`
    const known = this.#windows.get(key)
    if (known !== undefined) return known
    if (accountId !== operators && this.#windows.size >= maxWindows) return fullWindow
    const window = { since: now, accountId, type, count: 0 }
    this.#windows.set(key, window)
    return window
  }

  /** Ends the minutes that have begun before `before` (epoch ms), and returns an aggregate of each with omitted events. */
  takeOmitted(before: number): ReadonlyArray<OmittedEvents> {
    const omitted: Array<OmittedEvents> = []
    for (const [key, { accountId, count, since, type }] of this.#windows) {
      if (since > before) continue
      this.#windows.delete(key)
      if (count <= maxPerMinute) continue
      omitted.push({
        accountId,
        event: {
          type: "events.omitted",
          ...(accountId !== operators && { accountId }),
          omittedType: type,
          count: count - maxPerMinute,
          since
        }
      })
    }
    return omitted
  }
}

/** Begin of the minutes that end at a time (epoch ms). */
export const minuteBefore = (now: number): number => now - minuteMs

/** Admits no event. */
const fullWindow: Window = { since: 0, accountId: operators, type: "", count: maxPerMinute }
